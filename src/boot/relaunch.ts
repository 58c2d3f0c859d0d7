import { readEnvironment } from "./config.ts";

/**
 * Bun runs 256 `fetch` calls at once in a process and queues the rest silently; only this variable, read when the
 * process starts, lifts that. 65,336 is the most that it accepts.
 */
const VARIABLE = "BUN_CONFIG_MAX_HTTP_REQUESTS";
const REQUESTS_MAX = "65336";

/**
 * Replaces this process by itself with the cap on concurrent upstream requests lifted. Returns at once when it is lifted
 * already. Where a process cannot replace itself (Windows) a child takes its place and this one ends with the child's code.
 */
export async function relaunchWithoutRequestCap(args: readonly string[]): Promise<void> {
  const env = readEnvironment();
  if (env[VARIABLE] !== undefined && env[VARIABLE] !== "") return;
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
