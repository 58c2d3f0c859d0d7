import type { Database } from "bun:sqlite";
import { DAY_US } from "#kernel/clock.ts";
import { toCostSums } from "#storage/ledger/rows/sums.ts";
import {
  LONG_REQUEST_US,
  toCountedColumns,
  toCountedJoins,
} from "#storage/ledger/queries/counted-columns.ts";
import { SQLITE } from "#storage/ledger/queries/dialect.ts";

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
       FROM (SELECT (e.id + e.duration_us) / ${DAY_US} AS ended_day, e.id / ${DAY_US} AS arrived_day, e.combination, ${toCountedColumns(SQLITE)}
         FROM event AS e ${toCountedJoins(SQLITE)} WHERE (e.id + e.duration_us) / ${DAY_US} <> e.id / ${DAY_US})
       GROUP BY 1, 2, 3`,
    );
    database.run("COMMIT");
  } finally {
    if (database.inTransaction) database.run("ROLLBACK");
  }
}
