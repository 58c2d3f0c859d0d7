import { chownSync, lchownSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { runProcess } from "./process.ts";

const MAIN = join(import.meta.dir, "../../src/main.ts");
/** `nobody`, as nearly every system numbers it. */
export const OTHER_UID = 65534;
const AS_OTHER = ["setpriv", `--reuid=${OTHER_UID}`, `--regid=${OTHER_UID}`, "--clear-groups"];

/** False where these tests have not the right to become somebody else. */
export const canBeOther =
  process.getuid?.() === 0 &&
  Bun.which("setpriv") !== null &&
  Bun.spawnSync([...AS_OTHER, process.execPath, "--no-env-file", MAIN, "--version"]).exitCode === 0;

/** One command line as a user who owns nothing here but what `giveToOther` gave. */
export function runAsOther(line: readonly string[], env: Record<string, string> = {}) {
  return runProcess([...AS_OTHER, process.execPath, "--no-env-file", MAIN, ...line], { env });
}

/** The folder and everything in it. */
export function giveToOther(path: string): void {
  chownSync(path, OTHER_UID, OTHER_UID);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) giveToOther(inner);
    else lchownSync(inner, OTHER_UID, OTHER_UID);
  }
}
