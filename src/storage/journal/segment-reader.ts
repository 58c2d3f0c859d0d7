import { closeSync, openSync, readSync } from "node:fs";
import { findFileIdentity, toFileIdentity } from "#storage/files/file-watch.ts";
import { JournalDecoder } from "#usage/journal-decoder.ts";
import { LineCursor } from "#usage/journal-line.ts";
import { type JournalPosition, RESERVED, countWritten, listSegments, segmentPath } from "./segments.ts";

/**
 * One read, and so at most one transaction's worth of lines: some 2,500 events, which hold a core for about 10 ms. No line
 * comes near it: a path is at most 16 KiB.
 */
export const READ_BYTES_MAX = 256 * 1024;

const NEWLINE = 0x0a;

export interface JournalChunk {
  /** Complete lines, valid until the next read. */
  readonly lines: Buffer;
  /** Where to read on. Equal to where this read began when there is nothing new. */
  readonly next: JournalPosition;
  /** Bytes skipped that do not form a line: the torn end of a segment. */
  readonly tornBytes: number;
  /** False when everything there was at the time of the call has been read. */
  readonly hasMore: boolean;
}

/** Reads complete lines of the journal from a position on, while another thread may be appending. */
export class SegmentReader {
  readonly #directory: string;
  readonly #buffer: Buffer;
  #open: { readonly segment: number; readonly fd: number; readonly file: string } | null = null;

  constructor(directory: string, readBytesMax = READ_BYTES_MAX) {
    this.#directory = directory;
    this.#buffer = Buffer.alloc(readBytesMax);
  }

  /** `isLive`: lines may still come into the segment although another one follows. */
  read(from: JournalPosition, isLive = false): JournalChunk {
    // Listed before the read: a following segment is made only after the last write to this one.
    const following = listSegments(this.#directory).filter((segment) => segment >= from.segment);
    const isListed = following[0] === from.segment;
    // Also without a name: its lines are gone with the last that has it open.
    const isPresent = isListed || this.#open?.segment === from.segment;
    const nextSegment = isLive ? undefined : following[isListed ? 1 : 0];
    const read = isPresent ? this.#readBytes(from) : this.#buffer.subarray(0, 0);
    // Where lines still come in, the rest may be a line that is being written. Elsewhere a gap is what a loss of power left.
    const bytes = nextSegment === undefined ? untilReserved(read) : read;
    const lines = bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);
    const rest = bytes.subarray(lines.length);
    const isFilled = bytes.length === this.#buffer.length;
    if (lines.length === 0 && isFilled) {
      // A buffer full without a line feed is no line of ours.
      const offsetBytes = from.offsetBytes + rest.length;
      return { lines, next: { ...from, offsetBytes }, tornBytes: countWritten(rest), hasMore: true };
    }
    if (nextSegment !== undefined && !isFilled) {
      const next = { segment: nextSegment, offsetBytes: 0 };
      return { lines, next, tornBytes: countWritten(rest), hasMore: true };
    }
    const offsetBytes = from.offsetBytes + lines.length;
    return { lines, next: { ...from, offsetBytes }, tornBytes: 0, hasMore: isFilled };
  }

  /** Reads from the beginning of a segment on, until the end of what there is. */
  *readOn(segment: number): Generator<JournalChunk & { readonly from: JournalPosition }> {
    for (let [from, hasMore] = [{ segment, offsetBytes: 0 }, true]; hasMore;) {
      const chunk = this.read(from);
      yield { ...chunk, from };
      ({ next: from, hasMore } = chunk);
    }
  }

  close(): void {
    if (this.#open !== null) closeSync(this.#open.fd);
    this.#open = null;
  }

  #openSegment(segment: number): number {
    const path = segmentPath(this.#directory, segment);
    if (this.#open?.segment === segment) {
      // Put back under its name it is another file, with the same lines.
      const file = findFileIdentity(path);
      if (file === null || file === this.#open.file) return this.#open.fd;
    }
    this.close();
    const fd = openSync(path, "r");
    this.#open = { segment, fd, file: toFileIdentity(fd) };
    return fd;
  }

  #readBytes(from: JournalPosition): Buffer {
    const fd = this.#openSegment(from.segment);
    let length = 0;
    while (length < this.#buffer.length) {
      const read = readSync(
        fd,
        this.#buffer,
        length,
        this.#buffer.length - length,
        from.offsetBytes + length,
      );
      if (read === 0) break;
      length += read;
    }
    return this.#buffer.subarray(0, length);
  }
}

function untilReserved(bytes: Buffer): Buffer {
  const end = bytes.indexOf(RESERVED);
  return end === -1 ? bytes : bytes.subarray(0, end);
}

/** Eight segments; more waits only where the writer has been failing for long. */
const CHECKED_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Counts lines of the journal, from the beginning of the position's segment on, that are torn or damaged. The end of the last
 * segment may be a line that is being written and does not count.
 */
export function countDamagedLines(directory: string, { segment }: JournalPosition): number {
  const reader = new SegmentReader(directory);
  const decoder = new JournalDecoder();
  let damaged = 0;
  let readBytes = 0;
  try {
    for (const { from, lines, tornBytes } of reader.readOn(segment)) {
      if (from.offsetBytes === 0) decoder.startSegment();
      const line = new LineCursor(lines);
      while (line.next()) if (decoder.decode(line) === null) damaged += 1;
      if (tornBytes > 0) damaged += 1;
      readBytes += lines.length;
      if (readBytes > CHECKED_BYTES_MAX) break;
    }
    return damaged;
  } finally {
    reader.close();
  }
}
