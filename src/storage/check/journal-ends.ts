import type { InstantUs } from "#kernel/clock.ts";
import type { LedgerFinding } from "#storage/ledger-check.ts";
import { all, fill, type Script } from "#storage/sql/script.ts";
import { SegmentReader } from "#storage/journal/segment-reader.ts";
import { findSegments, type JournalPosition, measureSegments } from "#storage/journal/segments.ts";
import { splitCost } from "#storage/cells/sums.ts";
import { type Begun, JournalDecoder } from "#usage/journal-decoder.ts";
import { LineCursor, type UsageFigures } from "#usage/journal-line.ts";
import { readPrunedBefore } from "./pruned-rows.ts";

/** Further segments are counted and not read: so many wait only where the writer has been failing for long. */
const SEGMENTS_READ_MAX = 8;
/** An event gets the next id that is free behind its arrival: never this far with a clock of microseconds. */
const SPREAD_US = 1_000;

/** What the journal says of ended requests, as of a position up to which it is committed. */
export interface JournalEnds {
  /** Requests whose begin and end are both in it. */
  readonly committed: number;
  readonly waiting: number;
  readonly waitingBytes: number;
  readonly damagedLines: number;
  /** False when the segment that the position is in is gone, or ends before it. */
  readonly hasPosition: boolean;
  /** Arrivals of what is committed and stays as it ended, by everything else that is compared. */
  readonly arrivals: ReadonlyMap<string, Ended>;
}

interface Ended {
  readonly figures: UsageFigures;
  readonly arrivalsUs: number[];
}

/** Reads the segments from the position's on. Throws when one is removed meanwhile. */
export function readJournalEnds(directory: string, position: JournalPosition): JournalEnds {
  const sizes = findSegments(directory).length === 0 ? new Map<number, number>() : measureSegments(directory);
  const present = [...sizes.keys()].filter((segment) => segment >= position.segment);
  const reader = new SegmentReader(directory);
  const decoder = new JournalDecoder();
  const begun = new Map<number, Begun>();
  const arrivals = new Map<string, Ended>();
  let [committed, waiting, damagedLines] = [0, 0, 0];
  const take = (line: LineCursor, isCommitted: boolean) => {
    const entry = decoder.decode(line);
    if (entry === null) damagedLines += 1;
    else if (entry.kind === "run") begun.clear();
    else if (entry.kind === "begin") begun.set(entry.sequence, entry.begun);
    else if (entry.kind === "end") {
      const begin = begun.get(entry.sequence);
      begun.delete(entry.sequence);
      // Begun in a segment that is gone: its place among the events is not known.
      if (begin === undefined) return;
      if (!isCommitted) waiting += 1;
      else {
        committed += 1;
        // A pending event may have become another one: its settlement may be in the journal of another replica.
        if (entry.ending.usage?.shape !== "pending") keep(arrivals, begin.arrivedAtUs, entry.ending);
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
  const presentBytes = present.reduce((sum, segment) => sum + (sizes.get(segment) ?? 0), 0);
  return {
    committed,
    waiting,
    waitingBytes: presentBytes - Math.min(position.offsetBytes, ofPosition),
    damagedLines,
    hasPosition: ofPosition >= position.offsetBytes,
    arrivals,
  };
}

function keep(arrivals: Map<string, Ended>, arrivedAtUs: number, figures: UsageFigures): void {
  const { durationUs, timeToFirstByteUs, costPico, usage } = figures;
  const { input_tokens, output_tokens } = usage?.quantities ?? {};
  const key = [durationUs, timeToFirstByteUs, costPico, input_tokens, output_tokens].join(" ");
  const known = arrivals.get(key);
  if (known === undefined) arrivals.set(key, { figures, arrivalsUs: [arrivedAtUs] });
  else known.arrivalsUs.push(arrivedAtUs);
}

/**
 * Looks each committed end up among the events: it is there as often as the journal says. `lane`: of the journal, where
 * events of others lie beside its own.
 */
export function* compareEnds(
  { arrivals }: JournalEnds,
  findings: LedgerFinding[],
  lane: number | null,
): Script<void> {
  yield* fill("journal_end", [...toRows(arrivals, yield* readPrunedBefore())]);
  const rows = yield* all<{ ends: number; found: number }>(
    `SELECT ends, (SELECT count(*) FROM event AS e WHERE e.id >= j.from_us AND e.id <= j.to_us
       AND e.duration_us = j.duration_us AND e.first_byte_us IS NOT DISTINCT FROM j.first_byte_us
       AND e.cost_hi IS NOT DISTINCT FROM j.cost_hi AND e.cost_lo IS NOT DISTINCT FROM j.cost_lo
       AND e.input_tokens IS NOT DISTINCT FROM j.input_tokens
       AND e.output_tokens IS NOT DISTINCT FROM j.output_tokens
       ${lane === null ? "" : `AND e.lane = ${lane}`}) AS found
     FROM journal_end AS j`,
  );
  let [expected, missing, doubled] = [0, 0, 0];
  for (const { ends, found } of rows) {
    expected += ends;
    missing += Math.max(0, ends - found);
    doubled += Math.max(0, found - ends);
  }
  const where = "journal";
  if (missing > 0)
    findings.push({
      where,
      what: "ends that are no event",
      rows: missing,
      expected,
      stored: expected - missing,
    });
  if (doubled > 0)
    findings.push({
      where,
      what: "ends that are more than one event",
      rows: doubled,
      expected,
      stored: expected + doubled,
    });
}

/** Rows of the temporary table `journal_end`: ends that differ in nothing but their arrivals, which lie near one another. */
function* toRows(arrivals: JournalEnds["arrivals"], pruned: InstantUs) {
  for (const { figures, arrivalsUs } of arrivals.values()) {
    const { durationUs, timeToFirstByteUs, costPico, usage } = figures;
    const cost = splitCost(costPico);
    const { input_tokens = null, output_tokens = null } = usage?.quantities ?? {};
    const kept = arrivalsUs.filter((arrivedAtUs) => arrivedAtUs >= pruned).sort((a, b) => a - b);
    for (const { fromUs, toUs, ends } of cluster(kept)) {
      yield [
        fromUs,
        toUs,
        ends,
        durationUs,
        timeToFirstByteUs,
        cost?.hi ?? null,
        cost?.lo ?? null,
        input_tokens,
        output_tokens,
      ];
    }
  }
}

/** Arrivals so near one another that their events could be one another's. Ascending. */
function* cluster(arrivalsUs: readonly number[]) {
  for (let first = 0; first < arrivalsUs.length;) {
    const fromUs = arrivalsUs[first] ?? 0;
    let [next, toUs] = [first, fromUs];
    while (next < arrivalsUs.length && (arrivalsUs[next] ?? 0) <= toUs) {
      toUs = Math.max(toUs, arrivalsUs[next] ?? 0) + (next === first ? SPREAD_US : 1);
      next += 1;
    }
    yield { fromUs, toUs, ends: next - first };
    first = next;
  }
}
