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
import type { LimitSet, NamedSubject, NewLimit } from "#limits/store.ts";
import { columnsOf, decode } from "#storage/sql/rows.ts";
import { all, dialectOf, type Script } from "#storage/sql/script.ts";
import { parseJson } from "./json-columns.ts";
import { type LimitRow, limits } from "./tables.ts";
import type { TellUnreadable } from "./unreadable.ts";

const TAG_EACH = "tag:";
/** Former names and other targets of a limit whose model was never renamed. */
export const NO_NAMES = "[]";

/** Whom a limit is for: one of the columns, or none for everybody. */
type SubjectColumns = Pick<LimitRow, "principalId" | "keyId" | "relayTokenId" | "tag">;

const NOBODY: SubjectColumns = { principalId: null, keyId: null, relayTokenId: null, tag: null };
const ID_COLUMNS = { principal: "principalId", key: "keyId", relay_token: "relayTokenId" } as const;

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

/** Where other models go that took a former name over. */
export function toOtherTargets(json: string): readonly NamedTarget[] {
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

export function toNames(json: string): readonly string[] {
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

type ReadLimit = LimitRow & { readonly principalName: string | null };

/** The limits that are remembered, the oldest first. */
export class LimitMemory {
  readonly #tell: TellUnreadable;
  #byId: ReadonlyMap<string, Limit> = new Map();
  #set: LimitSet = { limits: [] };

  constructor(tell: TellUnreadable) {
    this.#tell = tell;
  }

  get set(): LimitSet {
    return this.#set;
  }

  /** Reads those of `ids`, or all (null). */
  *read(ids: readonly string[] | null): Script<() => void> {
    const found = yield* readLimits(ids, this.#tell);
    return () => {
      const kept = ids === null ? [] : [...this.#byId].filter(([id]) => !ids.includes(id));
      this.#byId = new Map([...kept, ...found.map((limit) => [limit.id, limit] as const)]);
      const list = [...this.#byId.values()].toSorted(compareAge);
      // Everything is read again when the log does not reach far enough: an equal set stays the same object.
      if (ids !== null || !Bun.deepEquals(list, this.#set.limits)) this.#set = { limits: list };
    };
  }
}

/** The limits of `ids`, or all (null), as the transaction sees them. */
export function* readLimits(
  ids: readonly string[] | null,
  tell: TellUnreadable = () => undefined,
): Script<readonly Limit[]> {
  const { isAnyOf } = yield* dialectOf();
  const columns = yield* columnsOf(limits);
  const rows = yield* all<ReadLimit>(
    `SELECT ${columns}, principals.name AS "principalName"
     FROM limits LEFT JOIN principals ON principals.id = limits.principal_id
     ${ids === null ? "" : `WHERE ${isAnyOf("limits.id", "text")}`}`,
    ids === null ? [] : [ids],
  );
  return decode(limits, rows).map(({ principalName, ...limit }) => toLimit({ limit, principalName }, tell));
}

function compareAge(one: Limit, other: Limit): number {
  return one.createdAtUs - other.createdAtUs || (one.id < other.id ? -1 : 1);
}
