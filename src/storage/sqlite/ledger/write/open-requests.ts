import type { Database, Statement } from "bun:sqlite";
import type { Begun, JournalDecoder } from "#usage/journal-decoder.ts";
import {
  type JournalLine,
  type UsageFigures,
  type UsageManner,
  encodeJournalLine,
  LineCursor,
} from "#usage/journal-line.ts";
import type { SegmentReader } from "#storage/ledger/journal/segment-reader.ts";
import type { JournalPosition } from "#storage/ledger/journal/segments.ts";

interface OpenRequest {
  readonly begun: Begun;
  /** Kept in the table as well, because its segment is gone. */
  isStored: boolean;
}

/**
 * The requests that have begun and not ended, as of the writer's position. Those that began in the current segment are
 * found in it again; those of segments before it stand in the table `open_request`.
 */
export class OpenRequests {
  readonly #database: Database;
  readonly #store: Statement<unknown, [number, Uint8Array]>;
  readonly #drop: Statement<unknown, [number]>;
  readonly #requests = new Map<number, OpenRequest>();

  constructor(database: Database) {
    this.#database = database;
    this.#store = database.prepare("INSERT INTO open_request (sequence, begin_line) VALUES (?, ?)");
    this.#drop = database.prepare("DELETE FROM open_request WHERE sequence = ?");
  }

  /** From the file alone: what memory held before does not count. */
  reload(reader: SegmentReader, decoder: JournalDecoder, position: JournalPosition): void {
    this.#requests.clear();
    decoder.startSegment();
    const rows = this.#database
      .query<{ begin_line: Uint8Array }, []>("SELECT begin_line FROM open_request")
      .all();
    for (const { begin_line: stored } of rows) {
      const line = new LineCursor(Buffer.from(stored));
      while (line.next()) this.#recall(decoder, line, true);
    }
    this.#recallSegment(reader, decoder, position);
  }

  begin(sequence: number, begun: Begun): void {
    this.#requests.set(sequence, { begun, isStored: false });
  }

  /** The begin of a request that has ended now; null when none is open under this number. */
  end(sequence: number): Begun | null {
    const request = this.#requests.get(sequence);
    if (request === undefined) return null;
    this.#requests.delete(sequence);
    if (request.isStored) this.#drop.run(sequence);
    return request.begun;
  }

  /** All that are open, which are none afterwards. */
  takeAll(): readonly Begun[] {
    const begun = [...this.#requests.values()].map((request) => request.begun);
    this.#requests.clear();
    this.#database.run("DELETE FROM open_request");
    return begun;
  }

  /** Called in the transaction in which the position leaves a segment. */
  storeAll(): void {
    for (const [sequence, request] of this.#requests) {
      if (request.isStored) continue;
      // Spelled out: the segment that its number belongs to will be gone.
      this.#store.run(
        sequence,
        Buffer.from(encodeJournalLine({ kind: "begin", sequence, ...request.begun })),
      );
      request.isStored = true;
    }
  }

  #recallSegment(reader: SegmentReader, decoder: JournalDecoder, until: JournalPosition): void {
    const { segment, offsetBytes } = until;
    let at: JournalPosition = { segment, offsetBytes: 0 };
    while (at.segment === segment && at.offsetBytes < offsetBytes) {
      const chunk = reader.read(at);
      const line = new LineCursor(chunk.lines);
      while (line.next()) {
        if (at.offsetBytes + line.start >= offsetBytes) return;
        this.#recall(decoder, line, false);
      }
      if (chunk.next.segment === segment && chunk.next.offsetBytes === at.offsetBytes) return;
      at = chunk.next;
    }
  }

  #recall(decoder: JournalDecoder, line: JournalLine, isStored: boolean): void {
    const entry = decoder.decode(line);
    if (entry?.kind === "run") this.#requests.clear();
    else if (entry?.kind === "begin") this.#requests.set(entry.sequence, { begun: entry.begun, isStored });
    else if (entry?.kind === "end") this.#requests.delete(entry.sequence);
  }
}

/** The end of a request that was under way when its process was killed: its duration is unknown. */
export const CUT_OFF: UsageFigures = {
  statusCode: 502,
  outcome: "unreachable",
  errorKind: "interrupted",
  durationUs: 0,
  timeToFirstByteUs: null,
  usage: null,
  costPico: null,
  unpriced: false,
};
export const CUT_OFF_MANNER: UsageManner = { ...CUT_OFF, shape: null, prices: {} };
