import { free } from "#kernel/bytes.ts";
import { createDeadlines } from "#kernel/deadlines.ts";
import { ProxyError, type ErrorCode } from "#kernel/errors.ts";

/** The rest of a refused body that is still taken in, so that its client comes to read the answer. */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;
const DRAIN_MS_MAX = 5_000;

export interface BodyLimits {
  readonly maxBytes: number;
  /** A body may take `graceMs`, and `msPerByte` more for every byte that has come. */
  readonly graceMs: number;
  readonly msPerByte: number;
  /** The limit of the whole time, however much has come: a body that is read whole keeps its memory for so long. */
  readonly maxMs: number;
}

/** A refusal of a body that has not come to its end: whether the connection can serve another request after it. */
export class BodyRefusal extends ProxyError {
  readonly closesConnection: boolean;

  constructor(code: ErrorCode, message: string, closesConnection: boolean) {
    // A refusal of a body is no failure that the log has to explain.
    super(code, message, { isLogged: true });
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

/** Tells whether the connection has to close after an answer that is given now: bytes of the body are, or may be, still to come. */
export function closesAfter(request: Request): boolean {
  return (!request.bodyUsed || unfinished.has(request)) && closesUnread(request.headers);
}

/** The part of a reader that is used here. */
export interface BodyReader {
  read(): Promise<
    { readonly done: true; readonly value?: unknown } | { readonly done: false; readonly value: Uint8Array }
  >;
  cancel(): Promise<void>;
}

/** Counts only the time of waiting for bytes: their reader may be slow for reasons of its own. */
export function countBody(
  request: Request,
  reader: BodyReader,
  limits: BodyLimits,
): () => Promise<Uint8Array | null> {
  unfinished.add(request);
  let receivedBytes = 0;
  let waitedMs = 0;
  const deadline = deadlines.create();
  return async () => {
    const late = Promise.withResolvers<never>();
    const startedMs = performance.now();
    const limitMs = Math.min(limits.graceMs + receivedBytes * limits.msPerByte, limits.maxMs);
    deadline.set(limitMs - waitedMs, () => late.reject(tooSlow()));
    try {
      const { done, value } = await Promise.race([reader.read(), late.promise]);
      if (done) {
        unfinished.delete(request);
        return null;
      }
      receivedBytes += value.byteLength;
      if (receivedBytes > limits.maxBytes) throw tooLarge(limits, !(await drain(reader)));
      return value;
    } catch (cause) {
      // A cancel that fails must not end the process, and its end is not awaited.
      reader.cancel().catch(() => undefined);
      throw cause;
    } finally {
      deadline.lift();
      waitedMs += performance.now() - startedMs;
    }
  };
}

/** Reads on without keeping anything; true when the body came to its end within the bounds. */
export async function drain(reader: BodyReader): Promise<boolean> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), DRAIN_MS_MAX);
  try {
    for (let drainedBytes = 0; drainedBytes < DRAIN_BYTES_MAX;) {
      const step = await Promise.race([reader.read(), late.promise]);
      if (step === null) return false;
      if (step.done) return true;
      drainedBytes += step.value.byteLength;
      free(step.value);
    }
    return false;
  } finally {
    clearTimeout(timer);
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
