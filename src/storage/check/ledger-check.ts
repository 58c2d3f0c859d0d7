import { SetupError } from "#kernel/errors.ts";
import { systemCode } from "#kernel/system-code.ts";
import type { LedgerCheck, LedgerFinding } from "#storage/engine.ts";
import { type LedgerJournal, readPosition } from "#storage/ledger-reader.ts";
import { findSegments } from "#storage/journal/segments.ts";
import type { Script } from "#storage/sql/script.ts";
import { compareEnds, type JournalEnds, readJournalEnds } from "./journal-ends.ts";
import { checkTotals, type TotalsCheckOptions } from "./totals-check.ts";

/** The writer leaves a segment after 8 MiB at the earliest; losing so many races against it is not chance. */
const ATTEMPTS_MAX = 20;

/** The writer has removed a segment that was being read: to be tried again, with the position of another moment. */
class MovedOnError extends Error {
  override readonly name = "MovedOnError";
}

/**
 * Runs a check, again when the writer has moved on too far meanwhile. Each attempt is of one moment: `read` runs a reading
 * within one transaction that sees one state until its end.
 */
export async function checkWith(
  read: (reading: Script<LedgerCheck>) => Promise<LedgerCheck>,
  journal: LedgerJournal | null,
  options: TotalsCheckOptions,
): Promise<LedgerCheck> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read(checkLedger(journal, options, attempt === ATTEMPTS_MAX));
    } catch (cause) {
      if (!(cause instanceof MovedOnError)) throw cause;
      if (attempt === ATTEMPTS_MAX)
        throw new SetupError("configuration", "The usage journal never stood still long enough: try again.");
    }
  }
}

function* checkLedger(
  journal: LedgerJournal | null,
  options: TotalsCheckOptions,
  isLast: boolean,
): Script<LedgerCheck> {
  const findings: LedgerFinding[] = [];
  const ends = journal === null ? null : yield* readEnds(journal, isLast);
  if (journal !== null && ends !== null) yield* checkJournal(ends, findings, journal.lane);
  const { events, rowsFromUs } = yield* checkTotals(findings, options);
  return {
    events,
    rowsFromUs,
    journal: {
      checkedEnds: ends?.committed ?? 0,
      waitingEnds: ends?.waiting ?? 0,
      waitingBytes: ends?.waitingBytes ?? 0,
    },
    findings,
  };
}

/** Reads the journal from the position of the transaction's state on. */
function* readEnds(journal: LedgerJournal, isLast: boolean): Script<JournalEnds> {
  const { directory } = journal;
  const position = yield* readPosition(journal);
  const segments = findSegments(directory);
  const isRemoved = segments.length > 0 && !segments.includes(position.segment);
  if (isRemoved && !isLast) throw new MovedOnError();
  try {
    return readJournalEnds(directory, position);
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") throw new MovedOnError();
    throw cause;
  }
}

function* checkJournal(ends: JournalEnds, findings: LedgerFinding[], lane: number | null): Script<void> {
  const { damagedLines: rows, hasPosition } = ends;
  const where = "journal";
  if (rows > 0) findings.push({ where, what: "damaged lines", rows, expected: 0, stored: rows });
  if (!hasPosition)
    findings.push({
      where,
      what: "segments that end where the database goes on",
      rows: 1,
      expected: 1,
      stored: 0,
    });
  yield* compareEnds(ends, findings, lane);
}
