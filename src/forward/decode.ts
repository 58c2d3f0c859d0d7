import type { Transform } from "node:stream";

/** Decodes a copy of a compressed body, for the meter. What is broken or too large is no longer decoded, silently. */
export interface Decoder {
  /** Null, or a promise to await before the next chunk: decoding lags behind and must not pile up. */
  push(chunk: Uint8Array): Promise<void> | null;
  /** Fulfilled when what can be decoded of all that was pushed has reached the sink. Never rejects. */
  caughtUp(): Promise<void>;
  /** True when it passed a limit: then what the sink has seen is not all. */
  readonly isLimited: boolean;
  /** Fulfilled when everything decodable has reached the sink. Never rejects. */
  finish(): Promise<void>;
}

/** Limit of one body once decoded: a small compressed body can stand for gigabytes, and only its usage is looked for. */
export const DECODED_BYTES_MAX = 64 * 1024 * 1024;

/** So many decoded bytes are read of any body, and DECODED_RATIO_MAX more for each compressed one: 106 bytes can stand for all of the above. */
export const DECODED_FREE_BYTES = 256 * 1024;
/** Streams of short events, which repeat all but a word, have 10 to 30. */
export const DECODED_RATIO_MAX = 100;

/** Time that the serving thread may spend on the meter of one decoded body: 64 MiB of usual events take 200 ms (measured). */
export const METERING_MS_MAX = 1_000;

interface Coding {
  open(): Transform;
  /** Throws past `maxOutputLength`, and where a body is broken. Null where one call cannot be bounded. */
  readonly decode: null | ((bytes: Uint8Array, limits: { readonly maxOutputLength: number }) => Uint8Array);
}

const GZIP: Coding = {
  open: () => loadCodings().createGunzip(),
  decode: (bytes, limits) => loadCodings().gunzipSync(bytes, limits),
};

/** Content codings of RFC 9110, section 8.4.1, and of RFC 8878. */
const CODINGS: ReadonlyMap<string, Coding> = new Map<string, Coding>([
  ["gzip", GZIP],
  ["x-gzip", GZIP],
  [
    "deflate",
    {
      open: () => loadCodings().createInflate(),
      decode: (bytes, limits) => loadCodings().inflateSync(bytes, limits),
    },
  ],
  [
    "br",
    {
      open: () => loadCodings().createBrotliDecompress(),
      // It fills its window of megabytes before it looks at a limit: 16 ms for 106 bytes (measured).
      decode: null,
    },
  ],
  [
    "zstd",
    {
      open: () => loadCodings().createZstdDecompress(),
      decode: (bytes, limits) => loadCodings().zstdDecompressSync(bytes, limits),
    },
  ],
]);

/** Loaded by the first compressed body: 4 ms and 7 MB that no start has need of. */
function loadCodings() {
  return process.getBuiltinModule("node:zlib");
}

/** True when the bytes of a body with this `content-encoding` are its content. */
export function isPlain(contentEncoding: string | null): boolean {
  return (
    contentEncoding === null ||
    contentEncoding.trim() === "" ||
    contentEncoding.trim().toLowerCase() === "identity"
  );
}

function findCoding(contentEncoding: string): Coding | undefined {
  return CODINGS.get(contentEncoding.trim().toLowerCase());
}

/**
 * The content of a short body that is at hand, up to DECODED_FREE_BYTES; null when it is longer, broken, or of a coding that is
 * not known. On this thread, since handing it to another and back costs five times as much (measured).
 */
export function decodeShort(contentEncoding: string, bytes: Uint8Array): Uint8Array | null {
  try {
    return findCoding(contentEncoding)?.decode?.(bytes, { maxOutputLength: DECODED_FREE_BYTES }) ?? null;
  } catch {
    return null;
  }
}

/** Null for a coding that is not known, or for several on top of one another: such a body is passed on unmetered. */
export function createDecoder(
  contentEncoding: string,
  sink: (bytes: Uint8Array) => void,
  monotonicMs: () => number = () => performance.now(),
): Decoder | null {
  const stream = findCoding(contentEncoding)?.open();
  if (stream === undefined) return null;
  const ended = Promise.withResolvers<void>();
  let encodedBytes = 0;
  let decodedBytes = 0;
  let meteringMs = 0;
  let isLimited = false;
  let stopped = false;
  let drained: (() => void) | null = null;
  let latest = Promise.resolve();
  const stop = () => {
    stopped = true;
    drained?.();
    ended.resolve();
  };
  const limit = () => {
    isLimited = true;
    stream.destroy();
  };
  // Each piece has 16 KiB and comes in a turn of the event loop of its own.
  stream.on("data", (bytes: Uint8Array) => {
    if (isLimited) return;
    decodedBytes += bytes.length;
    const ratioBytesMax = DECODED_FREE_BYTES + encodedBytes * DECODED_RATIO_MAX;
    if (decodedBytes > Math.min(ratioBytesMax, DECODED_BYTES_MAX)) return limit();
    const startedMs = monotonicMs();
    sink(bytes);
    meteringMs += monotonicMs() - startedMs;
    if (meteringMs > METERING_MS_MAX) limit();
  });
  stream.on("drain", () => drained?.());
  stream.once("end", stop);
  stream.once("error", stop);
  stream.once("close", stop);

  return {
    get isLimited() {
      return isLimited;
    },
    push(chunk) {
      encodedBytes += chunk.length;
      if (stopped) return null;
      const decoded = Promise.withResolvers<void>();
      latest = decoded.promise;
      // The decoder gets a copy: it reads on another thread, and the chunk itself is freed once it has been passed on.
      if (stream.write(Buffer.from(chunk), () => decoded.resolve())) return null;
      return new Promise((resolve) => {
        drained = resolve;
      });
    },
    caughtUp: () => Promise.race([latest, ended.promise]),
    finish() {
      if (!stopped) stream.end();
      return ended.promise;
    },
  };
}
