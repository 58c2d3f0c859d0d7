import type { Database } from "bun:sqlite";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { systemCode } from "#kernel/system-code.ts";
import type { LedgerCheck, LedgerCheckOptions, LedgerFinding } from "#storage/ledger-check.ts";
import { JOURNAL_NAME } from "#storage/files/data-files.ts";
import { findSegments } from "#storage/ledger/journal/segments.ts";
import { readPosition } from "#storage/sqlite/ledger/file/database.ts";
import { compareEnds, type JournalEnds, readJournalEnds } from "./journal-ends.ts";
import { checkTotals } from "./totals-check.ts";
import { withUsageDatabase } from "./usage-database.ts";

/** The writer leaves a segment after 8 MiB at the earliest; losing so many races against it is not chance. */
const ATTEMPTS_MAX = 20;

/** See `StorageEngine.checkLedger`. */
export function checkLedger({
  dataDir,
  ...options
}: Omit<LedgerCheckOptions, "database">): Promise<LedgerCheck | null> {
  return withUsageDatabase(dataDir, (database) => checkOne(database, join(dataDir, JOURNAL_NAME), options));
}

async function checkOne(
  database: Database,
  journalDirectory: string,
  options: Omit<LedgerCheckOptions, "dataDir" | "database">,
): Promise<LedgerCheck> {
  const findings: LedgerFinding[] = [];
  const ends = pin(database, journalDirectory);
  const { committed, waiting, waitingBytes, damagedLines, hasPosition } = ends;
  const where = "journal";
  const rows = damagedLines;
  if (rows > 0) findings.push({ where, what: "damaged lines", rows, expected: 0, stored: rows });
  if (!hasPosition)
    findings.push({
      where,
      what: "segments that end where usage.db goes on",
      rows: 1,
      expected: 1,
      stored: 0,
    });
  compareEnds(database, ends, findings);
  const { events, rowsFromUs } = await checkTotals(database, findings, options);
  database.run("COMMIT");
  return {
    events,
    rowsFromUs,
    journal: { checkedEnds: committed, waitingEnds: waiting, waitingBytes },
    findings,
  };
}

/**
 * Begins a transaction that sees one state until its end, and reads the journal from that state's position on, again when
 * the writer removes a segment meanwhile.
 */
function pin(database: Database, journalDirectory: string): JournalEnds {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    database.run("BEGIN");
    const position = readPosition(database);
    const segments = findSegments(journalDirectory);
    try {
      const isRemoved =
        segments.length > 0 && !segments.includes(position.segment) && attempt + 1 < ATTEMPTS_MAX;
      if (!isRemoved) return readJournalEnds(journalDirectory, position);
    } catch (cause) {
      if (systemCode(cause) !== "ENOENT") throw cause;
    }
    database.run("ROLLBACK");
  }
  throw new SetupError("configuration", "The usage journal never stood still long enough: try again.");
}
