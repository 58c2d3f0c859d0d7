import { chownSync, lchownSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { executable } from "./executable.ts";
import { runProcess } from "./process.ts";

const MAIN = join(import.meta.dir, "../../src/main.ts");
/** `nobody`, as nearly every system numbers it. */
export const OTHER_UID = 65534;
const AS_OTHER = ["setpriv", `--reuid=${OTHER_UID}`, `--regid=${OTHER_UID}`, "--clear-groups"];

const LOCKPORT = await executable();

/** False where these tests have not the right to become somebody else. */
export const canBeOther =
  process.getuid?.() === 0 &&
  Bun.which("setpriv") !== null &&
  // By a shell, which is that user; `setpriv` itself starts its program with root's rights.
  Bun.spawnSync([...AS_OTHER, "sh", "-c", 'exec "$0" --version', LOCKPORT]).exitCode === 0;

/** One command line as a user who owns nothing here but what `giveToOther` gave. */
export function runAsOther(line: readonly string[], env: Record<string, string> = {}) {
  return runProcess([...AS_OTHER, LOCKPORT, ...line], { env });
}

/** One command line on `program`, which was started by root and then became that user, as a service manager may have it. */
export function handOver(program: string, line: readonly string[]) {
  const become = `process.setgid(${OTHER_UID}); process.setuid(${OTHER_UID}); await import(${JSON.stringify(MAIN)});`;
  return runProcess([program, "--no-env-file", "-e", become, MAIN, ...line]);
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
