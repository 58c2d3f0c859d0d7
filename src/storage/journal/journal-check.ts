import { JournalDecoder } from "#usage/journal-decoder.ts";
import { LineCursor } from "#usage/journal-line.ts";
import { SegmentReader } from "./segment-reader.ts";
import type { JournalPosition } from "./segments.ts";

/** Eight segments; more waits only where the writer has been failing for long. */
const READ_BYTES_MAX = 64 * 1024 * 1024;

/**
 * How many lines of the journal, from the beginning of the position's segment on, are torn or damaged. The end of the last
 * segment may be a line that is being written and does not count.
 */
export function countDamagedLines(directory: string, { segment }: JournalPosition): number {
  const reader = new SegmentReader(directory);
  const decoder = new JournalDecoder();
  let damaged = 0;
  let readBytes = 0;
  try {
    let at: JournalPosition = { segment, offsetBytes: 0 };
    for (;;) {
      const chunk = reader.read(at);
      if (at.offsetBytes === 0) decoder.startSegment();
      readBytes += chunk.lines.length;
      const line = new LineCursor(chunk.lines);
      while (line.next()) {
        if (decoder.decode(line) === null) damaged += 1;
      }
      if (chunk.tornBytes > 0) damaged += 1;
      if (!chunk.hasMore || readBytes > READ_BYTES_MAX) return damaged;
      at = chunk.next;
    }
  } finally {
    reader.close();
  }
}
