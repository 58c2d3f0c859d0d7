import type { InstantUs } from "#kernel/clock.ts";
import { PENDING_USAGE } from "#usage/event.ts";
import type { Begun, JournalDecoder } from "#usage/journal-decoder.ts";
import {
  type JournalLine,
  type UsageFigures,
  type UsageManner,
  encodeJournalLine,
  LineCursor,
} from "#usage/journal-line.ts";
import type { SegmentReader } from "#storage/journal/segment-reader.ts";
import type { JournalPosition } from "#storage/journal/segments.ts";
import { all, dialectOf, insert, run, type Script } from "#storage/sql/script.ts";

const OPEN_REQUESTS = {
  table: "open_request",
  columns: [
    ["lane", "integer"],
    ["sequence", "bigint"],
    ["begin_line", "bytea"],
  ],
} as const;

/**
 * The requests of a lane that have begun and not ended, as of the writer's position. Those that began in the current segment
 * are found in it again; those of segments before it stand in the table `open_request`. What a batch changes in that is
 * gathered until its transaction.
 */
export class OpenRequests {
  readonly #lane: number;
  readonly #requests = new Map<number, Begun>();
  /** Those of them that are kept in the table as well, because the position has left their segment. */
  readonly #stored = new Set<number>();
  #isEmptied = false;
  readonly #dropped: number[] = [];
  readonly #added = new Map<number, Uint8Array>();

  constructor(lane: number) {
    this.#lane = lane;
  }

