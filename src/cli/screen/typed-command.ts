import { resolve } from "node:path";
import { quoteShell } from "#snippets/source.ts";

/** Characters that no POSIX shell reads as anything but themselves. */
const PLAIN_WORD = /^[\w%+,./:@-]+$/;

/**
 * A command to be typed next, in any folder, on the same server or data folder: `lockport admin bootstrap --data-dir /srv/lockport`. Words are quoted
 * for a shell where they need it. A run from source names its own way of starting.
 */
export function formatCommand(
  words: readonly string[],
  { url, dataDir }: { readonly url?: string; readonly dataDir?: string } = {},
): string {
  const program = Bun.isStandaloneExecutable ? "lockport" : "npm run -s lockport --";
  const given = [
    ...words,
    ...(url === undefined ? [] : ["--url", url]),
    ...(dataDir === undefined ? [] : ["--data-dir", resolve(dataDir)]),
  ];
  return [program, ...given.map((word) => (PLAIN_WORD.test(word) ? word : quoteShell(word)))].join(" ");
}
