import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { readEnvironment, type Environment } from "#boot/config.ts";

/** What a command sees of the outside: data goes to `writeData` (stdout), everything else to `writeMessage` (stderr). */
export interface Terminal {
  readonly env: Environment;
  /** True when a person can be asked. */
  readonly interactive: boolean;
  writeData(text: string): void;
  writeMessage(text: string): void;
  readStdin(): Promise<string>;
  /** Asks without showing what is typed. */
  askHidden(question: string): Promise<string>;
}

/** Fulfilled when whoever reads stdout has all of it, or is gone: ending the process earlier would cut a long list off. */
export function endStdout(): Promise<void> {
  return new Promise((resolve) => void process.stdout.end(() => resolve()));
}

export function createProcessTerminal(): Terminal {
  // A reader that has gone (`lockport key list | head -1`) is not a failure.
  process.stdout.on("error", () => undefined);
  process.stderr.on("error", () => undefined);
  return {
    env: readEnvironment(),
    interactive: process.stdin.isTTY && process.stderr.isTTY,
    writeData: (text) => void process.stdout.write(text),
    writeMessage: (text) => void process.stderr.write(text),
    readStdin: () => Bun.stdin.text(),
    askHidden,
  };
}

/** The shell's code for a command that Ctrl-C ended. */
const EXIT_INTERRUPTED = 130;

function askHidden(question: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  process.stderr.write(question);
  // readline echoes to its output; this one swallows it.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  const leave = () => {
    process.stderr.write("\n");
    process.exit(EXIT_INTERRUPTED);
  };
  lines.once("line", (line) => {
    lines.off("close", leave);
    lines.close();
    process.stderr.write("\n");
    resolve(line);
  });
  // Ctrl-C and Ctrl-D are not an empty answer: nothing is done then.
  lines.once("close", leave);
  return promise;
}
