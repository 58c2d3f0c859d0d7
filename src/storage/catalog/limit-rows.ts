import type { Limit, LimitChange, LimitEach, LimitSubject } from "#limits/limit.ts";
import type { NamedSubject, NewLimit } from "#limits/store.ts";

/** Names that a limit remembers of its model; the oldest is forgotten first. */
const FORMER_MODELS_MAX = 20;
const TAG_EACH = "tag:";

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
  extends Omit<Limit, "subject" | "formerModels" | "each" | "amount">, SubjectColumns {
  /** JSON array of names that the model had before. */
  readonly formerModels: string;
  /** `principal`, `key` or `tag:<key>`. */
  readonly each: string | null;
  /** Decimal digits. */
  readonly amount: string;
}

export function toLimit({
  limit,
  principalName,
}: {
  readonly limit: LimitRow;
  readonly principalName: string | null;
}): Limit {
  const { principalId, keyId, relayTokenId, tag, each, amount, formerModels, ...fields } = limit;
  return {
    ...fields,
    subject: toSubject({ principalId, keyId, relayTokenId, tag }, principalName ?? ""),
    formerModels: toNames(formerModels),
    each: toEach(each),
    amount: BigInt(amount),
  };
}

/** `subjectId`: of its principal, key or relay token, which was looked up; null for everybody and for a tag. */
export function toLimitRow(limit: NewLimit, subjectId: string | null): LimitRow {
  const { subject, each, amount, ...fields } = limit;
  return {
    ...fields,
    ...fromSubject(subject, subjectId),
    formerModels: "[]",
    each: fromEach(each),
    amount: amount.toString(),
  };
}

/** The columns that a change writes. */
export function toLimitColumns({ amount, ...change }: LimitChange) {
  return { ...change, ...(amount !== undefined && { amount: amount.toString() }) };
}

type FollowedColumns = Pick<LimitRow, "model" | "formerModels">;

/**
 * What a limit holds once a model that was called `before` (undefined: a new one) is called `alias`: usage under the former
 * name goes on counting, until a model takes that name. Null when nothing changes.
 */
export function followModelName(
  limit: FollowedColumns,
  { before, alias }: { readonly before: string | undefined; readonly alias: string },
): FollowedColumns | null {
  if (before === alias) return null;
  const isRenamed = before !== undefined && limit.model === before;
  const former = toNames(limit.formerModels);
  if (!isRenamed && !former.includes(alias)) return null;
  const kept = (isRenamed ? [...former, before] : former).filter((name) => name !== alias);
  return {
    model: isRenamed ? alias : limit.model,
    formerModels: JSON.stringify(kept.slice(-FORMER_MODELS_MAX)),
  };
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

function toNames(json: string): readonly string[] {
  const names: unknown = JSON.parse(json);
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
