import { resolve } from "node:path";
import { quoteShell } from "#snippets/quote.ts";

/** What no POSIX shell reads as anything but itself. */
const PLAIN_WORD = /^[\w%+,./:@-]+$/;

/**
 * A command to be typed next, in any folder, on the same data folder: `lockport admin bootstrap --data-dir /srv/lockport`. Words are quoted
 * for a shell where they need it. A run from source names its own way of starting.
 */
export function formatCommand(
  words: readonly string[],
  { dataDir }: { readonly dataDir?: string } = {},
): string {
  const program = Bun.isStandaloneExecutable ? "lockport" : "npm run -s lockport --";
  const given = dataDir === undefined ? words : [...words, "--data-dir", resolve(dataDir)];
  return [program, ...given.map((word) => (PLAIN_WORD.test(word) ? word : quoteShell(word)))].join(" ");
}
