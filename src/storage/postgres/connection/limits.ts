import type { PostgresOptions } from "./pool.ts";

type Purpose = Pick<PostgresOptions, "purpose" | "connectionsMax" | "callMsMax">;

/** The purposes of connections. A transaction may set its statements another limit; each that does says why. */
export const PURPOSES = {
  /**
   * Questions of requests, and one change of the catalog that holds its lock with its reads beside it. An admin change fails
   * within 5 s while the database is away: waiting for a connection and the call have one limit each.
   */
  serve: { purpose: "serve", connectionsMax: 4, callMsMax: 2_000 },
  /** Signs of life, and what is read after them: nothing that is slow holds them up. */
  presence: { purpose: "presence", connectionsMax: 3, callMsMax: 1_500 },
  /**
   * One batch, one poll of the clock, a step of maintenance, and a sum of limits at a time. A poll of the spool that is not
   * answered gives up every connection: after a silent cut the database is used again within this.
   */
  writer: { purpose: "writer", connectionsMax: 4, callMsMax: 4_000 },
  /** A report, whose statements have a limit of their own, and beside it a question if the server is there, or the statement that cancels it. */
  reports: { purpose: "reports", connectionsMax: 2, callMsMax: 4_000 },
  /** A command does one thing after the other, and may wait longer than a request. */
  command: { purpose: "command", connectionsMax: 2, callMsMax: 5_000 },
  doctor: { purpose: "doctor", connectionsMax: 1, callMsMax: 5_000 },
  /** The connection, and the calls before the first row; another one ends what is interrupted. */
  migrate: { purpose: "migrate", connectionsMax: 2, callMsMax: 15_000 },
} satisfies Record<string, Purpose>;

/** Limits of one statement in transactions whose limit is not that of their connections' calls. */
export const STATEMENT_MS_MAX = {
  /** Three in a row are what a change of the catalog may take when the database falls silent. */
  mutation: 1_500,
  /** Every key of a large installation is read in one statement. */
  load: 10_000,
  /** Some 50 ms are usual. A database that is slow for a while still commits the batch: given up, it would be tried again as it is. */
  batch: 15_000,
  /** All that one question about limits adds up: an hour of 100 million events. */
  limitSums: 120_000,
  /** To seal the day of a large ledger, or to move a million rows. */
  maintenance: 60_000,
  /** The largest report looks at 25 million rows one by one. */
  report: 60_000,
  /** The slowest of several processes that start at once may take so long. */
  migration: 120_000,
  /** A batch of an installation that is taken in, or the comparison of a table with its source. */
  move: 20 * 60_000,
};
