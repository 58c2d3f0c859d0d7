import type {
  LedgerCheck,
  LedgerCheckOptions,
  LimitCheck,
  LimitCheckOptions,
} from "#storage/ledger-check.ts";
import { type CheckedJournal, checkWith } from "#storage/check/ledger-check.ts";
import { checkLimits as readLimits } from "#storage/check/limit-check.ts";
import { findSegments } from "#storage/journal/segments.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { openReportConnection, readFrom } from "#storage/postgres/report-connection.ts";
import { findSpoolId, toSpoolFolder } from "./spool-folder.ts";

/** See `StorageEngine.checkLedger`: events and totals of all replicas, and the spool of this data folder. */
export async function checkLedger(
  postgres: Postgres,
  { dataDir, ...options }: Omit<LedgerCheckOptions, "database">,
): Promise<LedgerCheck> {
  const journal = await findJournal(postgres, dataDir);
  const connection = openReportConnection(postgres);
  return checkWith((reading) => readFrom(connection, reading, options.signal), journal, options);
}

/** See `StorageEngine.checkLimits`. */
export function checkLimits(postgres: Postgres, options: LimitCheckOptions): Promise<LimitCheck> {
  return readFrom(openReportConnection(postgres), readLimits(options), options.signal);
}

/** Null in a folder from which no replica has served on this database. */
async function findJournal(postgres: Postgres, dataDir: string): Promise<CheckedJournal | null> {
  const id = findSpoolId(dataDir);
  const directory = toSpoolFolder(dataDir);
  if (id === null || findSegments(directory).length === 0) return null;
  const [spool] = await postgres.all<{ lane: number }>("SELECT lane FROM spool WHERE id = $1", [id]);
  if (spool === undefined) return null;
  const position = `SELECT segment, "offset" FROM spool WHERE lane = ${spool.lane}`;
  return { directory, position, lane: spool.lane };
}
