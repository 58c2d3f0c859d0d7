import type { Transform } from "node:stream";

/** Decodes a copy of a compressed body, for the meter. What is broken or too large is no longer decoded, silently. */
export interface Decoder {
  /** Null, or a promise to await before the next chunk: decoding lags behind and must not pile up. */
  push(chunk: Uint8Array): Promise<void> | null;
  /** Fulfilled when everything decodable has reached the sink. Never rejects. */
  finish(): Promise<void>;
}

/** Limit of one body once decoded: a small compressed body can stand for gigabytes, and only its usage is looked for. */
export const DECODED_BYTES_MAX = 64 * 1024 * 1024;

/** Content codings of RFC 9110, section 8.4.1, and of RFC 8878. */
const CODINGS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ["gzip", () => loadCodings().createGunzip()],
  ["x-gzip", () => loadCodings().createGunzip()],
  ["deflate", () => loadCodings().createInflate()],
  ["br", () => loadCodings().createBrotliDecompress()],
  ["zstd", () => loadCodings().createZstdDecompress()],
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

/** Null for a coding that is not known, or for several on top of one another: such a body is passed on unmetered. */
export function createDecoder(contentEncoding: string, sink: (bytes: Uint8Array) => void): Decoder | null {
  const stream = CODINGS.get(contentEncoding.trim().toLowerCase())?.();
  if (stream === undefined) return null;
  const ended = Promise.withResolvers<void>();
  let decodedBytes = 0;
  let stopped = false;
  let drained: (() => void) | null = null;
  const stop = () => {
    stopped = true;
    drained?.();
    ended.resolve();
  };
  stream.on("data", (bytes: Uint8Array) => {
    decodedBytes += bytes.length;
    if (decodedBytes > DECODED_BYTES_MAX) stream.destroy();
    else sink(bytes);
  });
  stream.on("drain", () => drained?.());
  stream.once("end", stop);
  stream.once("error", stop);
  stream.once("close", stop);

  return {
    push(chunk) {
      // The decoder gets a copy: it reads on another thread, and the chunk itself is freed once it has been passed on.
      if (stopped || stream.write(Buffer.from(chunk))) return null;
      return new Promise((resolve) => {
        drained = resolve;
      });
    },
    finish() {
      if (!stopped) stream.end();
      return ended.promise;
    },
  };
}
