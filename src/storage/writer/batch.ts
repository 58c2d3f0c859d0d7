import type { JournalChunk } from "#storage/journal/segment-reader.ts";
import type { JournalPosition } from "#storage/journal/segments.ts";
import type { Settlement } from "#usage/event.ts";
import type { JournalDecoder } from "#usage/journal-decoder.ts";
import { LineCursor } from "#usage/journal-line.ts";
import { type EndedEvent, toEnded } from "./ended-event.ts";
import { type OpenRequests, toCutOff } from "./open-requests.ts";

/** Lines that were skipped: counts only, never what they held. */
export interface Damage {
  readonly lines: number;
  readonly tornBytes: number;
}

/** What the lines of one read mean, up to its end or to the first watermark. */
export interface Batch {
  /** In the order in which they ended. */
  readonly events: readonly EndedEvent[];
  readonly settlements: readonly Settlement[];
  readonly watermark: number | null;
  readonly next: JournalPosition;
  readonly hasMore: boolean;
  readonly damage: Damage;
}

/** Reads the lines from a position on, and takes begins and ends into `open`. */
export function decodeBatch(
  chunk: JournalChunk,
  {
    from,
    decoder,
    open,
  }: { readonly from: JournalPosition; readonly decoder: JournalDecoder; readonly open: OpenRequests },
): Batch {
  if (from.offsetBytes === 0) decoder.startSegment();
  const events: EndedEvent[] = [];
  const settlements: Settlement[] = [];
  let damagedLines = 0;
  const line = new LineCursor(chunk.lines);
  while (line.next()) {
    const entry = decoder.decode(line);
    if (entry === null) {
      damagedLines += 1;
    } else if (entry.kind === "run") {
      // A new process began: what is open was cut off with the one before.
      for (const begun of open.takeAll()) {
        const { ending, manner } = toCutOff(begun);
        events.push(toEnded(begun, ending, manner));
      }
    } else if (entry.kind === "watermark") {
      // What follows belongs to the next transaction.
      const next = { segment: from.segment, offsetBytes: from.offsetBytes + line.end + 1 };
      const damage = { lines: damagedLines, tornBytes: 0 };
      return { events, settlements, watermark: entry.number, next, hasMore: true, damage };
    } else if (entry.kind === "begin") {
      open.begin(entry.sequence, entry.begun);
    } else if (entry.kind === "end") {
      const begun = open.end(entry.sequence);
      if (begun === null) damagedLines += 1;
      else events.push(toEnded(begun, entry.ending, entry.manner));
    } else if (entry.kind === "settle") {
      settlements.push(entry.settlement);
    }
  }
  if (chunk.next.segment !== from.segment) open.leaveSegment();
  const damage = { lines: damagedLines, tornBytes: chunk.tornBytes };
  return { events, settlements, watermark: null, next: chunk.next, hasMore: chunk.hasMore, damage };
}
