import type { Limit } from "#limits/limit.ts";
import type { LimitSet } from "#limits/store.ts";
import { type LimitRow, toLimit } from "#storage/catalog/limit-rows.ts";
import type { TellUnreadable } from "#storage/catalog/unreadable.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { limits } from "./limit-schema.ts";
import { toSelection } from "./rows.ts";

type ReadLimit = LimitRow & { readonly principalName: string | null };

const READ_LIMITS = `SELECT ${toSelection(limits)}, principals.name AS "principalName"
  FROM limits LEFT JOIN principals ON principals.id = limits.principal_id`;
const IN_ORDER = "ORDER BY limits.created_at_us, limits.id";

/** The limits as a replica remembers them. */
export interface LimitMemory {
  set(): LimitSet;
  /** Reads the limits; what is returned makes them the present ones. */
  read(sql: Sql): Promise<() => void>;
}

export function createLimitMemory(tell: TellUnreadable): LimitMemory {
  let present: { readonly text: string; readonly set: LimitSet } = { text: "[]", set: { limits: [] } };
  return {
    set: () => present.set,
    async read(sql) {
      const rows = await sql.all<ReadLimit>(`${READ_LIMITS} ${IN_ORDER}`);
      const text = JSON.stringify(rows);
      // Other rows change more often than these: an equal set stays the same object.
      if (text === present.text) return () => undefined;
      const read = { text, set: { limits: rows.map((row) => fromRow(row, tell)) } };
      return () => {
        present = read;
      };
    },
  };
}

function fromRow({ principalName, ...limit }: ReadLimit, tell: TellUnreadable): Limit {
  return toLimit({ limit, principalName }, tell);
}
