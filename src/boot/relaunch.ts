import { accessSync, constants } from "node:fs";
import { readEnvironment, type Environment } from "#boot/settings/environment.ts";

/**
 * Bun runs 256 `fetch` calls at once in a process and queues the rest silently; only this variable, read when the
 * process starts, lifts that. 65,336 is the most that it accepts.
 */
const VARIABLE = "BUN_CONFIG_MAX_HTTP_REQUESTS";
const REQUESTS_MAX = "65336";

/**
 * Replaces this process by itself with the cap on concurrent upstream requests lifted. Returns at once when it is lifted
 * already, or when this user may not start the program, which the server then tells. Where a process cannot replace
 * itself (Windows) a child takes its place and this one ends with the child's code. All that the first process loads is
 * loaded for nothing, so this imports next to nothing.
 */
export async function relaunchWithoutRequestCap(args: readonly string[]): Promise<void> {
  const env = readEnvironment();
  if (isLifted(env) || !isExecutable(process.execPath)) return;
  const lifted = { ...env, [VARIABLE]: REQUESTS_MAX };
  const command = Bun.isStandaloneExecutable
    ? [process.execPath, ...args]
    : [process.execPath, ...process.execArgv, Bun.main, ...args];
  if (process.platform !== "win32" && process.execve !== undefined)
    process.execve(process.execPath, command, lifted);

  // The console sends Ctrl-C to both; the child drains, and this process waits for it.
  process.on("SIGINT", () => undefined);
  const child = Bun.spawn({ cmd: command, env: lifted, stdio: ["inherit", "inherit", "inherit"] });
  process.exit(await child.exited);
}

/** False when this process was handed to a user who may not start it again: its upstream requests would queue. */
export function isRequestCapLifted(): boolean {
  return isLifted(readEnvironment());
}

function isLifted(env: Environment): boolean {
  return env[VARIABLE] !== undefined && env[VARIABLE] !== "";
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
