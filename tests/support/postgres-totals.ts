import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { MOVED_TABLES } from "#storage/move.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import type { PostgresTarget } from "#storage/postgres/connection/target.ts";
import { silentLog } from "../storage/support.ts";
import { type Attempts, checkAttempts, checkCost } from "./invariants.ts";
import { type CheckedEvent, checkTotals, EVENTS_SQL } from "./ledger-totals.ts";

const TABLES = MOVED_TABLES.filter(({ file }) => file === "usage").map(({ name }) => name);

/** An event with the lane that recorded it. */
export type LanedEvent = CheckedEvent & { readonly lane: number };

/**
 * Checks that every total of a ledger in PostgreSQL is the sum of its rows, to the pico, whatever lanes have added to it: at
 * one moment, also beside replicas that write. Returns the events.
 */
export async function checkPostgresTotals(postgres: Postgres): Promise<readonly LanedEvent[]> {
  using copy = await copyLedger(postgres);
  const events = copy.query<LanedEvent, []>(EVENTS_SQL).all();
  checkTotals(copy, events);
  return events;
}

/**
 * Invariants 1 and 2 of a ledger in PostgreSQL, over all lanes: every attempt is one event, none twice, none lost; each costs
 * what its quantities cost; every total is the sum of its rows to the pico. Returns the events.
 */
export async function checkPostgresLedger(
  target: PostgresTarget,
  attempts: Attempts = {},
): Promise<readonly LanedEvent[]> {
  const options = { target, purpose: "test", connectionsMax: 1, callMsMax: 30_000, log: silentLog };
  const postgres = await openPostgres(options);
  try {
    const events = await checkPostgresTotals(postgres);
    checkAttempts(events, attempts);
    for (const event of events) checkCost(event);
    if (attempts.isAtRest === true)
      expect(await postgres.all("SELECT sequence FROM open_request")).toEqual([]);
    return events;
  } finally {
    await postgres.close();
  }
}

/** Its tables without keys: rows of several lanes are several rows. */
async function copyLedger(postgres: Postgres): Promise<Database> {
  const copy = new Database(":memory:");
  await postgres.transaction(
    async (tx) => {
      for (const table of TABLES) {
        const rows = await tx.all<Record<string, string | number | null | Uint8Array>>(
          `SELECT * FROM ${table}`,
        );
        const [first] = await tx.all<{ columns: string }>(
          `SELECT string_agg(attname, ',' ORDER BY attnum) AS columns FROM pg_attribute
           WHERE attrelid = '${table}'::regclass AND attnum > 0 AND NOT attisdropped`,
        );
        const columns = first?.columns.split(",") ?? [];
        copy.run(`CREATE TABLE ${table} (${columns.join(", ")})`);
        const add = copy.prepare(`INSERT INTO ${table} VALUES (${columns.map(() => "?").join(", ")})`);
        copy.transaction(() => {
          for (const row of rows) add.run(...columns.map((column) => row[column] ?? null));
        })();
      }
    },
    { isReadOnly: true, isolation: "repeatable read" },
  );
  return copy;
}
