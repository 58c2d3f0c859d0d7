import { createDeadlines } from "#kernel/deadlines.ts";
import { ProxyError, type ErrorCode } from "#kernel/errors.ts";

/** JSON bodies of the admin and self-service routes; a CA bundle of every public root is a quarter of it. */
export const JSON_BODY_BYTES_MAX = 1024 * 1024;
/** Up to here a body is read in one piece, which is cheaper than chunk by chunk. */
const WHOLE_READ_BYTES_MAX = 64 * 1024;
/** What a client may still send of a body that was refused, so that it comes to read the answer. */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;
const DRAIN_MS_MAX = 5_000;

export interface BodyLimits {
  readonly maxBytes: number;
  /** A body may take `graceMs`, and `msPerByte` more for every byte that has come. */
  readonly graceMs: number;
  readonly msPerByte: number;
}

const BODY_GRACE_MS = 20_000;
const BODY_MS_PER_BYTE = 1;

export function toBodyLimits(maxBytes: number): BodyLimits {
  return { maxBytes, graceMs: BODY_GRACE_MS, msPerByte: BODY_MS_PER_BYTE };
}

/** A refusal of a body that has not come to its end: whether the connection can serve another request after it. */
export class BodyRefusal extends ProxyError {
  readonly closesConnection: boolean;

  constructor(code: ErrorCode, message: string, closesConnection: boolean) {
    super(code, message);
    this.closesConnection = closesConnection;
  }
}

/**
 * The whole body, as it came. Throws `request_too_large` (at once when Content-Length says so, else as soon as the bytes
 * do), `invalid_json` when it is encoded, `invalid_request` when it comes too slowly, and an `AbortError` when the caller
 * hung up.
 */
export async function readBody(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const { headers } = request;
  if (headers.has("content-encoding")) {
    throw new ProxyError("invalid_json", "Send the body without a content-encoding.");
  }
  return await readAnyBody(request, limits);
}

/** A body that is read as it comes, within the same limits. */
export interface CountedBody {
  /** What Content-Length says; null without one. */
  readonly sizeBytes: number | null;
  /** The next bytes, or null at the end. Throws as `readBody` does. */
  next(): Promise<Uint8Array | null>;
}

/**
 * The body of a request that is passed on, encoded or not: whole when its length is known and at most `wholeBytesMax`, to
 * be read piece by piece when it is longer or tells no length, and null when there is none. Throws as `readBody` does.
 */
export async function openBody(
  request: Request,
  limits: BodyLimits,
  wholeBytesMax: number,
): Promise<Uint8Array<ArrayBuffer> | CountedBody | null> {
  const sizeBytes = readLength(request, limits);
  if (request.body === null) return null;
  if (sizeBytes !== null && sizeBytes <= wholeBytesMax) return await readAnyBody(request, limits);
  return { sizeBytes, next: countBody(request, request.body.getReader(), limits) };
}

async function readAnyBody(request: Request, limits: BodyLimits): Promise<Uint8Array<ArrayBuffer>> {
  const declaredBytes = readLength(request, limits);
  if (request.body === null) return new Uint8Array(0);
  if (declaredBytes !== null && declaredBytes <= WHOLE_READ_BYTES_MAX) {
    return await readWhole(request, limits.graceMs + declaredBytes * limits.msPerByte);
  }
  const chunks: Uint8Array[] = [];
  const next = countBody(request, request.body.getReader(), limits);
  for (let chunk = await next(); chunk !== null; chunk = await next()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function readLength({ headers }: Request, limits: BodyLimits): number | null {
  const length = headers.get("content-length");
  const declaredBytes = length === null ? null : Number(length);
  if (declaredBytes !== null && declaredBytes > limits.maxBytes)
    throw tooLarge(limits, closesUnread(headers));
  return declaredBytes;
}

/** Throws `invalid_json` for what is not UTF-8 (RFC 8259, section 8.1), starts with a byte-order mark or is not JSON. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (cause) {
    throw new ProxyError("invalid_json", "The body is not valid JSON in UTF-8.", { cause });
  }
}

/**
 * Whether the connection has to close after an answer that leaves the body unread. Bun discards the rest of a body by
 * itself and the connection lives on; a rest that is long, or without a known end, is not worth waiting for.
 */
export function closesUnread(headers: Headers): boolean {
  if (headers.has("transfer-encoding")) return true;
  const length = headers.get("content-length");
  return length !== null && Number(length) > DRAIN_BYTES_MAX;
}

/** One timer for all of them: one each would cost more than reading the body does. */
const deadlines = createDeadlines(() => performance.now());

async function readWhole(request: Request, deadlineMs: number): Promise<Uint8Array<ArrayBuffer>> {
  const late = Promise.withResolvers<never>();
  const deadline = deadlines.create();
  deadline.set(deadlineMs, () => late.reject(tooSlow()));
  try {
    return new Uint8Array(await Promise.race([request.arrayBuffer(), late.promise]));
  } finally {
    deadline.lift();
  }
}

/** Requests whose body is read through a reader and has not come to its end: the runtime calls it used from the first byte. */
const unfinished = new WeakSet<Request>();

/** Whether the connection has to close after an answer that is given now: bytes of the body are, or may be, still to come. */
export function closesAfter(request: Request): boolean {
  return (!request.bodyUsed || unfinished.has(request)) && closesUnread(request.headers);
}

/** The part of a reader that is used here. */
interface BodyReader {
  read(): Promise<
    { readonly done: true; readonly value?: unknown } | { readonly done: false; readonly value: Uint8Array }
  >;
  cancel(): Promise<void>;
}

/** The time that counts is what was waited for bytes: whoever takes them may be slow for reasons of its own. */
function countBody(
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
    deadline.set(limits.graceMs + receivedBytes * limits.msPerByte - waitedMs, () => late.reject(tooSlow()));
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
      // Nobody waits for the cancel, and one that fails must not end the process.
      reader.cancel().catch(() => undefined);
      throw cause;
    } finally {
      deadline.lift();
      waitedMs += performance.now() - startedMs;
    }
  };
}

/** Reads on without keeping anything; true when the body came to its end within the bounds. */
async function drain(reader: BodyReader): Promise<boolean> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), DRAIN_MS_MAX);
  try {
    for (let drainedBytes = 0; drainedBytes < DRAIN_BYTES_MAX;) {
      const step = await Promise.race([reader.read(), late.promise]);
      if (step === null) return false;
      if (step.done) return true;
      drainedBytes += step.value.byteLength;
    }
    return false;
  } finally {
    clearTimeout(timer);
  }
}

function tooLarge(limits: BodyLimits, closesConnection: boolean): BodyRefusal {
  return new BodyRefusal(
    "request_too_large",
    `The body is larger than ${limits.maxBytes} bytes.`,
    closesConnection,
  );
}

function tooSlow(): BodyRefusal {
  return new BodyRefusal("invalid_request", "The body came too slowly.", true);
}
