import type { Provider } from "#catalog/provider.ts";
import type { Cancellation } from "#kernel/cancellation.ts";
import type { Clock } from "#kernel/clock.ts";
import { type ConnectionFailure, systemCode, toConnectionFailure } from "#kernel/system-code.ts";
import type { TransportError } from "#usage/event.ts";
import { isResponseDropped, namedByConnection } from "./headers.ts";

export type UpstreamBody = Uint8Array | BodySource | null;

type TlsSettings = Pick<Provider, "verifyTls" | "caPem">;

/** A URL that is called, the TLS settings of the calls, and the count of idle connections to its host. */
export interface UpstreamTarget {
  readonly url: string;
  readonly connectMs: number;
  readonly tls: ReturnType<typeof tlsOptions>;
  readonly warm: WarmConnections;
}

export interface UpstreamRequest {
  readonly method: string;
  readonly target: UpstreamTarget;
  /** The address, below the target's own. */
  readonly url: string;
  /** Includes the body's length, where it is known. */
  readonly headers: Headers;
  /** A part of a larger buffer has been copied when the call returns: it may be another from then on. */
  readonly body: UpstreamBody;
  /** Cutting it closes the connection in every phase, also while the body of the response is being read. */
  readonly cancellation: Cancellation;
  /** The longest time for the head of the response, from when the connection stands, and from each piece of a `BodySource`. */
  readonly headMs: number;
  /** The moment, of the monotonic clock, that bounds all of it; null: none. */
  readonly untilMs: number | null;
  /** Told by the call itself: true once its connection stands. */
  isConnected?: boolean;
}

/** The failure that kept an upstream's answer from coming whole. */
export interface Breach {
  /** Its class, which the caller is told as well. */
  readonly error: TransportError;
  /** Why, where that is known: for the operator alone. */
  readonly failure?: ConnectionFailure | undefined;
}

/** A head, or what went wrong. When the caller hung up that means nothing. */
export type UpstreamAnswer = UpstreamHead | FailedCall;

interface FailedCall extends Breach {
  readonly kind: "failed";
  /** False when it is known that no byte of the request has left: no connection came to stand. */
  readonly isSent: boolean;
}

/**
 * The runtime sends these a second time by itself when a connection that was kept open breaks before the answer (seen;
 * RFC 9110, section 9.2.2, allows it). Each gets a connection of its own, so that nothing is sent twice.
 */
const RESENT_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);

export class Upstream {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  openTarget(url: string, provider: TlsSettings & Pick<Provider, "timeoutConnectSeconds">): UpstreamTarget {
    return {
      url,
      connectMs: provider.timeoutConnectSeconds * 1000,
      tls: tlsOptions(provider),
      warm: new WarmConnections(this.#clock),
    };
  }

  /**
   * One request, and at most one: nothing is retried or followed, and no byte is decoded. Never throws: what the network
   * says holds URLs, and only its class goes on.
   */
  async call(request: UpstreamRequest): Promise<UpstreamAnswer> {
    try {
      return this.toAnswer(request, await this.send(request));
    } catch (cause) {
      return toFailedCall(request, cause);
    }
  }

  /** `call` in its steps, for a function that waits itself: whatever this throws, or rejects with, is for `toFailedCall`. */
  send(request: UpstreamRequest): Promise<Response> {
    const { method, target, url, headers, body, cancellation } = request;
    const isKept = isKeptOpen(request);
    const isWarm = isKept && target.warm.take();
    const headMs = this.#toHeadMs(request);
    // Without a body nothing tells when the connection stands: one limit for both.
    const coldMs = body === null ? target.connectMs + headMs : Math.min(target.connectMs, headMs);
    cancellation.arm(isWarm ? headMs : coldMs);
    request.isConnected = isWarm;
    return fetch(url, {
      method,
      headers,
      keepalive: isKept,
      body: isWarm && body instanceof Uint8Array ? body : this.#toBody(request),
      // By default a compressed body is decoded while its headers stay, and a redirect resends the credential elsewhere.
      decompress: false,
      redirect: "manual",
      // The runtime's own timer is coarse and does not run while connecting.
      timeout: false,
      signal: cancellation.signal,
      ...target.tls,
    });
  }

