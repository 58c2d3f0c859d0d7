import { type Stats, fstatSync, statSync } from "node:fs";

/** Tells a file from any other that takes its name, as long as it is open somewhere. Throws what the file system does. */
export function toFileIdentity(file: string | number): string {
  return spell(typeof file === "number" ? fstatSync(file) : statSync(file));
}

/** Null where there is no such file. Throws what else the file system does. */
export function findFileIdentity(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : spell(found);
}

function spell({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}
