import type { Cancellation, CancellationListener } from "#kernel/cancellation.ts";

/** The end of a body: complete, by its caller's hang-up, or by its upstream (a break, or silence past the limit). */
export type TeeEnding = "complete" | "cancelled" | "broken";

/** The part of a stream reader that a tee needs. */
export interface BodyReader {
  /** A tee takes the value out of it. */
  read(): Promise<{ readonly done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

export interface TeeOptions {
  readonly reader: BodyReader;
  /**
   * Already read, since the server sends a response's head together with its first bytes. Null when the body is empty, and from
   * when the tee has taken it: a stream that lasts for hours would keep it.
   */
  first: Uint8Array | null;
  readonly cancellation: Cancellation;
  /** The longest silence between bytes. */
  readonly idleMs: number;
  /** The longest time that the caller may read nothing. */
  readonly stallMs: number;
  /** All streams whose callers read nothing at the moment; absent where the body is complete already. */
  readonly stalls?: SlowConsumers;
  /** Whose request it answers. */
  readonly principalId?: string;
  /** Sees every chunk before it is passed on; a promise holds back the next one. */
  watch(chunk: Uint8Array): Promise<void> | null;
  /**
   * True when the part of the body that matters most to the watcher is still to come. Then it is read on for a moment when the
   * caller hangs up, within READ_ON_MS_MAX and READ_ON_BYTES_MAX. Absent: never.
   */
  awaitsRest?(): boolean;
  /** Called with each chunk that has left; the tee reads nothing from it any more. */
  left?(chunk: Uint8Array): void;
  /** Called exactly once, and awaited before the response ends, which breaks off when it rejects. */
  finish(ending: TeeEnding): Promise<void>;
}

/** A caller that reads nothing for so long counts as gone, whatever its connection says. */
export const WRITE_STALL_MS_MAX = 120_000;

/** Limits of what is read of an upstream whose caller has gone: its socket closes within a second of the hang-up. */
const READ_ON_MS_MAX = 800;
export const READ_ON_BYTES_MAX = 64 * 1024;

/** Chunks have up to 512 KiB, and the runtime copies the part of a piece that the connection does not take at once. */
const PIECE_BYTES_MAX = 64 * 1024;

/**
 * A body passed on as it comes, chunk by chunk and byte by byte, while a meter reads along. Back pressure goes through: a
 * chunk is read only when the one before it has left. An upstream that breaks off breaks the caller's connection too.
 */
export function createTee(options: TeeOptions): ReadableStream<Uint8Array> {
  const tee = new Tee(options);
  // The runtime never pulls a response whose caller left early, so that only the signal ends it.
  options.cancellation.notify(tee);
  return new ReadableStream<Uint8Array>(tee);
}

/** A class, since thousands of streams are open at once: as closures it took 1 KB a stream more (measured). */
class Tee implements Bun.DirectUnderlyingSource<Uint8Array>, CancellationListener {
  readonly type = "direct";
  readonly #options: TeeOptions;
  #sink: ReadableStreamDirectController | null = null;
  #ending: Promise<void> | null = null;
  #readsOn = false;

  constructor(options: TeeOptions) {
    this.#options = options;
  }

  /** One loop without a function in between, which would be another promise for as long as the stream is open. */
  async pull(controller: ReadableStreamDirectController): Promise<void> {
    this.#sink = controller;
    const options = this.#options;
    const { reader, cancellation, idleMs, stallMs, stalls } = options;
    let broke = false;
    let isFirst = true;
    let chunk = options.first;
    options.first = null;
    try {
      cancellation.arm(idleMs);
      while (chunk !== null && cancellation.cause === null) {
        const lagging = options.watch(chunk);
        if (lagging !== null) await lagging;
        for (let at = 0; at < chunk.length && cancellation.cause === null; at += PIECE_BYTES_MAX) {
          const written = controller.write(toPiece(chunk, at));
          if (typeof written === "number") {
            cancellation.rearm();
          } else {
            // Awaiting the write itself is what holds back the upstream; after a flush alone, chunks pile up in memory.
            cancellation.arm(stallMs, "cancelled");
            stalls?.begin(cancellation, options.principalId ?? "");
            await written;
            stalls?.end(cancellation);
            cancellation.arm(idleMs);
          }
        }
        // Sends head and first bytes as one packet: a head that leaves alone costs 5 µs more (measured).
        if (isFirst) void controller.flush();
        isFirst = false;
        options.left?.(chunk);
        do {
          const result = await reader.read();
          chunk = result.done ? null : (result.value ?? EMPTY);
          // What waited during a collection stays until a full one, and its result with it (docs/runtime-report.md).
          result.value = undefined;
        } while (chunk?.length === 0);
      }
    } catch {
      broke = true;
      // A write that broke off had shown its chunk to the watcher. Were it read from here on, it would be kept while the next is
      // waited for, and a collection in that time keeps it until a full one.
      chunk = EMPTY;
    }
    // The chunk that came behind a hang-up was not shown.
    if (this.#readsOn) await this.#readOn(chunk);
    const how = toEnding(cancellation, broke);
    await this.#end(how);
    this.#close(how);
  }

  cancel(): void {
    this.#options.cancellation.cancel("cancelled");
  }

  readOnMs(): number {
    // Before the runtime has pulled there is no loop to read on, and the caller has had nothing.
    return this.#sink !== null && this.#options.awaitsRest?.() === true ? READ_ON_MS_MAX : 0;
  }

  cancelled(readsOn: boolean): void {
    this.#readsOn = readsOn;
    // Ends a write that waits for the caller.
    if (readsOn) this.#close("cancelled");
    else void this.#end(toEnding(this.#options.cancellation, true));
  }

  /** Shows the watcher what still comes, and passes nothing of it on. */
  async #readOn(begun: Uint8Array | null): Promise<void> {
    const options = this.#options;
    let leftBytes = READ_ON_BYTES_MAX;
    try {
      for (let chunk = begun; chunk !== null; chunk = await readChunk(options.reader)) {
        const lagging = options.watch(chunk);
        if (lagging !== null) await lagging;
        leftBytes -= chunk.length;
        if (leftBytes <= 0 || options.awaitsRest?.() !== true) break;
      }
    } catch {
      // Its time is over, or the upstream broke off.
    }
    options.cancellation.cutOff();
  }

  #end(how: TeeEnding): Promise<void> {
    return (this.#ending ??= this.#settle(how));
  }

  async #settle(how: TeeEnding): Promise<void> {
    const { cancellation, stalls, reader } = this.#options;
    cancellation.notify(null);
    stalls?.end(cancellation);
    if (how === "complete") cancellation.finish();
    else {
      cancellation.release();
      reader.cancel().catch(() => undefined);
    }
    let ended = how;
    try {
      await this.#options.finish(how);
    } catch {
      ended = "broken";
    }
    // Ends a write as well that waits for a caller which reads nothing.
    this.#close(ended);
  }

  #close(how: TeeEnding): void {
    const open = this.#sink;
    this.#sink = null;
    if (open !== null) closeQuietly(open, how);
  }
}

