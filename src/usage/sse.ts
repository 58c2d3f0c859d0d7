import { type GrowingBytes, createGrowingBytes } from "./growing-bytes.ts";

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

/** Where the events of one stream go. */
export interface SseSink {
  take(event: SseEvent): void;
  /**
   * True when an event whose data is `bytes` from `from` up to `to` may be passed over, so that no text is made of it. Asked only
   * where the whole event is at hand: it makes no difference to what is taken in the end.
   */
  isSilent?(name: string | null, bytes: Uint8Array, from: number, to: number): boolean;
  /** Asked once for each event that is too long to be kept. Without it they are passed over. */
  openLong?(): LongData;
}

export interface SseParser {
  /** Reads the next bytes, cut anywhere, and reports the events that they complete. The bytes are not kept. */
  push(bytes: Uint8Array): void;
  /** Reports the last event, which need not be terminated. */
  finish(): void;
}

/** Audio and images come as lines of megabytes. */
export const SSE_EVENT_BYTES_MAX = 16 * 1024 * 1024;

const PASSED_OVER: LongData = { push: () => undefined, finish: () => undefined };

const LF = 0x0a;
const CR = 0x0d;
const BYTE_ORDER_MARK = Uint8Array.of(0xef, 0xbb, 0xbf);
const LINE_FEED = Uint8Array.of(LF);
const NOTHING = new Uint8Array();
const encoder = new TextEncoder();
/** One for all streams: it keeps nothing between two texts. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const DATA = encoder.encode("data");
const EVENT = encoder.encode("event");

/**
 * An incremental parser of `text/event-stream`: LF, CRLF and lone CR, also split across reads; one byte-order mark at the
 * start; one space after the colon; comments and fields other than `data` and `event` are ignored. Each byte is looked at
 * once and copied at most once or twice, however it is cut, and whether an event is whole or long is a matter of its bytes
 * alone. An event with a line longer than `wholeBytesMax`, at least 16, or with more data, is long. Never throws.
 */
export function createSseParser(sink: SseSink, wholeBytesMax = SSE_EVENT_BYTES_MAX): SseParser {
  return new LineParser(sink, wholeBytesMax);
}

/** A class, since thousands of streams are open at once: as closures, this and the meter took 1.6 KB a stream, and take 0.2 (measured). */
class LineParser implements SseParser {
  readonly #sink: SseSink;
  readonly #wholeBytesMax: number;
  #isFirstLine = true;
  #endedWithCr = false;
  /** A line that began in an earlier read. */
  #begunLine: GrowingBytes | null = null;
  /** Where the rest of a line goes that is too long to be kept. */
  #lineRest: LongData | null = null;
  #name: string | null = null;
  /** The name of an event before, since few differ. */
  #lastName = "";
  #data: string | null = null;
  #dataBytes = 0;
  /** Takes the data of an event that is too long, in place of `data`. */
  #long: LongData | null = null;

  constructor(sink: SseSink, wholeBytesMax: number) {
    this.#sink = sink;
    this.#wholeBytesMax = wholeBytesMax;
  }

  push(bytes: Uint8Array): void {
    let start = this.#endedWithCr && bytes[0] === LF ? 1 : 0;
    if (bytes.length > 0) this.#endedWithCr = bytes[bytes.length - 1] === CR;
    // Each is searched for again only when it was passed, so that a chunk without CR is searched for one only once.
    let nextLf = bytes.indexOf(LF, start);
    let nextCr = bytes.indexOf(CR, start);
    while (nextLf !== -1 || nextCr !== -1) {
      const isCr = nextLf === -1 || (nextCr !== -1 && nextCr < nextLf);
      const end = isCr ? nextCr : nextLf;
      let next = end + 1;
      if (isCr && bytes[next] === LF) next += 1;
      if (end === start && this.#isBetweenEvents()) next = this.#passLineEnds(bytes, next);
      else this.#endLine(bytes, start, end, bytes[next] === LF || bytes[next] === CR);
      start = next;
      if (nextLf !== -1 && nextLf < start) nextLf = findNext(bytes, LF, start);
      if (nextCr !== -1 && nextCr < start) nextCr = findNext(bytes, CR, start);
    }
    if (start < bytes.length) this.#goOn(bytes.subarray(start));
  }

  finish(): void {
    if (this.#hasBegunLine()) this.#endLine(NOTHING, 0, 0, false);
    this.#dispatch();
  }

  /** True when an empty line would end nothing. */
  #isBetweenEvents(): boolean {
    const hasEvent = this.#name !== null || this.#dataBytes > 0;
    return !hasEvent && this.#lineRest === null && !this.#hasBegunLine();
  }

  /** Compressed, a hundred bytes can stand for millions of empty lines: they are passed at a nanosecond each. */
  #passLineEnds(bytes: Uint8Array, from: number): number {
    this.#isFirstLine = false;
    let at = from;
    while (bytes[at] === LF || bytes[at] === CR) at += 1;
    return at;
  }

