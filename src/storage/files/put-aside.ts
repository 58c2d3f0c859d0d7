import { existsSync, renameSync } from "node:fs";

/**
 * Gives a file that lies where a server's own belongs another name beside it, `<path>.found-<number>`, and with it what
 * goes with it by these suffixes. Returns that name; null when there was no such file.
 */
export function putAside(path: string, suffixes: readonly string[] = [""]): string | null {
  if (!existsSync(path)) return null;
  let number = 1;
  while (existsSync(toFoundName(path, number))) number += 1;
  const found = toFoundName(path, number);
  for (const suffix of suffixes) {
    if (existsSync(`${path}${suffix}`)) renameSync(`${path}${suffix}`, `${found}${suffix}`);
  }
  return found;
}

function toFoundName(path: string, number: number): string {
  return `${path}.found-${number}`;
}
