import {
  type Limit,
  LIMIT_ACTIONS,
  LIMIT_MEASURES,
  LIMIT_WINDOWS,
  type LimitChange,
  type LimitEach,
  type LimitSubject,
  type NamedTarget,
  UNPRICED_RULES,
} from "#limits/limit.ts";
import type { NamedSubject, NewLimit } from "#limits/store.ts";
import type { ModelRow } from "./catalog-rows.ts";
import { parseJson } from "./column-json.ts";
import type { TellUnreadable } from "./unreadable.ts";

/** Names that a limit remembers of its model; the oldest is forgotten first. */
const FORMER_MODELS_MAX = 20;
const TAG_EACH = "tag:";
const NO_NAMES = "[]";

/** Whom a limit is for: one of the columns, or none for everybody. */
interface SubjectColumns {
  readonly principalId: string | null;
  readonly keyId: string | null;
  readonly relayTokenId: string | null;
  readonly tag: string | null;
}

const NOBODY: SubjectColumns = { principalId: null, keyId: null, relayTokenId: null, tag: null };
const ID_COLUMNS = { principal: "principalId", key: "keyId", relay_token: "relayTokenId" } as const;

/** A limit as its columns hold it. */
export interface LimitRow
  extends
    Omit<Limit, "subject" | "formerModels" | "otherTargets" | "each" | "amount" | "fixed">,
    SubjectColumns {
  /** JSON array of names that the model had before, and of the `NamedTarget` of other models. */
  readonly formerModels: string;
  /** `principal`, `key` or `tag:<key>`. */
  readonly each: string | null;
  /** Decimal digits. */
  readonly amount: string;
  /** Null in a row of a version that knew no fixed tags. */
  readonly fixed: boolean | null;
}

const READ_COLUMNS = ["amount", "former_models", "measure", "window", "action", "unpriced", "each"] as const;
type ReadColumn = (typeof READ_COLUMNS)[number];

/** Whether the columns of a limit that hold words or digits can be read; those that are null are not asked. */
export const LIMIT_READERS: { readonly [column in ReadColumn]: (text: string) => boolean } = {
  amount: (text) => /^\d+$/.test(text),
  former_models: (text) => Array.isArray(parseJson(text)),
  measure: isOneOf(LIMIT_MEASURES),
  window: isOneOf(LIMIT_WINDOWS),
  action: isOneOf(LIMIT_ACTIONS),
  unpriced: isOneOf(UNPRICED_RULES),
  each: (text) => text === "principal" || text === "key" || text.startsWith(TAG_EACH),
};

/** A limit that cannot be read lets nothing of its subject through: leaving it out would open what it was to close. */
export function toLimit(
  { limit, principalName }: { readonly limit: LimitRow; readonly principalName: string | null },
  tell: TellUnreadable,
): Limit {
  const { principalId, keyId, relayTokenId, tag, each, amount, formerModels, fixed, ...columns } = limit;
  const fields = { ...columns, fixed: fixed ?? false };
  const subject = toSubject({ principalId, keyId, relayTokenId, tag }, principalName ?? "");
  const column = findUnreadable(limit);
  if (column !== null) {
    tell({ table: "limits", id: limit.id, column });
    return { ...fields, ...CLOSED, subject };
  }
  const otherTargets = formerModels === NO_NAMES ? [] : toOtherTargets(formerModels);
  return {
    ...fields,
    subject,
    formerModels: toNames(formerModels),
    ...(otherTargets.length > 0 && { otherTargets }),
    each: toEach(each),
    amount: BigInt(amount),
  };
}

/** Nothing at once, which needs no ledger to be held. */
const CLOSED = {
  measure: "concurrent",
  window: null,
  amount: 0n,
  action: "refuse",
  each: null,
  formerModels: [],
} as const;

function findUnreadable(row: LimitRow): ReadColumn | null {
  const texts = { ...row, former_models: row.formerModels };
  const isUnreadable = (column: ReadColumn) => {
    const text = texts[column];
    return text !== null && !LIMIT_READERS[column](text);
  };
  return READ_COLUMNS.find(isUnreadable) ?? null;
}

function isOneOf(words: readonly string[]): (text: string) => boolean {
  return (text) => words.includes(text);
}

/** `subjectId`: of its principal, key or relay token, which was looked up; null for everybody and for a tag. */
export function toLimitRow(limit: NewLimit, subjectId: string | null): LimitRow {
  const { subject, each, amount, ...fields } = limit;
  return {
    ...fields,
    ...fromSubject(subject, subjectId),
    formerModels: NO_NAMES,
    each: fromEach(each),
    amount: amount.toString(),
  };
}

/** The columns that a change writes. */
export function toLimitColumns({ amount, ...change }: LimitChange) {
  return { ...change, ...(amount !== undefined && { amount: amount.toString() }) };
}

