import type { Limit } from "#limits/limit.ts";
import type { LimitSet } from "#limits/store.ts";
import { columnsOf, decode } from "#storage/sql/rows.ts";
import { all, dialectOf, type Script } from "#storage/sql/script.ts";
import { toLimit } from "./limit-rows.ts";
import { limits, type LimitRow } from "./tables.ts";
import type { TellUnreadable } from "./unreadable.ts";

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
