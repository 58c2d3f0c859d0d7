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
export function toConnectedBody(body: Uint8Array, onConnected: () => void): ReadableStream<Uint8Array> {
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
export function toStreamedBody(source: BodySource, onMoved: () => void): ReadableStream<Uint8Array> {
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
