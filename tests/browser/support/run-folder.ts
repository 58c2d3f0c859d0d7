import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildExecutable } from "../../../build.ts";
import { fillDemo, type Filled, type FillOptions } from "../../../contrib/demo/fill.ts";

const PREFIX = "lockport-browser-tests-";

let folder: string | null = null;
let built: Promise<string> | null = null;
const fillings = new Map<string, Promise<Filled>>();

/** The executable with the page in it, built once for all files that are tested in one run. */
export function sharedExecutable(): Promise<string> {
  return (built ??= buildExecutable(join(runFolder(), "lockport")));
}

/** A data folder with a demonstration in it, filled once in a run for the same options: to be copied, not used. */
export function sharedDemo(options: FillOptions): Promise<Filled> {
  const name = JSON.stringify(options);
  let filling = fillings.get(name);
  if (filling === undefined) {
    filling = fillDemo(join(runFolder(), `demo-${fillings.size}`), options);
    fillings.set(name, filling);
  }
  return filling;
}

/** No hook runs at the end of all files, so each run clears up after the ones that are over. */
function runFolder(): string {
  if (folder !== null) return folder;
  for (const name of readdirSync(tmpdir()).filter((one) => one.startsWith(PREFIX))) {
    if (!isAlive(Number(name.slice(PREFIX.length))))
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
  folder = join(tmpdir(), `${PREFIX}${process.pid}`);
  if (existsSync(folder)) rmSync(folder, { recursive: true });
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
