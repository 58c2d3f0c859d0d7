import { tmpdir } from "node:os";
import { executable } from "../support/executable.ts";

const LOCKPORT = await executable();
const WAIT_MS_MAX = 20_000;

export interface Screen {
  /** Everything that the program has written to the terminal. */
  text(): string;
  /** Fulfilled with the text once it matches. */
  shows(pattern: RegExp): Promise<string>;
  /** Keys that a person types; `\r` is the Enter key, `\u0003` Ctrl-C. */
  type(keys: string): void;
  readonly pid: number;
  readonly exited: Promise<number>;
}

/** The command line from source, as its own process on a terminal of its own. */
export function startOnScreen(line: readonly string[], env: Record<string, string>): Screen {
  let text = "";
  const waiting = new Set<() => void>();
  const decoder = new TextDecoder();
  const child = Bun.spawn({
    cmd: [LOCKPORT, ...line],
    cwd: tmpdir(),
    env: { PATH: process.env["PATH"] ?? "", HOME: tmpdir(), TERM: "xterm-256color", ...env },
    terminal: {
      cols: 120,
      rows: 40,
      data(_terminal, bytes) {
        text += decoder.decode(bytes, { stream: true });
        for (const look of waiting) look();
      },
    },
  });
  return {
    text: () => text,
    async shows(pattern) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const look = () => {
        if (pattern.test(text)) resolve();
      };
      const timer = setTimeout(() => reject(new Error(`${pattern} was not shown: ${text}`)), WAIT_MS_MAX);
      waiting.add(look);
      look();
      try {
        await promise;
        return text;
      } finally {
        clearTimeout(timer);
        waiting.delete(look);
      }
    },
    type: (keys) => void child.terminal?.write(keys),
    pid: child.pid,
    exited: child.exited,
  };
}
