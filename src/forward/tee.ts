import type { Cancellation } from "#kernel/cancellation.ts";
import type { SlowConsumers } from "./slow-consumers.ts";

/** How a body ended: complete, by its caller's hang-up, or by its upstream (a break, or silence past the limit). */
export type TeeEnding = "complete" | "cancelled" | "broken";

/** The part of a stream reader that a tee needs. */
export interface BodyReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

export interface TeeOptions {
  readonly reader: BodyReader;
  /** Already read, since the server sends a response's head together with its first bytes. Null when the body is empty. */
  readonly first: Uint8Array | null;
  readonly cancellation: Cancellation;
  /** The longest silence between bytes. */
  readonly idleMs: number;
  /** The longest time that the caller may read nothing. */
  readonly stallMs: number;
  /** All streams whose callers read nothing at the moment; absent where the body is complete already. */
  readonly stalls?: SlowConsumers;
  /** Sees every chunk before it is passed on; a promise holds back the next one. */
  readonly watch: (chunk: Uint8Array) => Promise<void> | null;
  /** Called with each chunk that has left; the tee reads nothing from it any more. */
  readonly left?: (chunk: Uint8Array) => void;
  /** Called exactly once, and awaited before the response ends. Must not throw. */
  readonly finish: (ending: TeeEnding) => Promise<void>;
}

/** A caller that reads nothing for so long counts as gone, whatever its connection says. */
export const WRITE_STALL_MS_MAX = 120_000;

/** Chunks have up to 512 KiB, and the runtime copies the part of a piece that the connection does not take at once. */
const PIECE_BYTES_MAX = 64 * 1024;

/**
 * A body passed on as it comes, chunk by chunk and byte by byte, while a meter reads along. Back pressure goes through: a
 * chunk is read only when the one before it has left. An upstream that breaks off breaks the caller's connection too.
 */
export function createTee(options: TeeOptions): ReadableStream<Uint8Array> {
  const { reader, first, cancellation, idleMs, stallMs, stalls, watch, left, finish } = options;
  let sink: ReadableStreamDirectController | null = null;
  let ending: Promise<void> | null = null;
  const end = (how: TeeEnding) => (ending ??= settle(how));
  const settle = async (how: TeeEnding) => {
    cancellation.notify(null);
    cancellation.release();
    stalls?.end(cancellation);
    if (how !== "complete") reader.cancel().catch(() => undefined);
    await finish(how);
    // Ends a write as well that waits for a caller which reads nothing.
    close(how);
  };
  // The runtime never pulls a response whose caller left early, so that only the signal ends it.
  const onCut = () => void end(cancellation.cause === "cancelled" ? "cancelled" : "broken");

  cancellation.notify(onCut);

  return new ReadableStream<Uint8Array>({
    type: "direct",
    async pull(controller) {
      sink = controller;
      const how = await passOn(controller);
      await end(how);
      close(how);
    },
    cancel() {
      cancellation.cancel("cancelled");
    },
  });

  function close(how: TeeEnding): void {
    const open = sink;
    sink = null;
    if (open !== null) closeQuietly(open, how);
  }

  async function passOn(controller: ReadableStreamDirectController): Promise<TeeEnding> {
    try {
      cancellation.arm(idleMs);
      let chunk = first;
      while (chunk !== null && cancellation.cause === null) {
        const lagging = watch(chunk);
        if (lagging !== null) await lagging;
        for (let at = 0; at < chunk.length && cancellation.cause === null; at += PIECE_BYTES_MAX) {
          const written = controller.write(toPiece(chunk, at));
          if (typeof written === "number") {
            cancellation.rearm();
          } else {
            // Awaiting the write itself is what holds back the upstream; after a flush alone, chunks pile up in memory.
            cancellation.arm(stallMs, "cancelled");
            stalls?.begin(cancellation);
            await written;
            stalls?.end(cancellation);
            cancellation.arm(idleMs);
          }
        }
        left?.(chunk);
        // Read here, since a function in between would be another promise a chunk.
        do {
          const { done, value } = await reader.read();
          chunk = done ? null : (value ?? EMPTY);
        } while (chunk?.length === 0);
      }
    } catch {
      return cancellation.cause === "cancelled" ? "cancelled" : "broken";
    }
    return cancellation.cause === null
      ? "complete"
      : cancellation.cause === "cancelled"
        ? "cancelled"
        : "broken";
  }
}

const EMPTY = new Uint8Array(0);

/** Most chunks are one piece. */
function toPiece(chunk: Uint8Array, at: number): Uint8Array {
  return chunk.length <= PIECE_BYTES_MAX ? chunk : chunk.subarray(at, at + PIECE_BYTES_MAX);
}

/** The next bytes of a body, or null at its end. Throws when it breaks off. */
export async function readChunk(reader: BodyReader): Promise<Uint8Array | null> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return null;
    if (value !== undefined && value.length > 0) return value;
  }
}

/** Anything but a complete body resets the caller's connection. A destination that has gone may refuse to be closed. */
function closeQuietly(controller: ReadableStreamDirectController, how: TeeEnding): void {
  try {
    if (how === "complete") controller.close();
    else controller.close(new Error("the response broke off"));
  } catch {
    // Closed already.
  }
}
