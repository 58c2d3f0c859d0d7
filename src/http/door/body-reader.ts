import { free } from "#kernel/bytes.ts";
import { createDeadlines, type DeadlineOwner } from "#kernel/cancellation.ts";
import { ProxyError, type ErrorCode } from "#kernel/errors.ts";
import { Turns } from "#kernel/turns.ts";

/** The rest of a refused body is taken in up to these limits, so that its client comes to read the answer. */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;
const DRAIN_MS_MAX = 5_000;

export interface BodyLimits {
  readonly maxBytes: number;
  /** A body may take `graceMs`, and `msPerByte` more for every byte that has come. */
  readonly graceMs: number;
  readonly msPerByte: number;
  /** The limit of the whole time, however much has come: a body that is read whole keeps its memory for so long. */
  readonly maxMs: number;
  /** The rest of a refused body that is still taken in; absent: DRAIN_BYTES_MAX. */
  readonly restBytesMax?: number;
}

/** A refusal of a body that has not come to its end: whether the connection can serve another request after it. */
export class BodyRefusal extends ProxyError {
  readonly closesConnection: boolean;

  constructor(code: ErrorCode, message: string, closesConnection: boolean, retryAfterSeconds?: number) {
    // A refusal of a body is no failure that the log has to explain.
    super(code, message, { isLogged: true, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) });
    this.closesConnection = closesConnection;
  }
}

/**
 * Tells whether the connection has to close after an answer that leaves the body unread. Bun discards the rest of a body by
 * itself and the connection lives on; a rest that is long, or without a known end, is not worth waiting for.
 */
export function closesUnread(headers: Headers): boolean {
  if (headers.has("transfer-encoding")) return true;
  const length = headers.get("content-length");
  return length !== null && Number(length) > DRAIN_BYTES_MAX;
}

/** One timer for all bodies: one each would cost more than reading the body does. */
export const deadlines = createDeadlines(() => performance.now());

/** Requests whose body is read through a reader and has not come to its end: the runtime calls it used from the first byte. */
const unfinished = new WeakSet<Request>();

/**
 * Tells whether the connection has to close after an answer that is given now: bytes of the body are, or may be, still to come.
 * The runtime calls a chunked body ended at its last chunk, and answers trailer fields that come later by a 400 of its own,
 * which would be the next request's.
 */
export function closesAfter(request: Request): boolean {
  const { headers } = request;
  if (headers.has("transfer-encoding")) return true;
  return (!request.bodyUsed || unfinished.has(request)) && closesUnread(headers);
}

/**
 * The runtime calls a handler before it has taken the rest of a read apart, and answers a chunked body that it refuses (one
 * with trailers, or one that is malformed) by a 400 of its own: an answer that was given before that would be followed by a
 * second one. Fulfilled in the next turn, with whether the connection is still there. Null for a request whose body has no
 * such framing.
 */
export function untilTakenApart(request: Request): Promise<boolean> | null {
  if (!request.headers.has("transfer-encoding")) return null;
  return turns.next().then(() => !request.signal.aborted);
}

/** Bytes of the body that come after this answer must not be answered as a request. */
export function closeUnread(request: Request, response: Response): Response {
  if (closesAfter(request)) response.headers.set("connection", "close");
  return response;
}

/** The part of a reader that is used here. */
interface BodyReader {
  read(): Promise<
    { readonly done: true; readonly value?: unknown } | { readonly done: false; readonly value: Uint8Array }
  >;
  cancel(): Promise<void>;
}

/**
 * A piece below this may be one of very many: with 87,000 chunks of one byte in one read of the socket, each would be a
 * promise, an array and a step of its own. What comes until the next turn of the event loop comes as one piece.
 */
const SMALL_PIECE_BYTES = 16 * 1024;
const turns = new Turns();

/**
 * A longer body in small pieces waits for a turn that is its own. The runtime takes up to 5 MB a turn from each connection that it
 * reads, which is 70 ms in chunks of one byte (measured), and stops reading one of which 1 MiB waits here.
 */
const SHARED_TURN_BYTES_MAX = 64 * 1024;
const ownTurns = new Turns(1);

/** The pieces of one body, as they come and within its limits. */
export class BodyPieces implements DeadlineOwner {
  readonly #request: Request;
  readonly #reader: BodyReader;
  readonly #limits: BodyLimits;
  readonly #deadline = deadlines.create(this);
  #receivedBytes = 0;
  #waitedMs = 0;
  #isAfterSmall = false;
  #isLate = false;

  constructor(request: Request, reader: BodyReader, limits: BodyLimits) {
    this.#request = request;
    this.#reader = reader;
    this.#limits = limits;
    unfinished.add(request);
  }

  /**
   * The next piece, or null at the end. Counts only the time of waiting for bytes: their reader may be slow for reasons of its
   * own. Throws `request_too_large`, `invalid_request` when the body comes too slowly, and what reading throws.
   */
  async next(): Promise<Uint8Array | null> {
    const { graceMs, msPerByte, maxMs, maxBytes } = this.#limits;
    const limitMs = Math.min(graceMs + this.#receivedBytes * msPerByte, maxMs);
    try {
      const piece = await this.#read(limitMs - this.#waitedMs);
      if (this.#isLate) throw tooSlow();
      if (this.#receivedBytes > maxBytes) throw tooLarge(this.#limits, !(await this.drain()));
      return piece;
    } catch (cause) {
      this.#cancel();
      throw cause;
    }
  }

  /** Reads on without keeping anything; true when the body came to its end within the bounds. Nothing can be read afterwards. */
  async drain(): Promise<boolean> {
    const { restBytesMax = DRAIN_BYTES_MAX } = this.#limits;
    const untilMs = performance.now() + DRAIN_MS_MAX;
    try {
      for (let drainedBytes = 0; drainedBytes < restBytesMax;) {
        const piece = await this.#read(untilMs - performance.now());
        if (piece === null) return !this.#isLate;
        drainedBytes += piece.byteLength;
        free(piece);
      }
      return false;
    } finally {
      this.#cancel();
    }
  }

  /** Null as well when it is late, which `#isLate` tells: canceled, a read ends as at the end of the body. */
  async #read(limitMs: number): Promise<Uint8Array | null> {
    if (this.#isAfterSmall) await (this.#receivedBytes > SHARED_TURN_BYTES_MAX ? ownTurns : turns).next();
    const startedMs = performance.now();
    this.#deadline.set(limitMs);
    try {
      // Not raced against the limit: a promise that lasts keeps what was raced against it, for each piece.
      const { done, value } = await this.#reader.read();
      if (!done) {
        this.#receivedBytes += value.byteLength;
        this.#isAfterSmall = value.byteLength < SMALL_PIECE_BYTES;
        return value;
      }
      if (!this.#isLate) unfinished.delete(this.#request);
      return null;
    } finally {
      this.#deadline.lift();
      this.#waitedMs += performance.now() - startedMs;
    }
  }

  expired(): void {
    this.#isLate = true;
    this.#cancel();
  }

  #cancel(): void {
    // A cancel that fails must not end the process, and its end is not awaited.
    this.#reader.cancel().catch(() => undefined);
  }
}

export function tooLarge(limits: BodyLimits, closesConnection: boolean): BodyRefusal {
  return new BodyRefusal(
    "request_too_large",
    `The body is larger than ${limits.maxBytes} bytes.`,
    closesConnection,
  );
}

export function tooSlow(): BodyRefusal {
  return new BodyRefusal("invalid_request", "The body came too slowly.", true);
}
