import { resolve } from "node:path";
import { quoteShell } from "#snippets/quote.ts";
import type { LocalOptions } from "#cli/installation/open.ts";

/** What no POSIX shell reads as anything but itself. */
const PLAIN_WORD = /^[\w%+,./:@-]+$/;

/**
 * A command to be typed next, wherever, on the same data folder: `lockport admin bootstrap --data-dir /srv/lockport`. Words are quoted
 * for a shell where they need it. A run from source names its own way of starting.
 */
export function formatCommand(
  words: readonly string[],
  { dataDir }: Pick<LocalOptions, "dataDir"> = {},
): string {
  const program = Bun.isStandaloneExecutable ? "lockport" : "npm run -s lockport --";
  const given = dataDir === undefined ? words : [...words, "--data-dir", resolve(dataDir)];
  return [program, ...given.map((word) => (PLAIN_WORD.test(word) ? word : quoteShell(word)))].join(" ");
}
