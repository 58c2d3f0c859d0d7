import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PREFIX = "lockport-tests-";

let folder: string | null = null;

/** The folder that every file of one run may use. The run's own process makes it and removes it; a file that runs alone makes its own. */
export function runFolder(): string {
  return (folder ??= process.env["LOCKPORT_TEST_RUN"] ?? makeRunFolder(tmpdir()));
}

/** No hook runs at the end of all files, so each run clears up after the ones that are over. */
export function makeRunFolder(parent: string): string {
  for (const name of readdirSync(parent).filter((one) => one.startsWith(PREFIX))) {
    if (!isAlive(Number(name.slice(PREFIX.length))))
      rmSync(join(parent, name), { recursive: true, force: true });
  }
  const path = join(parent, `${PREFIX}${process.pid}`);
  if (existsSync(path)) rmSync(path, { recursive: true });
  // Passable: a server in it may run as another user.
  mkdirSync(path, { mode: 0o711 });
  return path;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
