import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildExecutable } from "../../build.ts";

const root = join(import.meta.dir, "../..");
const FOLDER = join(root, "node_modules/.cache/tests/executable");
/** Everything that the bytes of the executable come from. */
const SOURCES = ["build.ts", "package.json", "bun.lock", "{src,ui,drizzle,contrib}/**/*"];
/** Long enough for a run that is under way to end. */
const OLD_MS = 3_600_000;

let built: Promise<string> | null = null;

/** The path of the executable, built once for each state of the source: all files of tests and all runs share it. */
export function executable(): Promise<string> {
  return (built ??= findOrBuild());
}

async function findOrBuild(): Promise<string> {
  const path = join(FOLDER, toKey(), "lockport");
  if (existsSync(path)) return path;
  removeOld();
  mkdirSync(dirname(path), { recursive: true });
  // Whole or not there: two files of tests may come here at once.
  const part = join(FOLDER, `part-${process.pid}`, "lockport");
  await buildExecutable(part);
  renameSync(part, path);
  rmSync(dirname(part), { recursive: true });
  return path;
}

function toKey(): string {
  const hasher = new Bun.CryptoHasher("sha256").update(Bun.version);
  const paths = SOURCES.flatMap((pattern) => Array.from(new Bun.Glob(pattern).scanSync(root)));
  for (const path of paths.toSorted()) {
    hasher.update(`\0${path}\0`).update(readFileSync(join(root, path)));
  }
  return hasher.digest("hex").slice(0, 16);
}

function removeOld(): void {
  if (!existsSync(FOLDER)) return;
  for (const name of readdirSync(FOLDER)) {
    const path = join(FOLDER, name);
    if (Date.now() - statSync(path).mtimeMs > OLD_MS) rmSync(path, { recursive: true, force: true });
  }
}