  toAnswer(request: UpstreamRequest, response: Response): UpstreamAnswer {
    const head = new UpstreamHead(response, isKeptOpen(request) ? request.target.warm : null);
    if (head.isRelayable) return head;
    response.body?.cancel().catch(() => undefined);
    return { kind: "failed", error: "connection_error", failure: "malformed", isSent: true };
  }

  #toHeadMs({ headMs, untilMs }: UpstreamRequest): number {
    return untilMs === null ? headMs : untilMs - this.#clock.monotonicMs();
  }

  /** A body that tells when its connection stands. */
  #toBody(request: UpstreamRequest): ReadableStream<Uint8Array> | null {
    const { body, cancellation } = request;
    if (body === null) return null;
    const onMoved = () => {
      request.isConnected = true;
      cancellation.arm(this.#toHeadMs(request));
    };
    if (!(body instanceof Uint8Array)) return toStreamedBody(body, onMoved);
    const isPart = body.length < body.buffer.byteLength;
    return toConnectedBody(isPart ? new Uint8Array(body) : body, onMoved);
  }
}

function isKeptOpen({ method }: UpstreamRequest): boolean {
  return !RESENT_METHODS.has(method);
}

export function toFailedCall(
  { body, cancellation, isConnected }: UpstreamRequest,
  cause: unknown,
): FailedCall {
  // Without a body nothing tells whether the connection stood.
  const isSent = isConnected === true || body === null;
  if (cancellation.cause !== "timeout")
    return {
      kind: "failed",
      error: "connection_error",
      failure: toConnectionFailure(systemCode(cause)),
      isSent,
    };
  const failure = isConnected === true ? "read_timeout" : body === null ? undefined : "connect_timeout";
  return { kind: "failed", error: "timeout", failure, isSent };
}

/** Connections with different settings never share a pool (measured: docs/decisions.md). */
export function tlsOptions({ verifyTls, caPem }: TlsSettings): {
  tls?: { rejectUnauthorized: boolean; ca?: string };
} {
  if (verifyTls && caPem === null) return {};
  return { tls: { rejectUnauthorized: verifyTls, ...(caPem === null ? {} : { ca: caPem }) } };
}

/** Limit of a response's header names and values together. The runtime itself lets 600 KB of one header pass. */
export const RESPONSE_HEAD_BYTES_MAX = 64 * 1024;

/** A response whose head has come and whose body has not been touched. Its headers are read once. */
export class UpstreamHead {
  readonly kind = "head";
  readonly response: Response;
  /** Those of `response` itself, which keeps only what goes on to the caller: a copy costs 2 µs (measured). */
  readonly headers: Headers;
  contentType: string | null = null;
  contentEncoding: string | null = null;
  contentLength: string | null = null;
  /** True when a content type goes on to the caller. */
  readonly isTyped: boolean;
  /** The body's length by its head; null when it tells none that counts (`toLength`). */
  readonly lengthBytes: number | null;
  readonly isRelayable: boolean;
  /** Where the connection counts once it is idle; null when it is not kept. */
  readonly warm: WarmConnections | null;
  sizeBytes = 0;
  connection: string | null = null;
  isInChunks = false;
  /** Names of headers that have not gone on. */
  readonly dropped: string[] = [];

  constructor(response: Response, warm: WarmConnections | null) {
    const { status, headers } = response;
    headers.forEach(readHeader, this);
    const named = namedByConnection(this.connection);
    if (named !== null) this.dropped.push(...listNamed(headers, named));
    // Behind the reading, which would pass over the neighbour of a name that is deleted.
    for (const name of this.dropped) headers.delete(name);
    this.response = response;
    this.headers = headers;
    this.isTyped = this.contentType !== null && named?.has("content-type") !== true;
    this.lengthBytes = this.isInChunks ? null : toLength(this.contentLength);
    // A `Response` of ours cannot carry a status outside 200 to 599.
    this.isRelayable = status >= 200 && status <= 599 && this.sizeBytes <= RESPONSE_HEAD_BYTES_MAX;
    this.warm = this.connection?.toLowerCase() === "close" ? null : warm;
  }

  /** Call it when the body was read to its end: the connection counts as idle from then on. */
  readToEnd(): void {
    this.warm?.put();
  }
}

