import { Database } from "bun:sqlite";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { type CheckedEvent, checkTotals } from "./ledger-totals.ts";

const TABLES = [
  "ledger_state",
  "combination",
  "result",
  "price_set",
  "manner",
  "event",
  "hour_total",
  "day_total",
  "sealed_day_total",
  "month_total",
  "dimension",
  "dimension_total",
  "sealed_hour",
  "sealed_month",
  "carried_total",
];

const EVENTS_SQL = `SELECT event.*, manner.result, outcome, status_code, error_kind, shape, tags, principal_id, key_id,
  relay_token_id, model, prices FROM event
  LEFT JOIN combination ON combination.id = event.combination LEFT JOIN manner ON manner.id = event.manner
  LEFT JOIN result ON result.id = manner.result LEFT JOIN price_set ON price_set.id = manner.price_set
  ORDER BY event.id`;

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
