import { statSync } from "node:fs";
import type { InstantUs } from "#kernel/clock.ts";
import { SetupError } from "#kernel/errors.ts";
import { systemCode } from "#kernel/system-code.ts";
import { readPrunedBefore } from "#storage/cells/retention.ts";
import { joinCost } from "#storage/cells/sums.ts";
import type { LedgerCheck, LedgerFinding } from "#storage/engine.ts";
import { SegmentReader } from "#storage/journal/segment-reader.ts";
import {
  findSegments,
  type JournalPosition,
  measureSegments,
  segmentPath,
} from "#storage/journal/segments.ts";
import { type LedgerJournal, readPosition } from "#storage/ledger-reader.ts";
import { each, one, type Script } from "#storage/sql/script.ts";
import { type Begun, JournalDecoder } from "#usage/journal-decoder.ts";
import { LineCursor, type UsageFigures } from "#usage/journal-line.ts";
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
  // Costs of the database are then not those that requests ended with.
  const repriced = yield* one("SELECT 1 FROM repriced_stretch LIMIT 1");
  try {
    return readJournalEnds(directory, position, { hasCosts: repriced === null });
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") throw new MovedOnError();
    throw cause;
  }
}

function* checkJournal(ends: JournalEnds, findings: LedgerFinding[], lane: number | null): Script<void> {
  const add = (what: string, figures: Pick<LedgerFinding, "rows" | "expected" | "stored">) => {
    if (figures.rows > 0) findings.push({ where: "journal", what, ...figures });
  };
  const { damagedLines, hasPosition } = ends;
  add("damaged lines", { rows: damagedLines, expected: 0, stored: damagedLines });
  add("segments that end where the database goes on", {
    rows: hasPosition ? 0 : 1,
    expected: 1,
    stored: 0,
  });
  const { expected, missing, doubled } = yield* compareEnds(ends, lane);
  add("ends that are no event", { rows: missing, expected, stored: expected - missing });
  add("ends that are more than one event", { rows: doubled, expected, stored: expected + doubled });
}

/** Further segments are counted and not read: so many wait only where the writer has been failing for long. */
const SEGMENTS_READ_MAX = 8;
/** An event gets the next id that is free behind its arrival: never this far with a clock of microseconds. */
const SPREAD_US = 1_000;

/** The ended requests of a journal, as of a position up to which it is committed. */
interface JournalEnds {
  /** Requests whose begin and end are both in it. */
  readonly committed: number;
  readonly waiting: number;
  readonly waitingBytes: number;
  readonly damagedLines: number;
  /** False when the segment that the position is in is gone, or ends before it. */
  readonly hasPosition: boolean;
  /** True where costs are compared. */
  readonly hasCosts: boolean;
  /** Arrivals of what is committed and stays as it ended, by everything else that is compared. */
  readonly arrivals: ReadonlyMap<string, readonly InstantUs[]>;
}

/** Reads the segments from the position's on. Throws when one is removed meanwhile. */
function readJournalEnds(
  directory: string,
  position: JournalPosition,
  { hasCosts }: Pick<JournalEnds, "hasCosts">,
): JournalEnds {
  const sizes = findSegments(directory).length === 0 ? new Map<number, number>() : measureSegments(directory);
  const present = [...sizes.keys()].filter((segment) => segment >= position.segment);
  const reader = new SegmentReader(directory);
  const decoder = new JournalDecoder();
  const begun = new Map<number, Begun>();
  const arrivals = new Map<string, number[]>();
  let [committed, waiting, damagedLines] = [0, 0, 0];
  const take = (line: LineCursor, isCommitted: boolean) => {
    const entry = decoder.decode(line);
    if (entry === null) damagedLines += 1;
    else if (entry.kind === "run") begun.clear();
    else if (entry.kind === "begin") begun.set(entry.sequence, entry);
    else if (entry.kind === "end") {
      const begin = begun.get(entry.sequence);
      begun.delete(entry.sequence);
      // Begun in a segment that is gone: its place among the events is not known.
      if (begin === undefined) return;
      if (!isCommitted) waiting += 1;
      else {
        committed += 1;
        // A pending event may have become another one: its settlement may be in the journal of another replica.
        if (entry.usage?.shape !== "pending")
          keep(arrivals, begin.arrivedAtUs, hasCosts ? entry : { ...entry, costPico: null });
      }
    }
  };
  try {
    for (const segment of present.slice(0, SEGMENTS_READ_MAX)) {
      decoder.startSegment();
      let at: JournalPosition = { segment, offsetBytes: 0 };
      for (;;) {
        const chunk = reader.read(at);
        const line = new LineCursor(chunk.lines);
        while (line.next()) {
          const offsetBytes = at.offsetBytes + line.start;
          take(line, segment === position.segment && offsetBytes < position.offsetBytes);
        }
        if (!chunk.hasMore || chunk.next.segment !== segment) break;
        at = chunk.next;
      }
    }
  } finally {
    reader.close();
  }
  const ofPosition = sizes.get(position.segment) ?? 0;
  // With what is reserved behind its lines: a writer also reads through the room of a server that was killed.
  const sizeOfPosition = sizes.has(position.segment)
    ? statSync(segmentPath(directory, position.segment)).size
    : 0;
  const presentBytes = present.reduce((sum, segment) => sum + (sizes.get(segment) ?? 0), 0);
  return {
    committed,
    waiting,
    waitingBytes: presentBytes - Math.min(position.offsetBytes, ofPosition),
    damagedLines,
    hasPosition: sizeOfPosition >= position.offsetBytes,
    hasCosts,
    arrivals,
  };
}

