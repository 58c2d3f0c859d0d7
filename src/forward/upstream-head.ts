import { isResponseDropped, namedByConnection } from "./headers.ts";
import type { Clock } from "#kernel/clock.ts";

/** Limit of a response's header names and values together. The runtime itself lets 600 KB of one header pass. */
export const RESPONSE_HEAD_BYTES_MAX = 64 * 1024;

/** A response whose head has come and whose body has not been touched. Its headers are read once. */
export class UpstreamHead {
  readonly kind = "head";
  readonly response: Response;
  /** Those of `response` itself, which keeps only what goes on to the caller: a copy costs 2 µs (measured). */
  readonly headers: Headers;
  readonly contentType: string | null;
  /** Whether a content type goes on to the caller. */
  readonly isTyped: boolean;
  readonly contentEncoding: string | null;
  readonly contentLength: string | null;
  /** What the head says of the body's length; null when it says nothing that counts (`toLength`). */
  readonly lengthBytes: number | null;
  readonly isRelayable: boolean;
  /** Where the connection counts once it is idle; null when it is not kept. */
  readonly warm: WarmConnections | null;

  constructor(response: Response, warm: WarmConnections | null) {
    const { status, headers } = response;
    const read = new ReadHead();
    headers.forEach((value, name) => {
      read.sizeBytes += name.length + value.length;
      if (name === "content-type") read.contentType = value;
      else if (name === "content-encoding") read.contentEncoding = value;
      else if (isResponseDropped(name)) {
        read.dropped.push(name);
        if (name === "content-length") read.length = value;
        else if (name === "connection") read.connection = value;
        else if (name === "transfer-encoding") read.isInChunks = true;
      }
    });
    // Asked for by the names that are there: `Connection` may name what is no name of a header.
    const named = namedByConnection(read.connection);
    if (named !== null) headers.forEach((_, name) => void (named.has(name) && read.dropped.push(name)));
    // Behind the reading, which would pass over the neighbour of a name that is deleted.
    for (const name of read.dropped) headers.delete(name);
    this.response = response;
    this.headers = headers;
    this.contentType = read.contentType;
    this.isTyped = read.contentType !== null && named?.has("content-type") !== true;
    this.contentEncoding = read.contentEncoding;
    this.contentLength = read.length;
    this.lengthBytes = read.isInChunks ? null : toLength(read.length);
    // A `Response` of ours cannot carry a status outside 200 to 599.
    this.isRelayable = status >= 200 && status <= 599 && read.sizeBytes <= RESPONSE_HEAD_BYTES_MAX;
    this.warm = read.connection?.toLowerCase() === "close" ? null : warm;
  }

  /** Call it when the body was read to its end: the connection counts as idle from then on. */
  readToEnd(): void {
    this.warm?.put();
  }
}

/** The length that a `content-length` tells; the runtime lets a repeated one pass, joined by a comma, which tells none. */
export function toLength(contentLength: string | null): number | null {
  return contentLength === null || !/^\d+$/.test(contentLength) ? null : Number(contentLength);
}

class ReadHead {
  sizeBytes = 0;
  contentType: string | null = null;
  contentEncoding: string | null = null;
  connection: string | null = null;
  length: string | null = null;
  isInChunks = false;
  readonly dropped: string[] = [];
}

/** Well below the time after which servers close an idle connection (node: 5 s). */
const WARM_MS_MAX = 1_000;
/** The runtime keeps so many idle connections (measured), so that a larger count would not be true. */
const WARM_COUNT_MAX = 64;

/**
 * Counts the upstream connections of a target that have just become idle. Timing the connect phase costs a request about
 * 11 µs of 65 (measured), and under load there is hardly ever one. A wrong count harms little: when the connection was
 * closed within the second after all, only the time to read bounds the new one.
 */
export class WarmConnections {
  readonly #clock: Clock;
  #count = 0;
  #untilMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True when a connection is there to be used, which is then no longer counted. */
  take(): boolean {
    if (this.#count === 0) return false;
    if (this.#clock.monotonicMs() > this.#untilMs) {
      this.#count = 0;
      return false;
    }
    this.#count -= 1;
    return true;
  }

  /** A response was read to its end, and its connection stays open. */
  put(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#count = nowMs > this.#untilMs ? 1 : Math.min(this.#count + 1, WARM_COUNT_MAX);
    this.#untilMs = nowMs + WARM_MS_MAX;
  }
}
