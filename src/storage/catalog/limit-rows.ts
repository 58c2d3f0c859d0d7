import type { Limit, LimitSubject } from "#limits/limit.ts";
import type { LimitSet, NamedSubject, NewLimit } from "#limits/store.ts";
import { columnsOf, decode } from "#storage/sql/rows.ts";
import { all, dialectOf, type Script } from "#storage/sql/script.ts";
import type { FormerModels } from "./codecs.ts";
import { type LimitRow, limits } from "./tables.ts";
import { isReadable, type TellUnreadable } from "./unreadable.ts";

/** A limit whose model was never renamed. */
export const NO_FORMER_MODELS: FormerModels = { names: [], targets: [] };

/** Whom a limit is for: one of the columns, or none for everybody. */
type SubjectColumns = Pick<LimitRow, "principalId" | "keyId" | "relayTokenId" | "tag">;

const NOBODY: SubjectColumns = { principalId: null, keyId: null, relayTokenId: null, tag: null };
const ID_COLUMNS = { principal: "principalId", key: "keyId", relay_token: "relayTokenId" } as const;

/** A limit that cannot be read lets nothing of its subject through: leaving it out would open what it was to close. */
function toLimit({ principalName, ...row }: ReadLimit, tell: TellUnreadable): Limit {
  const readable = isReadable(limits, row, tell) ? row : { ...row, ...CLOSED };
  const { principalId, keyId, relayTokenId, tag, formerModels, ...fields } = readable;
  const { names, targets } = formerModels;
  return {
    ...fields,
    subject: toSubject({ principalId, keyId, relayTokenId, tag }, principalName ?? ""),
    formerModels: names,
    ...(targets.length > 0 && { otherTargets: targets }),
  };
}

/** Nothing at once, which needs no ledger to be held. */
const CLOSED = {
  measure: "concurrent",
  window: null,
  amount: 0n,
  action: "refuse",
  unpriced: "refuse",
  each: null,
  formerModels: NO_FORMER_MODELS,
} as const;

/** `subjectId`: of its principal, key or relay token, which was looked up; null for everybody and for a tag. */
export function toLimitRow({ subject, ...fields }: NewLimit, subjectId: string | null) {
  return { ...fields, ...fromSubject(subject, subjectId), formerModels: NO_FORMER_MODELS };
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
  return decode(limits, rows).map((row) => toLimit(row, tell));
}

function compareAge(one: Limit, other: Limit): number {
  return one.createdAtUs - other.createdAtUs || (one.id < other.id ? -1 : 1);
}