function keep(
  arrivals: Map<string, number[]>,
  arrivedAtUs: InstantUs,
  { durationUs, timeToFirstByteUs, costPico, usage }: UsageFigures,
): void {
  const { input_tokens: input = null, output_tokens: output = null } = usage?.quantities ?? {};
  const key = toKey([durationUs, timeToFirstByteUs, costPico, input, output]);
  const known = arrivals.get(key);
  if (known === undefined) arrivals.set(key, [arrivedAtUs]);
  else known.push(arrivedAtUs);
}

function toKey(figures: readonly (number | bigint | null)[]): string {
  return figures.join(" ");
}

/**
 * Looks for each committed end among the events: it is there as often as the journal says. `lane`: of the journal, where
 * events of others lie beside its own.
 */
function* compareEnds({ arrivals, hasCosts }: JournalEnds, lane: number | null) {
  const prunedUs = yield* readPrunedBefore();
  const wanted = new Map<string, Cluster[]>();
  for (const [key, arrivalsUs] of arrivals) {
    // The rows of others have been removed.
    const kept = arrivalsUs.filter((arrivedAtUs) => arrivedAtUs >= prunedUs).sort((a, b) => a - b);
    wanted.set(key, [...toClusters(kept)]);
  }
  const clusters = [...wanted.values()].flat();
  const fromUs = clusters.reduce(
    (first, cluster) => Math.min(first, cluster.fromUs),
    Number.MAX_SAFE_INTEGER,
  );
  const toUs = clusters.reduce((last, cluster) => Math.max(last, cluster.toUs), 0);
  yield* each<EventFigures>(
    `SELECT id, duration_us, first_byte_us, cost_hi, cost_lo, input_tokens, output_tokens FROM event
     WHERE id >= ? AND id <= ? ${lane === null ? "" : `AND lane = ${lane}`} ORDER BY id`,
    [fromUs, toUs],
    ({ id, cost_hi: hi, cost_lo: lo, ...row }) => {
      const cost = hi === null || lo === null || !hasCosts ? null : joinCost(hi, lo);
      const alike = wanted.get(
        toKey([row.duration_us, row.first_byte_us, cost, row.input_tokens, row.output_tokens]),
      );
      if (alike === undefined) return;
      while ((alike[0]?.toUs ?? id) < id) alike.shift();
      const [nearest] = alike;
      if (nearest !== undefined && nearest.fromUs <= id) nearest.found += 1;
    },
  );
  let [expected, missing, doubled] = [0, 0, 0];
  for (const { ends, found } of clusters) {
    expected += ends;
    missing += Math.max(0, ends - found);
    doubled += Math.max(0, found - ends);
  }
  return { expected, missing, doubled };
}

interface EventFigures {
  readonly id: InstantUs;
  readonly duration_us: number;
  readonly first_byte_us: number | null;
  readonly cost_hi: number | null;
  readonly cost_lo: number | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
}

/** Ends that differ in nothing but their arrivals, which lie near one another. */
interface Cluster {
  readonly fromUs: InstantUs;
  readonly toUs: InstantUs;
  readonly ends: number;
  /** The number of events that could be theirs. */
  found: number;
}

/** Arrivals so near one another that their events could be one another's. Ascending. */
function* toClusters(arrivalsUs: readonly number[]): Generator<Cluster> {
  for (let first = 0; first < arrivalsUs.length;) {
    const fromUs = arrivalsUs[first] ?? 0;
    let [next, toUs] = [first, fromUs];
    while (next < arrivalsUs.length && (arrivalsUs[next] ?? 0) <= toUs) {
      toUs = Math.max(toUs, arrivalsUs[next] ?? 0) + (next === first ? SPREAD_US : 1);
      next += 1;
    }
    yield { fromUs, toUs, ends: next - first, found: 0 };
    first = next;
  }
}
