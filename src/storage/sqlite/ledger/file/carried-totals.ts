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
  unknown_requests INTEGER NOT NULL DEFAULT 0,
  cost_hi REAL NOT NULL,
  cost_lo REAL NOT NULL,
  tokens REAL NOT NULL,
  PRIMARY KEY (ended_day, arrived_day, combination)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_long ON event (id + duration_us) WHERE duration_us >= ${LONG_REQUEST_US};
`;

/** Rows of requests that ended on another day than they arrived, with what limits count of each. */
const CARRIED_EVENTS = `SELECT (e.id + e.duration_us) / ${DAY_US} AS ended_day, e.id / ${DAY_US} AS arrived_day, e.combination,
    ${toCountedColumns(SQLITE)}
  FROM event AS e ${toCountedJoins(SQLITE)} WHERE (e.id + e.duration_us) / ${DAY_US} <> e.id / ${DAY_US}`;
/** No window of limits that ends in days is longer. */
const WINDOW_DAYS_MAX = 31;

/**
 * Makes the totals of requests that ended on another day than they arrived, where they or a column of them are missing:
 * every other total is by arrival, and limits count by the end. A ledger from before them is read once, some seconds for ten
 * million events.
 */
export function ensureCarriedTotals(database: Database): void {
  const columns = database.query<{ name: string }, []>(SQLITE.carriedColumns).all();
  if (columns.some(({ name }) => name === "unknown_requests")) return;
  database.run("BEGIN IMMEDIATE");
  try {
    if (columns.length === 0) makeCarriedTotals(database);
    else addUnknownRequests(database);
    database.run("COMMIT");
  } finally {
    if (database.inTransaction) database.run("ROLLBACK");
  }
}

function makeCarriedTotals(database: Database): void {
  database.run(CARRIED_SQL);
  database.run(
    `INSERT INTO carried_total (ended_day, arrived_day, combination, requests, unpriced_requests, unknown_requests, tokens, cost_hi, cost_lo)
     SELECT ended_day, arrived_day, combination, sum(requests), sum(unpriced_requests), sum(unknown_requests), sum(tokens),
       ${toCostSums((column) => column)}
     FROM (${CARRIED_EVENTS}) GROUP BY 1, 2, 3`,
  );
}

/** Requests whose rows were removed are left out: the day on which they ended is no longer known. */
function addUnknownRequests(database: Database): void {
  database.run("ALTER TABLE carried_total ADD COLUMN unknown_requests INTEGER NOT NULL DEFAULT 0");
  database.run(
    `UPDATE carried_total SET unknown_requests = found.unknown
     FROM (SELECT ended_day, arrived_day, combination, sum(unknown_requests) AS unknown FROM (${CARRIED_EVENTS}
       AND c.shape IS NULL AND e.id >= (SELECT max(id) FROM event) - ${(WINDOW_DAYS_MAX + 1) * DAY_US}) GROUP BY 1, 2, 3) AS found
     WHERE found.ended_day = carried_total.ended_day AND found.arrived_day = carried_total.arrived_day
       AND found.combination = carried_total.combination`,
  );
}