type FollowedColumns = Pick<LimitRow, "model" | "formerModels">;

type RoutedRow = Pick<ModelRow, "providerId" | "upstreamName" | "targetId">;

/** Where requests to a model go. */
export type ModelTarget = Omit<NamedTarget, "name">;

/** A model that is written. */
export interface FollowedModel {
  /** What it was called; undefined: it is new. */
  readonly before: string | undefined;
  readonly alias: string;
  /** Null: it goes nowhere. */
  readonly target: () => ModelTarget | null;
}

/**
 * What a limit holds once a model is written: usage under its model's former names goes on counting. Where another model
 * takes one of them, what goes to the other's target does not; one that goes where the limit's own model goes is the same
 * model under its former name. `findTarget`: of a model that is there. Null when nothing changes.
 */
export function followModelName(
  limit: FollowedColumns,
  { before, alias, target }: FollowedModel,
  findTarget: (alias: string) => ModelTarget | null,
): FollowedColumns | null {
  const isRenamed = before !== undefined && before !== alias && limit.model === before;
  if (!isRenamed && limit.formerModels === NO_NAMES) return null;
  const former = toNames(limit.formerModels);
  if (isRenamed) {
    const kept = [...former, before].filter((name) => name !== alias).slice(-FORMER_MODELS_MAX);
    return { model: alias, formerModels: toFormerJson(kept, toOtherTargets(limit.formerModels)) };
  }
  if (!former.includes(alias) || limit.model === null) return null;
  const [its, own] = [target(), findTarget(limit.model)];
  if (its === null || (own !== null && isSameTarget(its, own))) return null;
  const others = toOtherTargets(limit.formerModels);
  if (others.some((other) => other.name === alias && isSameTarget(other, its))) return null;
  return { model: limit.model, formerModels: toFormerJson(former, [...others, { name: alias, ...its }]) };
}

/** Where requests to the model of a row go; null: nowhere. `find`: a row by its id. */
export function toModelTarget(
  { providerId, upstreamName, targetId }: RoutedRow,
  find: (id: string) => RoutedRow | undefined,
): ModelTarget | null {
  if (targetId === null)
    return providerId === null || upstreamName === null ? null : { providerId, upstreamName };
  const target = find(targetId);
  return target === undefined ? null : toModelTarget(target, find);
}

function isSameTarget(one: ModelTarget, other: ModelTarget): boolean {
  return one.providerId === other.providerId && one.upstreamName === other.upstreamName;
}

function toFormerJson(names: readonly string[], others: readonly NamedTarget[]): string {
  const kept = others.filter(({ name }) => names.includes(name)).slice(-FORMER_MODELS_MAX);
  return JSON.stringify([
    ...names,
    ...kept.map(({ name, providerId, upstreamName }) => [name, providerId, upstreamName]),
  ]);
}

function toSubject(
  { principalId, keyId, relayTokenId, tag }: SubjectColumns,
  principalName: string,
): LimitSubject {
  if (principalId !== null) return { kind: "principal", id: principalId, name: principalName };
  if (keyId !== null) return { kind: "key", id: keyId };
  if (relayTokenId !== null) return { kind: "relay_token", id: relayTokenId };
  return tag === null ? { kind: "everybody" } : { kind: "tag", pair: tag };
}

function fromSubject(subject: NamedSubject, id: string | null): SubjectColumns {
  if (subject.kind === "everybody") return NOBODY;
  if (subject.kind === "tag") return { ...NOBODY, tag: subject.pair };
  return { ...NOBODY, [ID_COLUMNS[subject.kind]]: id };
}

/** Executables from before them pass them over. */
function toOtherTargets(json: string): readonly NamedTarget[] {
  const others: unknown = parseJson(json);
  if (!Array.isArray(others)) return [];
  return others.flatMap((other: unknown) => {
    if (!Array.isArray(other)) return [];
    const texts: readonly unknown[] = other;
    const [name, providerId, upstreamName] = texts;
    const isTarget =
      typeof name === "string" && typeof providerId === "string" && typeof upstreamName === "string";
    return isTarget ? [{ name, providerId, upstreamName }] : [];
  });
}

function toNames(json: string): readonly string[] {
  const names = parseJson(json);
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}

function fromEach(each: LimitEach | null): string | null {
  if (each === null) return null;
  return each.kind === "tag" ? TAG_EACH + each.key : each.kind;
}

function toEach(text: string | null): LimitEach | null {
  if (text === null) return null;
  if (text.startsWith(TAG_EACH)) return { kind: "tag", key: text.slice(TAG_EACH.length) };
  return text === "key" ? { kind: "key" } : { kind: "principal" };
}
