import type { Database } from "bun:sqlite";
import { MOVED_TABLES } from "#storage/move.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Chance } from "./chance.ts";

type Row = Record<string, unknown>;

/** What replicas write, each with its lane, and the measures of which a row may be two. */
const LANED = new Set(["event", "hour_total", "open_cell", "carried_total"]);
const LANES = 3;
/** What is no measure of a row of totals. */
const KEYS = new Set(["hour", "outcome", "combination", "result", "ended_day", "arrived_day"]);

/** How far days are sealed and rows removed is taken along by itself. */
const STATE = "ledger_state";
/** Each has the lane that its event has been given. */
const PENDING = "pending_event";
const TABLES = MOVED_TABLES.filter(({ file, name }) => file === "usage" && name !== STATE).map(
  ({ name }) => name,
);

/**
 * Puts the ledger of a usage.db into PostgreSQL in place of what is there, as if three replicas had written it: each event is of
 * a lane, and what one row of totals holds is in several.
 */
export async function copyLedger(from: Database, to: Postgres, chance: Chance): Promise<void> {
  await to.transaction(async (tx) => {
    await tx.run(`TRUNCATE ${TABLES.join(", ")}`);
    for (const table of TABLES.filter((name) => name !== PENDING)) {
      const rows = from.query<Row, []>(`SELECT * FROM ${table}`).all();
      if (rows.length === 0) continue;
      const laned = LANED.has(table) ? rows.flatMap((row) => toLanes(table, row, chance)) : rows;
      await tx.run(
        `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::text::json)`,
        [JSON.stringify(laned.map(toJson))],
      );
    }
    await tx.run(
      `INSERT INTO ${PENDING} (id, lane) SELECT e.id, e.lane
       FROM event AS e JOIN combination AS c ON c.id = e.combination WHERE c.shape = 'pending'`,
    );
    const state = from.query<{ pruned: number }, []>(`SELECT pruned_before_us AS pruned FROM ${STATE}`).get();
    await tx.run(`UPDATE ${STATE} SET pruned_before_us = $1::bigint, refused_before_us = 0`, [
      state?.pruned ?? 0,
    ]);
  });
}

function toLanes(table: string, row: Row, chance: Chance): readonly Row[] {
  const lane = 1 + chance.below(LANES);
  if (table === "event" || chance.below(2) === 0) return [{ ...row, lane }];
  const moved = Object.entries(row).map(([column, value]): [string, unknown] => [
    column,
    KEYS.has(column) || column === "last_seen_us" ? value : toHalf(value),
  ]);
  const other: Row = Object.fromEntries(moved);
  const left = Object.entries(row).map(([column, value]): [string, unknown] => [
    column,
    KEYS.has(column) || column === "last_seen_us" ? value : toDifference(value, other[column]),
  ]);
  return [
    { ...Object.fromEntries(left), lane },
    { ...other, lane: (lane % LANES) + 1 },
  ];
}

/** Of whole numbers, whose sums are exact. */
function toHalf(value: unknown): unknown {
  if (typeof value !== "number") return value;
  return Number.isSafeInteger(value) ? Math.floor(value / 2) : 0;
}

function toDifference(value: unknown, other: unknown): unknown {
  return typeof value === "number" && typeof other === "number" ? value - other : value;
}

function toJson(row: Row): Row {
  const entries = Object.entries(row).map(([column, value]) => [
    column,
    value instanceof Uint8Array ? `\\x${value.toHex()}` : value,
  ]);
  return Object.fromEntries(entries);
}