  #hasBegunLine(): boolean {
    return this.#begunLine !== null && this.#begunLine.sizeBytes > 0;
  }

  #endLine(bytes: Uint8Array, from: number, to: number, endsEvent: boolean): void {
    if (this.#lineRest === null && !this.#hasBegunLine() && to - from <= this.#wholeBytesMax) {
      this.#takeLine(bytes, from, to, endsEvent);
      return;
    }
    const lastPart = bytes.subarray(from, to);
    if (this.#isLong(lastPart)) {
      this.#goOn(lastPart);
      this.#lineRest = null;
    } else {
      const line = this.#getBegunLine().take(lastPart) ?? NOTHING;
      // Most reads end with a line, so that the next one that does not may be long in coming.
      this.#begunLine = null;
      this.#takeLine(line, 0, line.length, endsEvent);
    }
  }

  #goOn(part: Uint8Array): void {
    if (this.#lineRest !== null) return this.#lineRest.push(part);
    const begunLine = this.#getBegunLine();
    if (!this.#isLong(part)) return begunLine.append(part);
    // The kept prefix is long enough to recognize the field.
    const headEnd = this.#wholeBytesMax - begunLine.sizeBytes;
    const head = begunLine.take(part.subarray(0, headEnd)) ?? NOTHING;
    this.#lineRest = this.#takeHead(head);
    this.#lineRest.push(part.subarray(headEnd));
  }

  #isLong(part: Uint8Array): boolean {
    return this.#lineRest !== null || this.#getBegunLine().sizeBytes + part.length > this.#wholeBytesMax;
  }

  #getBegunLine(): GrowingBytes {
    return (this.#begunLine ??= createGrowingBytes(this.#wholeBytesMax));
  }

  /** `endsEvent`: an empty line is known to follow. */
  #takeLine(bytes: Uint8Array, lineFrom: number, to: number, endsEvent: boolean): void {
    const from = this.#passMark(bytes, lineFrom, to);
    if (from === to) return this.#dispatch();
    if (isField(DATA, bytes, from, to)) {
      const valueFrom = findValue(bytes, from + DATA.length, to);
      const isWhole = endsEvent && this.#dataBytes === 0 && to - valueFrom < this.#wholeBytesMax;
      if (isWhole && this.#sink.isSilent?.(this.#name, bytes, valueFrom, to) === true) return;
      this.#takeData(bytes.subarray(valueFrom, to), false);
    } else if (isField(EVENT, bytes, from, to)) {
      this.#name = this.#toName(bytes, findValue(bytes, from + EVENT.length, to), to);
    }
  }

  /** Takes the head of a line that is too long to be kept; returns where the rest goes. */
  #takeHead(head: Uint8Array): LongData {
    const from = this.#passMark(head, 0, head.length);
    if (isField(DATA, head, from, head.length))
      return this.#takeData(head.subarray(findValue(head, from + DATA.length, head.length)), true);
    if (isField(EVENT, head, from, head.length))
      this.#name = this.#toName(head, findValue(head, from + EVENT.length, head.length), head.length);
    return PASSED_OVER;
  }

  /** Where the line begins behind a byte-order mark, which only the first one may have. */
  #passMark(bytes: Uint8Array, from: number, to: number): number {
    const isFirst = this.#isFirstLine;
    this.#isFirstLine = false;
    return isFirst && startsWith(BYTE_ORDER_MARK, bytes, from, to) ? from + BYTE_ORDER_MARK.length : from;
  }

  #takeData(value: Uint8Array, isHead: boolean): LongData {
    const isFirst = this.#dataBytes === 0;
    // In bytes, and the same however the stream was cut: what is metered must not depend on the network.
    this.#dataBytes += value.length + 1;
    if (this.#long === null && !isHead && this.#dataBytes <= this.#wholeBytesMax) {
      const text = decoder.decode(value);
      this.#data = this.#data === null ? text : `${this.#data}\n${text}`;
      return PASSED_OVER;
    }
    if (this.#long === null) {
      this.#long = this.#sink.openLong?.() ?? PASSED_OVER;
      if (this.#data !== null) this.#long.push(encoder.encode(this.#data));
      this.#data = null;
    }
    if (!isFirst) this.#long.push(LINE_FEED);
    this.#long.push(value);
    return this.#long;
  }

  #toName(bytes: Uint8Array, from: number, to: number): string {
    if (!isText(this.#lastName, bytes, from, to)) this.#lastName = decoder.decode(bytes.subarray(from, to));
    return this.#lastName;
  }

  #dispatch(): void {
    const name = this.#name;
    const data = this.#data;
    const long = this.#long;
    this.#name = null;
    this.#data = null;
    this.#dataBytes = 0;
    this.#long = null;
    if (long !== null) long.finish(name);
    else if (data !== null) this.#sink.take({ name, data });
  }
}

function findNext(bytes: Uint8Array, byte: number, from: number): number {
  return bytes[from] === byte ? from : bytes.indexOf(byte, from);
}

const SPACE = 0x20;
const COLON = 0x3a;

/** True when the line has this field: its name ends with a colon or with the line. */
function isField(name: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  const nameEnd = from + name.length;
  return startsWith(name, bytes, from, to) && (nameEnd === to || bytes[nameEnd] === COLON);
}

/** Where the value of a field begins whose name ends at `nameEnd`. */
export function findValue(bytes: Uint8Array, nameEnd: number, to: number): number {
  const from = Math.min(nameEnd + 1, to);
  return from < to && bytes[from] === SPACE ? from + 1 : from;
}

export function startsWith(prefix: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from < prefix.length) return false;
  for (let index = 0; index < prefix.length; index += 1)
    if (bytes[from + index] !== prefix[index]) return false;
  return true;
}

/** True when the bytes are this text and ASCII. */
export function isText(text: string, bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from !== text.length) return false;
  for (let index = 0; index < text.length; index += 1) {
    const byte = bytes[from + index] ?? 0;
    if (byte > 0x7f || byte !== text.charCodeAt(index)) return false;
  }
  return true;
}
