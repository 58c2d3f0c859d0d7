import type { Database } from "bun:sqlite";
import { DAY_US } from "#kernel/clock.ts";
import { toCostSums } from "#storage/ledger/rows/sums.ts";
import { toEventMeasures, UNPRICED_UNITS } from "./event-measures.ts";
import { UNITS } from "#kernel/units.ts";

/** A request this long is found by an index of its own, so that what ended in the last hour is found without reading a day. */
export const LONG_REQUEST_US = 600_000_000;

/** What limits count of an event, by its column: its tokens are those of input, cached or not, and of output. */
export const CARRIED_MEASURES = ["requests", "unpriced_requests", "cost_hi", "cost_lo", "tokens"] as const;
export const TOKEN_COLUMNS = ["input_tokens", "cached_input_tokens", "output_tokens"] as const;

export const CARRIED_SQL = `
CREATE TABLE carried_total (
  ended_day INTEGER NOT NULL,
  arrived_day INTEGER NOT NULL,
  combination INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  unpriced_requests INTEGER NOT NULL,
  cost_hi REAL NOT NULL,
  cost_lo REAL NOT NULL,
  tokens REAL NOT NULL,
  PRIMARY KEY (ended_day, arrived_day, combination)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_long ON event (id + duration_us) WHERE duration_us >= ${LONG_REQUEST_US};
`;

const MEASURES = toEventMeasures("c.shape IS NOT 'exclusive'");

function toMeasure(column: string): string {
  const sql = MEASURES.get(column);
  if (sql === undefined) throw new Error(`events have no measure ${column}`);
  return sql;
}

/** The SELECT list of what limits count, over rows of `event AS e`, after `COUNTED_JOINS`. */
export const COUNTED_COLUMNS = `1 AS requests, ${toMeasure("unpriced_requests")} AS unpriced_requests,
  ${toMeasure("cost_hi")} AS cost_hi, ${toMeasure("cost_lo")} AS cost_lo,
  ${TOKEN_COLUMNS.map((column) => `ifnull(${toMeasure(column)}, 0.0)`).join(" + ")} AS tokens`;

/** CROSS JOIN keeps the clustered table outermost. */
export const COUNTED_JOINS = `CROSS JOIN (SELECT manner.id, ${UNITS.map((unit, index) => `${UNPRICED_UNITS[index]} AS ${unit}`).join(", ")}
    FROM manner JOIN price_set ON price_set.id = price_set) AS m ON m.id = e.manner
  CROSS JOIN combination AS c ON c.id = e.combination`;

export function hasCarriedTotals(database: Database): boolean {
  const found = database.query("SELECT 1 FROM sqlite_schema WHERE name = 'carried_total'").get();
  return found !== null;
}

/**
 * Makes the totals of requests that ended on another day than they arrived, where they are missing: every other total is by
 * arrival, and limits count by the end. A ledger from before them is read once, some seconds for ten million events.
 */
export function ensureCarriedTotals(database: Database): void {
  if (hasCarriedTotals(database)) return;
  database.run("BEGIN IMMEDIATE");
  try {
    database.run(CARRIED_SQL);
    database.run(
      `INSERT INTO carried_total (ended_day, arrived_day, combination, requests, unpriced_requests, tokens, cost_hi, cost_lo)
       SELECT ended_day, arrived_day, combination, sum(requests), sum(unpriced_requests), sum(tokens), ${toCostSums((column) => column)}
       FROM (SELECT (e.id + e.duration_us) / ${DAY_US} AS ended_day, e.id / ${DAY_US} AS arrived_day, e.combination, ${COUNTED_COLUMNS}
         FROM event AS e ${COUNTED_JOINS} WHERE (e.id + e.duration_us) / ${DAY_US} <> e.id / ${DAY_US})
       GROUP BY 1, 2, 3`,
    );
    database.run("COMMIT");
  } finally {
    if (database.inTransaction) database.run("ROLLBACK");
  }
}
