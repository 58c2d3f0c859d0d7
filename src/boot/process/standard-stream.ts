import { fstatSync, readFileSync, statSync, writeSync } from "node:fs";
import { devNull } from "node:os";
import { systemCode } from "#kernel/system-code.ts";

/** fcntl(2), as Linux numbers it. */
const CLOSE_ON_EXEC = 0o2000000;

/** One of the process's own outputs. */
interface StandardStream {
  /** True for a terminal, and not for a file or a pipe. */
  readonly isScreen: boolean;
  /** Bytes that were written and that the reader has not taken yet. */
  readonly pendingBytes: number;
  /** After what was written before. Fulfilled when it is taken; rejected with an error that has the system's code. */
  write(data: string | Uint8Array): Promise<void>;
  /** Fulfilled when nothing is pending, because it is taken or because it never will be. */
  drain(): Promise<void>;
}

const opened = new Map<number, StandardStream>();

/** stdout (1) or stderr (2): the same one each time, so that everybody's lines keep their order. */
export function openStandardStream(descriptor: 1 | 2): StandardStream {
  const stream = opened.get(descriptor) ?? create(descriptor);
  opened.set(descriptor, stream);
  return stream;
}

/** True when stdin (0), stdout or stderr is a terminal. */
export function isTerminal(descriptor: 0 | 1 | 2): boolean {
  // node:tty brings the runtime's streams with it, 3 ms and 5 MB: what is no device, or the null device, is no terminal.
  if (process.platform !== "win32" && !isDevice(descriptor)) return false;
  return process.getBuiltinModule("node:tty").isatty(descriptor);
}

function isDevice(descriptor: number): boolean {
  try {
    const stat = fstatSync(descriptor);
    return stat.isCharacterDevice() && stat.rdev !== statSync(devNull).rdev;
  } catch {
    return false;
  }
}

function create(descriptor: 1 | 2): StandardStream {
  const isScreen = isTerminal(descriptor);
  if (isScreen || isPipe(descriptor)) return createWaiting(descriptor, isScreen);
  return createImmediate(descriptor);
}

/** A terminal or a pipe makes one wait: its writes are the event loop's. */
function createWaiting(descriptor: 1 | 2, isScreen: boolean): StandardStream {
  const stream = descriptor === 1 ? process.stdout : process.stderr;
  let pendingBytes = 0;
  let drained = Promise.withResolvers<void>();
  // Each write is told of its own failure; without a listener the event would end the process.
  stream.on("error", () => undefined);
  return {
    isScreen,
    get pendingBytes() {
      return pendingBytes;
    },
    async write(data) {
      const sizeBytes = Buffer.byteLength(data);
      if (sizeBytes === 0) return;
      if (pendingBytes === 0) drained = Promise.withResolvers<void>();
      pendingBytes += sizeBytes;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      stream.write(data, (cause) => {
        if (cause instanceof Error) reject(cause);
        else resolve();
      });
      try {
        await promise;
      } finally {
        pendingBytes -= sizeBytes;
        if (pendingBytes === 0) drained.resolve();
      }
    },
    drain: async () => (pendingBytes === 0 ? undefined : await drained.promise),
  };
}

/**
 * A file takes what is written, or says at once why not. Bun's own stream must not be used for it: after a full disk it calls
 * no write and no end back any more (seen with 1.4.5).
 */
function createImmediate(descriptor: 1 | 2): StandardStream {
  const isClosed = isReplaced(descriptor);
  return {
    isScreen: false,
    pendingBytes: 0,
    async write(data) {
      if (isClosed) throw Object.assign(new Error("The stream is closed."), { code: "EBADF" });
      const bytes = typeof data === "string" ? Buffer.from(data) : data;
      for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at);
    },
    drain: async () => undefined,
  };
}

function isPipe(descriptor: 1 | 2): boolean {
  try {
    const stat = fstatSync(descriptor);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    return false;
  }
}

/**
 * True when the process was started without this stream: Bun puts /dev/null there then. An inherited one never has
 * close-on-exec, and what Bun opens has it. (Linux tells in proc(5), fdinfo; elsewhere it cannot be known.)
 */
function isReplaced(descriptor: 1 | 2): boolean {
  try {
    const [, flags = "0"] =
      /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8")) ?? [];
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
  } catch (cause) {
    return systemCode(cause) === "EBADF";
  }
}