  /** The lines of the begins that are stored, in the order in which they came. */
  *readStored(): Script<readonly Uint8Array[]> {
    const { toLane } = yield* dialectOf();
    const rows = yield* all<{ begin_line: Uint8Array }>(
      `SELECT begin_line FROM open_request WHERE ${toLane("open_request")} = ? ORDER BY sequence`,
      [this.#lane],
    );
    return rows.map((row) => row.begin_line);
  }

  /**
   * From `readStored`, whose lines come first, and the journal: what memory held before does not count. False when the
   * journal has lost lines before the position: ends may be among them.
   */
  reload(
    storedLines: readonly Uint8Array[],
    {
      reader,
      decoder,
      position,
    }: {
      readonly reader: SegmentReader;
      readonly decoder: JournalDecoder;
      readonly position: JournalPosition;
    },
  ): boolean {
    this.#clear();
    decoder.startSegment();
    for (const stored of storedLines) {
      const line = new LineCursor(Buffer.from(stored));
      while (line.next()) this.#recall(decoder, line, true);
    }
    return this.#recallSegment(reader, decoder, position);
  }

  /**
   * Ends those of a journal that has lost lines which are events already: a loss of power, or a copy of the folder, has taken
   * their ends. They would be cut off, and counted again.
   */
  *endRecorded(): Script<void> {
    const begins = [...this.#requests].filter(([sequence]) => !this.#stored.has(sequence));
    const arrivals = begins.map(([, { arrivedAtUs }]) => arrivedAtUs);
    const recorded = yield* findRecorded(this.#lane, arrivals);
    for (const [sequence, { arrivedAtUs }] of begins) if (recorded.has(arrivedAtUs)) this.end(sequence);
  }

  /** Stores what has changed. Begins are added last: they are those that are open when a batch ends. */
  *store(): Script<void> {
    const { isAnyOf, toLane } = yield* dialectOf();
    const ofLane = `DELETE FROM open_request WHERE ${toLane("open_request")} = ?`;
    if (this.#isEmptied) yield* run(ofLane, [this.#lane]);
    else if (this.#dropped.length > 0)
      yield* run(`${ofLane} AND ${isAnyOf("sequence", "number")}`, [this.#lane, this.#dropped]);
    yield* insert(
      OPEN_REQUESTS,
      [...this.#added].map(([sequence, beginLine]) => [this.#lane, sequence, beginLine]),
    );
  }

  /** Forgets what had changed: it is committed, or was rolled back. */
  forgetChanges(): void {
    this.#isEmptied = false;
    this.#dropped.length = 0;
    this.#added.clear();
  }

  begin(sequence: number, begun: Begun): void {
    // A second begin tells what its answer told: the model, or that it is in the background. The first is gone.
    if (this.#stored.delete(sequence)) this.#dropped.push(sequence);
    this.#requests.set(sequence, begun);
  }

  /** True when a request is open that arrived then. */
  has(arrivedAtUs: InstantUs): boolean {
    for (const begun of this.#requests.values()) if (begun.arrivedAtUs === arrivedAtUs) return true;
    return false;
  }

  /** The begin of a request that has ended now; null when none is open under this number. */
  end(sequence: number): Begun | null {
    const begun = this.#requests.get(sequence);
    if (begun === undefined) return null;
    this.#requests.delete(sequence);
    if (this.#stored.delete(sequence)) this.#dropped.push(sequence);
    return begun;
  }

  /** All that are open, which are none afterwards. */
  takeAll(): readonly Begun[] {
    const begun = [...this.#requests.values()];
    this.#clear();
    this.#isEmptied = true;
    return begun;
  }

  /** Called for a batch with which the position leaves its segment. */
  leaveSegment(): void {
    for (const [sequence, begun] of this.#requests) {
      if (this.#stored.has(sequence)) continue;
      // Spelled out: what its number means is told by the segment that is left.
      const line = encodeJournalLine({ ...begun, kind: "begin", sequence });
      this.#added.set(sequence, Buffer.from(line));
      this.#stored.add(sequence);
    }
  }

  #clear(): void {
    this.#requests.clear();
    this.#stored.clear();
  }

  #recallSegment(reader: SegmentReader, decoder: JournalDecoder, until: JournalPosition): boolean {
    if (until.offsetBytes === 0) return true;
    for (const { from, lines, next } of reader.readOn(until.segment)) {
      const line = new LineCursor(lines);
      while (line.next()) {
        if (from.offsetBytes + line.start >= until.offsetBytes) return true;
        this.#recall(decoder, line, false);
      }
      if (from.offsetBytes + lines.length >= until.offsetBytes) return true;
      if (next.segment !== until.segment) return false;
      // Also without lines, where a buffer full was none.
      if (next.offsetBytes >= until.offsetBytes) return true;
    }
    return false;
  }

  #recall(decoder: JournalDecoder, line: JournalLine, isStored: boolean): void {
    const entry = decoder.decode(line);
    if (entry?.kind === "run") this.#clear();
    else if (entry?.kind === "begin") {
      this.#requests.set(entry.sequence, entry);
      if (isStored) this.#stored.add(entry.sequence);
    } else if (entry?.kind === "end") {
      this.#requests.delete(entry.sequence);
      this.#stored.delete(entry.sequence);
    }
  }
}

/** Which of some ids are events of a lane. */
export function* findRecorded(lane: number, ids: readonly InstantUs[]): Script<ReadonlySet<InstantUs>> {
  const { isAnyOfKeys, toLane } = yield* dialectOf();
  const rows = yield* all<{ id: number }>(
    `SELECT id FROM event WHERE ${toLane("event")} = ? AND ${isAnyOfKeys("id")}`,
    [lane, ids],
  );
  return new Set(rows.map(({ id }) => id));
}

/** The end of a request that was under way when its process was killed: its duration is unknown. */
export function toCutOff({ isBackground = false }: Begun): {
  readonly ending: UsageFigures;
  readonly manner: UsageManner;
} {
  return isBackground
    ? { ending: LEFT_PENDING, manner: LEFT_PENDING_MANNER }
    : { ending: CUT_OFF, manner: CUT_OFF_MANNER };
}

const CUT_OFF: UsageFigures = {
  statusCode: 502,
  outcome: "unreachable",
  errorKind: "interrupted",
  durationUs: 0,
  timeToFirstByteUs: null,
  usage: null,
  costPico: null,
  unpriced: false,
};
const CUT_OFF_MANNER: UsageManner = { ...CUT_OFF, shape: null, prices: {} };
/** Its provider works on. */
const LEFT_PENDING: UsageFigures = {
  ...CUT_OFF,
  statusCode: 200,
  outcome: "ok",
  errorKind: null,
  usage: PENDING_USAGE,
};
const LEFT_PENDING_MANNER: UsageManner = { ...LEFT_PENDING, shape: "pending", prices: {} };
