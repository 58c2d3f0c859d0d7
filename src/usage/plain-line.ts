import { type JournalLine, CHECKSUM_BYTES } from "./journal-line.ts";

/**
 * The lines of most begins and ends: a mark and whole numbers, each behind a space. A number that is absent is a `-`, and is
 * left out at the end of a line. They are written and read on their bytes, without texts and objects in between:
 * `b <sequence> <arrivedAtUs> <number of its dimensions> <streamed: 0 or 1>`
 * `e <sequence> <number of its manner> <durationUs> <timeToFirstByteUs> <costPico> <quantity>…`, in the order of UNITS.
 */
export const BEGIN_MARK = 0x62;
export const END_MARK = 0x65;

const NEWLINE = 0x0a;
const SPACE = 0x20;
const MINUS = 0x2d;
const ZERO = 0x30;
/** A space and the digits of the largest safe integer. */
const NUMBER_BYTES_MAX = 17;
const HEX = Buffer.from("0123456789abcdef");
const LOW = 1e9;
const LOW_DIGITS = 9;

/** True when a plain line can say it. */
export function isPlain(value: number | null | undefined): boolean {
  return value === null || value === undefined || (Number.isSafeInteger(value) && value >= 0);
}

/** One line of numbers that are plain. */
export function appendPlainLine(
  lines: LineBuffer,
  mark: number,
  numbers: readonly (number | null | undefined)[],
): void {
  let count = numbers.length;
  while (count > 0 && (numbers[count - 1] ?? null) === null) count -= 1;
  lines.reserve(CHECKSUM_BYTES + 2 + count * NUMBER_BYTES_MAX);
  const { bytes, sizeBytes: start } = lines;
  let at = start + CHECKSUM_BYTES;
  bytes[at] = mark;
  at += 1;
  for (let index = 0; index < count; index += 1) {
    const number = numbers[index] ?? null;
    bytes[at] = SPACE;
    at += 1;
    if (number === null) {
      bytes[at] = MINUS;
      at += 1;
    } else {
      at = putNumber(bytes, at, number);
    }
  }
  let sum = Bun.hash.crc32(bytes.subarray(start + CHECKSUM_BYTES, at));
  for (let digit = CHECKSUM_BYTES - 2; digit >= 0; digit -= 1) {
    bytes[start + digit] = HEX[sum & 15] ?? 0;
    sum >>>= 4;
  }
  bytes[start + CHECKSUM_BYTES - 1] = SPACE;
  bytes[at] = NEWLINE;
  lines.sizeBytes = at + 1;
}

/** Reads the numbers of a line with a mark into `into` and returns their count; -1 when there is something else. */
export function readPlainNumbers({ bytes, start, end }: JournalLine, into: (number | null)[]): number {
  let count = 0;
  let at = start + CHECKSUM_BYTES + 1;
  while (at < end) {
    if (bytes[at] !== SPACE) return -1;
    at += 1;
    if (bytes[at] === MINUS) {
      into[count] = null;
      at += 1;
    } else {
      const first = at;
      let number = 0;
      for (let digit = digitAt(bytes, at); at < end && digit >= 0 && digit <= 9; digit = digitAt(bytes, at)) {
        number = number * 10 + digit;
        at += 1;
      }
      if (at === first) return -1;
      into[count] = number;
    }
    count += 1;
  }
  return count;
}

function digitAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) - ZERO;
}

/** Puts the digits down and returns the position behind them. */
function putNumber(bytes: Buffer, at: number, number: number): number {
  if (number < LOW) return putDigits(bytes, at + countDigits(number), number);
  const high = Math.floor(number / LOW);
  const seam = putDigits(bytes, at + countDigits(high), high);
  const end = seam + LOW_DIGITS;
  bytes.fill(ZERO, seam, end);
  return putDigits(bytes, end, number - high * LOW);
}

/** Below `LOW`, which an INTEGER of the machine holds. Puts the digits before `end` and returns `end`. */
function putDigits(bytes: Buffer, end: number, number: number): number {
  let at = end;
  let rest = number | 0;
  do {
    const tenth = (rest / 10) | 0;
    at -= 1;
    bytes[at] = ZERO + rest - tenth * 10;
    rest = tenth;
  } while (rest > 0);
  return end;
}

function countDigits(number: number): number {
  let count = 1;
  for (let bound = 10; number >= bound; bound *= 10) count += 1;
  return count;
}

/** Lines behind one another, in memory that is used again. */
export class LineBuffer {
  readonly #roomBytes: number;
  /** The first `sizeBytes` of it are lines; what a caller of `reserve` puts behind them counts when it has grown the size. */
  bytes: Buffer;
  sizeBytes = 0;

  constructor(roomBytes: number) {
    this.#roomBytes = roomBytes;
    this.bytes = Buffer.allocUnsafe(roomBytes);
  }

  /** Makes room for so many bytes more. */
  reserve(sizeBytes: number): void {
    const needed = this.sizeBytes + sizeBytes;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.sizeBytes));
    this.bytes = larger;
  }

  append(line: Uint8Array | string): void {
    const added = typeof line === "string" ? Buffer.from(line) : line;
    this.reserve(added.length);
    this.bytes.set(added, this.sizeBytes);
    this.sizeBytes += added.length;
  }

  /** Takes out the first bytes. Once it is empty, memory beyond its room is given back. */
  drop(sizeBytes: number): void {
    this.bytes.copyWithin(0, sizeBytes, this.sizeBytes);
    this.sizeBytes -= sizeBytes;
    if (this.sizeBytes === 0 && this.bytes.length > this.#roomBytes)
      this.bytes = Buffer.allocUnsafe(this.#roomBytes);
  }
}
