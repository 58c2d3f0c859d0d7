import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  renameSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { runProcess } from "./process.ts";

const MAIN = join(import.meta.dir, "../../src/main.ts");
/** `nobody`, as nearly every system numbers it. */
export const OTHER_UID = 65534;
const AS_OTHER = ["setpriv", `--reuid=${OTHER_UID}`, `--regid=${OTHER_UID}`, "--clear-groups"];

const RUNTIME_COPY = join(import.meta.dir, "../../node_modules/.cache/tests", `bun-${Bun.version}`);
const LINE = ["--no-env-file", MAIN];

const runtime = process.getuid?.() === 0 && Bun.which("setpriv") !== null ? findRuntime() : process.execPath;
/** False where these tests have not the right to become somebody else. */
export const canBeOther =
  process.getuid?.() === 0 && Bun.which("setpriv") !== null && isRunnable([runtime, ...LINE, "--version"]);

/** One command line as a user who owns nothing here but what `giveToOther` gave. */
export function runAsOther(line: readonly string[], env: Record<string, string> = {}) {
  return runProcess([...AS_OTHER, runtime, ...LINE, ...line], { env });
}

/** One command line on `program`, which was started by root and then became that user, as a service manager may have it. */
export function handOver(program: string, line: readonly string[]) {
  const become = `process.setgid(${OTHER_UID}); process.setuid(${OTHER_UID}); await import(${JSON.stringify(MAIN)});`;
  return runProcess([program, "--no-env-file", "-e", become, MAIN, ...line]);
}

/** This runtime, or a copy of it where only its owner may come: below `/root`, say. */
function findRuntime(): string {
  // By a shell, which is that user; `setpriv` itself starts its program with root's rights.
  if (isRunnable(["sh", "-c", 'exec "$0" --version', process.execPath])) return process.execPath;
  if (!existsSync(RUNTIME_COPY)) {
    mkdirSync(dirname(RUNTIME_COPY), { recursive: true });
    // Whole or not there: two files of tests may come here at once.
    const part = `${RUNTIME_COPY}.${process.pid}`;
    copyFileSync(process.execPath, part);
    chmodSync(part, 0o755);
    renameSync(part, RUNTIME_COPY);
  }
  return RUNTIME_COPY;
}

function isRunnable(command: readonly string[]): boolean {
  return Bun.spawnSync([...AS_OTHER, ...command]).exitCode === 0;
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
