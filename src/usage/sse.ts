import { createGrowingBytes } from "./growing-bytes.ts";

/** One server-sent event with data (WHATWG HTML, section 9.2.6). */
export interface SseEvent {
  /** The event's name, or null when it has none. */
  readonly name: string | null;
  /** Its data lines, joined by line feeds. */
  readonly data: string;
}

/** Takes the data of one event that is too long to be kept. */
export interface LongData {
  /** The next bytes of the data, cut anywhere. They are not kept. */
  push(bytes: Uint8Array): void;
  /** The event is over; its name, or null when it has none. */
  finish(name: string | null): void;
}

export interface SseParser {
  /** Reads the next bytes, cut anywhere, and reports the events that they complete. The bytes are not kept. */
  push(bytes: Uint8Array): void;
  /** Reports the last event, which need not be terminated. */
  finish(): void;
}

export interface SseParserOptions {
  /** An event with a longer line, or with more data, is not kept in memory and not reported as a whole. At least 16. */
  readonly wholeBytesMax?: number;
  /** Asked once for each such event. Without it they are passed over. */
  readonly openLong?: () => LongData;
}

/** Audio and images come as lines of megabytes. */
export const SSE_EVENT_BYTES_MAX = 16 * 1024 * 1024;

const PASSED_OVER: LongData = { push: () => undefined, finish: () => undefined };

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const LINE_FEED = Uint8Array.of(LF);
const NOTHING = new Uint8Array();
const encoder = new TextEncoder();
const DATA = [...encoder.encode("data")];
const EVENT = [...encoder.encode("event")];

/**
 * An incremental parser of `text/event-stream`: LF, CRLF and lone CR, also split across reads; one byte-order mark at the
 * start; one space after the colon; comments and fields other than `data` and `event` are ignored. Each byte is looked at
 * once and copied at most once or twice, however it is cut, and whether an event is whole or long is a matter of its bytes
 * alone. Never throws.
 */
export function createSseParser(
  onEvent: (event: SseEvent) => void,
  { wholeBytesMax = SSE_EVENT_BYTES_MAX, openLong = () => PASSED_OVER }: SseParserOptions = {},
): SseParser {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const begunLine = createGrowingBytes(wholeBytesMax);
  /** Where the rest of a line goes that is too long to be kept. */
  let lineRest: LongData | null = null;
  let isFirstLine = true;
  let endedWithCr = false;
  let name: string | null = null;
  let data: string | null = null;
  let dataBytes = 0;
  /** Takes the data of an event that is too long, in place of `data`. */
  let long: LongData | null = null;

  return {
    push(bytes) {
      let start = endedWithCr && bytes[0] === LF ? 1 : 0;
      if (bytes.length > 0) endedWithCr = false;
      // Each is searched for again only when it was passed, so that a chunk without CR is searched for one only once.
      let nextLf = bytes.indexOf(LF, start);
      let nextCr = bytes.indexOf(CR, start);
      while (nextLf !== -1 || nextCr !== -1) {
        const isCr = nextLf === -1 || (nextCr !== -1 && nextCr < nextLf);
        const end = isCr ? nextCr : nextLf;
        endLine(bytes.subarray(start, end));
        start = end + 1;
        if (isCr && start === bytes.length) endedWithCr = true;
        if (isCr && bytes[start] === LF) start += 1;
        if (nextLf !== -1 && nextLf < start) nextLf = bytes.indexOf(LF, start);
        if (nextCr !== -1 && nextCr < start) nextCr = bytes.indexOf(CR, start);
      }
      if (start < bytes.length) goOn(bytes.subarray(start));
    },
    finish() {
      if (begunLine.sizeBytes > 0) endLine(NOTHING);
      dispatch();
    },
  };

  function endLine(lastPart: Uint8Array): void {
    if (isLong(lastPart)) goOn(lastPart);
    else takeLine(begunLine.take(lastPart) ?? NOTHING, false);
    lineRest = null;
  }

  function goOn(part: Uint8Array): void {
    if (!isLong(part)) return begunLine.append(part);
    if (lineRest !== null) return lineRest.push(part);
    // What is kept of it tells which field it is.
    const headEnd = wholeBytesMax - begunLine.sizeBytes;
    lineRest = takeLine(begunLine.take(part.subarray(0, headEnd)) ?? NOTHING, true);
    lineRest.push(part.subarray(headEnd));
  }

  function isLong(part: Uint8Array): boolean {
    return lineRest !== null || begunLine.sizeBytes + part.length > wholeBytesMax;
  }

  /** Takes a line, or the head of a long one, which is all that is kept of it; returns where the rest goes. */
  function takeLine(lineWithMark: Uint8Array, isHead: boolean): LongData {
    const line =
      isFirstLine && startsWith(lineWithMark, BYTE_ORDER_MARK) ? lineWithMark.subarray(3) : lineWithMark;
    isFirstLine = false;
    if (line.length === 0) dispatch();
    const colon = line.indexOf(COLON);
    const nameEnd = colon === -1 ? line.length : colon;
    const value = line.subarray(line[nameEnd + 1] === SPACE ? nameEnd + 2 : nameEnd + 1);
    if (nameEnd === DATA.length && startsWith(line, DATA)) return takeData(value, isHead);
    if (nameEnd === EVENT.length && startsWith(line, EVENT)) name = decoder.decode(value);
    return PASSED_OVER;
  }

  function takeData(value: Uint8Array, isHead: boolean): LongData {
    const isFirst = dataBytes === 0;
    // In bytes, and the same however the stream was cut: what is metered must not depend on the network.
    dataBytes += value.length + 1;
    if (long === null && !isHead && dataBytes <= wholeBytesMax) {
      data = data === null ? decoder.decode(value) : `${data}\n${decoder.decode(value)}`;
      return PASSED_OVER;
    }
    if (long === null) {
      long = openLong();
      if (data !== null) long.push(encoder.encode(data));
      data = null;
    }
    if (!isFirst) long.push(LINE_FEED);
    long.push(value);
    return long;
  }

  function dispatch(): void {
    const ended = { name, data, long };
    name = null;
    data = null;
    dataBytes = 0;
    long = null;
    if (ended.long !== null) ended.long.finish(ended.name);
    else if (ended.data !== null) onEvent({ name: ended.name, data: ended.data });
  }
}

function startsWith(line: Uint8Array, prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => line[index] === byte);
}