/** `broke`: the body did not come to its end. */
function toEnding({ cause }: Cancellation, broke: boolean): TeeEnding {
  if (cause === "cancelled") return "cancelled";
  return broke || cause !== null ? "broken" : "complete";
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

/** Streams whose callers read nothing at the moment. */
export interface SlowConsumers {
  /**
   * A caller stopped reading; its time limit is armed. In a crowd, of its principal or of all, the one that has stopped for
   * the longest gets less time, or none.
   */
  begin(cancellation: Cancellation, principalId: string): void;
  /** The caller reads again, or has gone. May be called for one that never stopped. */
  end(cancellation: Cancellation): void;
}

/**
 * From this many on, the oldest of them have CROWDED_STALL_MS_MAX. A caller counts only once the system's own buffers are full
 * of what it has not read (`SEND_BUFFER_BYTES`).
 */
const STALLED_STREAMS_CROWD = 64;

/** The system's buffer of a caller that reads steadily empties in large steps: 45 KB/s are seen in that time. */
const CROWDED_STALL_MS_MAX = 30_000;

/**
 * Beyond this many, the oldest is disconnected at once: the runtime keeps 2 to 3 MB of each stream that is not read
 * (measured: docs/performance.md), and the process may take 512 MB.
 */
const STALLED_STREAMS_MAX = 112;

/** One principal has a quarter of both: its own oldest stream goes before any other principal's. */
const PRINCIPALS_MIN = 4;

interface SlowConsumersOptions {
  readonly monotonicMs: () => number;
  readonly crowd?: number;
  readonly crowdedMsMax?: number;
  readonly streamsMax?: number;
}

interface Stall {
  readonly sinceMs: number;
  readonly principalId: string;
  isHurried: boolean;
}

/** In the order in which they stopped. */
type Stalls = Map<Cancellation, Stall>;

export function createSlowConsumers({
  monotonicMs,
  crowd = STALLED_STREAMS_CROWD,
  crowdedMsMax = CROWDED_STALL_MS_MAX,
  streamsMax = STALLED_STREAMS_MAX,
}: SlowConsumersOptions): SlowConsumers {
  const all: Stalls = new Map();
  const ofPrincipals = new Map<string, Stalls>();
  return {
    begin(cancellation, principalId) {
      const stall = { sinceMs: monotonicMs(), principalId, isHurried: false };
      const own: Stalls = ofPrincipals.get(principalId) ?? new Map();
      ofPrincipals.set(principalId, own.set(cancellation, stall));
      all.set(cancellation, stall);
      bound(own, PRINCIPALS_MIN);
      bound(all, 1);
    },
    end: remove,
  };

  function bound(stalls: Stalls, parts: number): void {
    if (stalls.size > Math.ceil(streamsMax / parts)) cancelOldest(stalls);
    if (stalls.size > Math.ceil(crowd / parts)) hurryOldest(stalls);
  }

  function remove(cancellation: Cancellation): void {
    const stall = all.get(cancellation);
    if (stall === undefined) return;
    all.delete(cancellation);
    const own = ofPrincipals.get(stall.principalId);
    own?.delete(cancellation);
    if (own?.size === 0) ofPrincipals.delete(stall.principalId);
  }

  function cancelOldest(stalls: Stalls): void {
    const [oldest] = stalls.keys();
    if (oldest === undefined) return;
    remove(oldest);
    oldest.cancel("cancelled");
  }

  function hurryOldest(stalls: Stalls): void {
    for (const [cancellation, stall] of stalls) {
      if (stall.isHurried) continue;
      stall.isHurried = true;
      cancellation.arm(stall.sinceMs + crowdedMsMax - monotonicMs(), "cancelled");
      return;
    }
  }
}
