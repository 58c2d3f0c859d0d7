import { createGrowingBytes } from "./growing-bytes.ts";

/** One server-sent event with data (WHATWG HTML, section 9.2.6). */
export interface SseEvent {
  /** The event's name, or null when it has none. */
  readonly name: string | null;
  /** Its data lines, joined by line feeds. */
  readonly data: string;
}

export interface SseParser {
  /** Reads the next bytes, cut anywhere, and reports the events that they complete. The bytes are not kept. */
  push(bytes: Uint8Array): void;
  /** Reports the last event, which need not be terminated. */
  finish(): void;
}

/** Of one event. Audio and images come as lines of megabytes; an event past this is not reported, and those after it are. */
export const SSE_EVENT_BYTES_MAX = 16 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const DATA = [...new TextEncoder().encode("data")];
const EVENT = [...new TextEncoder().encode("event")];

/**
 * An incremental parser of `text/event-stream`: LF, CRLF and lone CR, also split across reads; one byte-order mark at the
 * start; one space after the colon; comments and fields other than `data` and `event` are ignored. Each byte is looked at
 * once and copied at most once or twice, however it is cut. Never throws.
 */
export function createSseParser(onEvent: (event: SseEvent) => void): SseParser {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const begunLine = createGrowingBytes(SSE_EVENT_BYTES_MAX);
  let isFirstLine = true;
  let endedWithCr = false;
  let name: string | null = null;
  let data: string | null = null;
  let dataBytes = 0;
  let tooLarge = false;

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
      if (start < bytes.length) begunLine.append(bytes.subarray(start));
    },
    finish() {
      if (!begunLine.isEmpty) endLine(new Uint8Array());
      dispatch();
    },
  };

  function endLine(lastPart: Uint8Array): void {
    const line = begunLine.take(lastPart);
    if (line === null) tooLarge = true;
    else takeLine(line);
  }

  function takeLine(lineWithMark: Uint8Array): void {
    const line =
      isFirstLine && startsWith(lineWithMark, BYTE_ORDER_MARK) ? lineWithMark.subarray(3) : lineWithMark;
    isFirstLine = false;
    if (line.length === 0) return dispatch();
    const colon = line.indexOf(COLON);
    const nameEnd = colon === -1 ? line.length : colon;
    const value = line.subarray(line[nameEnd + 1] === SPACE ? nameEnd + 2 : nameEnd + 1);
    if (nameEnd === DATA.length && startsWith(line, DATA)) takeData(value);
    else if (nameEnd === EVENT.length && startsWith(line, EVENT)) name = decoder.decode(value);
  }

  function takeData(value: Uint8Array): void {
    // In bytes, and the same however the stream was cut: what is metered must not depend on the network.
    dataBytes += value.length + 1;
    if (dataBytes > SSE_EVENT_BYTES_MAX) tooLarge = true;
    if (tooLarge) data = null;
    else data = data === null ? decoder.decode(value) : `${data}\n${decoder.decode(value)}`;
  }

  function dispatch(): void {
    const event = data === null || tooLarge ? null : { name, data };
    name = null;
    data = null;
    dataBytes = 0;
    tooLarge = false;
    if (event !== null) onEvent(event);
  }
}

function startsWith(line: Uint8Array, prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => line[index] === byte);
}
