import { readEnvironment, type Environment } from "#boot/settings/environment.ts";
import { isTerminal, openStandardStream } from "#boot/process/standard-stream.ts";
import { systemCode } from "#kernel/system-code.ts";
import { createSystemClock, type Clock } from "#kernel/clock.ts";
import { CommandError } from "#cli/screen/failure.ts";

/** The outside of a command: data goes to `writeData` (stdout), everything else to `writeMessage` (stderr). */
export interface Terminal {
  readonly env: Environment;
  readonly clock: Clock;
  /** True when a person can be asked. */
  readonly interactive: boolean;
  /** True where stdout (`data`) or stderr (`messages`) is a screen and not a file or a pipe. */
  readonly screens: { readonly data: boolean; readonly messages: boolean };
  /** Characters that a line of stdout has room for; null where it is no screen. */
  readonly columns: number | null;
  writeData(text: string): void;
  writeMessage(text: string): void;
  /** As `writeData`, fulfilled when it is through: false when it was lost though its reader was still there. */
  deliverData(text: string): Promise<boolean>;
  /** Bytes on stdout; fulfilled when they are taken, rejected when they will not be, which `watchEnd` and stderr tell too. */
  writeBytes(bytes: Uint8Array): Promise<void>;
  /** Throws a `CommandError` beyond so many bytes. */
  readStdin(bytesMax: number): Promise<string>;
  /** A line that a person types. */
  ask(question: string): Promise<string>;
  /** As `ask`, without showing what is typed. */
  askHidden(question: string): Promise<string>;
  /**
   * For a command that runs until it is told to end: aborted by Ctrl-C, by SIGTERM, and when stdout takes nothing any more
   * (unless `withOutput` is false). Without it the first two end the process at once.
   */
  watchEnd(options?: { readonly withOutput: boolean }): AbortSignal;
  /** Until what it returns is called, Ctrl-C and SIGTERM say this before they end the process, whatever else is watched. */
  sayAtInterrupt(sentence: string): () => void;
}

export interface ProcessTerminal extends Terminal {
  /**
   * Fulfilled when what was written is with its readers, or never will be: ending the process earlier would cut a long list
   * off. False when some of stdout was lost though its reader was still there, which stderr has been told.
   */
  end(): Promise<boolean>;
}

/** A reader that has gone (`lockport key list | head -1`) wants no more, which is not a failure. */
const READER_GONE_CODES = new Set(["EPIPE", "ECONNRESET"]);

/** Losses of a write, by the system's code. */
const LOSSES: { readonly [code: string]: string } = {
  EBADF: "stdout is closed",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file may not grow any further",
  EIO: "the device failed",
  ENOSPC: "the disk is full",
};

export function createProcessTerminal(): ProcessTerminal {
  const data = openStandardStream(1);
  const messages = openStandardStream(2);
  const closed = new AbortController();
  let isLost = false;
  let saidAtInterrupt: string | null = null;
  const tell = (text: string) => void messages.write(text).catch(() => undefined);
  const close = (cause: unknown) => {
    if (closed.signal.aborted) return;
    closed.abort();
    const code = systemCode(cause) ?? "no reason given";
    if (READER_GONE_CODES.has(code)) return;
    isLost = true;
    tell(
      `lockport: The output could not be written: ${LOSSES[code] ?? "the system refused it"} (${code}).\n`,
    );
  };
  const writeBytes = async (bytes: string | Uint8Array) => {
    try {
      await data.write(bytes);
    } catch (cause) {
      close(cause);
      throw cause;
    }
  };
  return {
    env: readEnvironment(),
    clock: createSystemClock(),
    interactive: messages.isScreen && isTerminal(0),
    screens: { data: data.isScreen, messages: messages.isScreen },
    columns: data.isScreen ? (process.stdout.columns ?? null) : null,
    writeData: (text) => void writeBytes(text).catch(() => undefined),
    writeMessage: tell,
    deliverData: async (text) => {
      await writeBytes(text).catch(() => undefined);
      return !isLost;
    },
    writeBytes,
    readStdin: (bytesMax) => collectText(Bun.stdin.stream(), { name: "stdin", bytesMax }),
    ask: (question) => askLine(question, process.stderr),
    // readline echoes to its output; this one swallows it.
    askHidden: (question) => askLine(question, createSilentEcho()).finally(() => process.stderr.write("\n")),
    watchEnd({ withOutput } = { withOutput: true }) {
      const told = new AbortController();
      const abort = () => {
        if (saidAtInterrupt === null) told.abort();
      };
      process.on("SIGINT", abort);
      process.on("SIGTERM", abort);
      return withOutput ? AbortSignal.any([told.signal, closed.signal]) : told.signal;
    },
    sayAtInterrupt(sentence) {
      saidAtInterrupt = sentence;
      const listeners = Object.entries(INTERRUPTS).map(([signal, code]) => {
        const leave = () => {
          tell(`lockport: ${sentence}\n`);
          void messages.drain().finally(() => process.exit(code));
        };
        process.on(signal, leave);
        return { signal, leave };
      });
      return () => {
        saidAtInterrupt = null;
        for (const { signal, leave } of listeners) process.off(signal, leave);
      };
    },
    async end() {
      await data.drain();
      await messages.drain();
      return !isLost;
    },
  };
}

/** The shell's code for a command that Ctrl-C ended. */
const EXIT_INTERRUPTED = 130;
const INTERRUPTS = { SIGINT: EXIT_INTERRUPTED, SIGTERM: 143 };

function createSilentEcho(): NodeJS.WritableStream {
  const { Writable } = process.getBuiltinModule("node:stream");
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

function askLine(question: string, echo: NodeJS.WritableStream): Promise<string> {
  // Loaded here and not above: few commands ask, and no server does.
  const { createInterface } = process.getBuiltinModule("node:readline");
  const { promise, resolve } = Promise.withResolvers<string>();
  const lines = createInterface({ input: process.stdin, output: echo, terminal: true });
  // After the terminal's own echo was turned off: what is typed at once, or pasted, would be shown.
  process.stderr.write(question);
  const leave = () => {
    process.stderr.write("\n");
    process.exit(EXIT_INTERRUPTED);
  };
  lines.once("line", (line) => {
    lines.off("close", leave);
    lines.close();
    resolve(line);
  });
  // Ctrl-C and Ctrl-D are not an empty answer: nothing is done then.
  lines.once("close", leave);
  return promise;
}

/** Limit of what is read into memory whole, and its name for the refusal. */
export interface TextLimit {
  /** `stdin`, or `The file prices.json`. */
  readonly name: string;
  readonly bytesMax: number;
}

/** UTF-8 text of a stream, without a byte order mark. Throws a `CommandError` as soon as it is longer than its limit. */
export async function collectText(
  chunks: AsyncIterable<Uint8Array>,
  { name, bytesMax }: TextLimit,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > bytesMax)
      throw new CommandError("failure", `${name} holds more than ${toSize(bytesMax)}: is it the right one?`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

const SIZE_UNITS = ["kB", "MB", "GB", "TB"] as const;

/** `840 bytes`, `1.2 MB`, in steps of a thousand. */
export function toSize(sizeBytes: number): string {
  let size = sizeBytes;
  let unit: string = "bytes";
  for (const larger of SIZE_UNITS) {
    if (size < 1000) break;
    size /= 1000;
    unit = larger;
  }
  return `${unit === "bytes" ? size : size.toFixed(1)} ${unit}`;
}