/**
 * The length that a head tells of its body; null when it tells none that counts: with a `transfer-encoding` no length does
 * (RFC 9112, section 6.3), and the runtime lets a repeated one pass, joined by a comma.
 */
export function readLength({ headers }: Pick<Response, "headers">): number | null {
  return headers.has("transfer-encoding") ? null : toLength(headers.get("content-length"));
}

/** The length that a `content-length` tells; the runtime lets a repeated one pass, joined by a comma, which tells none. */
function toLength(contentLength: string | null): number | null {
  return contentLength === null || !/^\d+$/.test(contentLength) ? null : Number(contentLength);
}

/** A function of its own: a closure, and all that it sees, would be made for each answer. */
function readHeader(this: UpstreamHead, value: string, name: string): void {
  this.sizeBytes += name.length + value.length;
  if (name === "content-type") this.contentType = value;
  else if (name === "content-encoding") this.contentEncoding = value;
  else if (isResponseDropped(name)) {
    this.dropped.push(name);
    if (name === "content-length") this.contentLength = value;
    else if (name === "connection") this.connection = value;
    else if (name === "transfer-encoding") this.isInChunks = true;
  }
}

/** Asked for by the names that are there: `Connection` may name what is no name of a header. */
function listNamed(headers: Headers, named: ReadonlySet<string>): readonly string[] {
  return [...headers.keys()].filter((name) => named.has(name));
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

/** A body that is passed on as it comes. */
export interface BodySource {
  /** Null when it is not known beforehand. */
  readonly sizeBytes: number | null;
  /** The next bytes, asked for when those before have left; or null at the end. Throws when the body breaks off, or is refused after all. */
  next(): Promise<Uint8Array | null>;
}

/** Limit of one write: the runtime keeps a second copy of the part that the connection does not take at once. */
const WRITE_BYTES_MAX = 256 * 1024;

/** A body in memory that is sent write by write. */
export interface Upload extends BodySource {
  readonly sizeBytes: number;
}

/** `onTaken` is called when all of it has left. */
export function createUpload(pieces: readonly Uint8Array[], onTaken: () => void): Upload {
  const writes = toWrites(pieces);
  return {
    sizeBytes: pieces.reduce((sum, { length }) => sum + length, 0),
    next() {
      const { done, value } = writes.next();
      if (done !== true) return Promise.resolve(value);
      onTaken();
      return Promise.resolve(null);
    },
  };
}

function* toWrites(pieces: readonly Uint8Array[]): Generator<Uint8Array, void> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += WRITE_BYTES_MAX) yield toWrite(piece, at);
  }
}

function toWrite(piece: Uint8Array, at: number): Uint8Array {
  return piece.length <= WRITE_BYTES_MAX ? piece : piece.subarray(at, at + WRITE_BYTES_MAX);
}

/**
 * A body that says when its connection stands (DNS, TCP and TLS are done): a direct stream is pulled only then. It is the
 * one exact way to time connecting with `fetch`. Its length is known, so it is not sent in chunks.
 */
function toConnectedBody(body: Uint8Array, onConnected: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    type: "direct",
    pull(controller) {
      onConnected();
      void controller.write(body);
      controller.close();
    },
  });
}

/** A body that is sent piece by piece. `onMoved` is called when its connection stands and for each piece. */
function toStreamedBody(source: BodySource, onMoved: () => void): ReadableStream<Uint8Array> {
  let isTaken = true;
  return new ReadableStream<Uint8Array>({
    type: "direct",
    async pull(controller) {
      onMoved();
      try {
        for (let chunk = await source.next(); chunk !== null; chunk = await source.next()) {
          for (let at = 0; at < chunk.length; at += WRITE_BYTES_MAX) {
            // An upstream that answers early takes no more of it. The caller may send the rest, so that it comes to read the answer.
            if (!isTaken) break;
            await controller.write(toWrite(chunk, at));
            await controller.flush();
            onMoved();
          }
        }
        if (isTaken) controller.close();
      } catch (failure) {
        // Never a clean end: what was sent so far is no whole body.
        if (isTaken) controller.close(failure instanceof Error ? failure : new Error("the body broke off"));
      }
    },
    cancel() {
      isTaken = false;
    },
  });
}
