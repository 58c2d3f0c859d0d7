import { accessSync, constants } from "node:fs";
import { readEnvironment, type Environment } from "#boot/settings/environment.ts";

/**
 * Bun runs 256 `fetch` calls at once in a process and queues the rest silently; only this variable, read when the
 * process starts, lifts that. 65,336 is the most that it accepts.
 */
const VARIABLE = "BUN_CONFIG_MAX_HTTP_REQUESTS";
const REQUESTS_MAX = "65336";

/** What a server sets of the runtime where it replaces itself, unless its operator has set it. */
export const SERVER_DEFAULTS = {
  /**
   * The allocator keeps what was freed for a second before the system has it back, and a burst of streams leaves the process larger
   * for as long. At nothing at all, each request would pay for it.
   */
  MIMALLOC_PURGE_DELAY: "100",
  /**
   * While the serving thread waits for events the allocator's own thread sweeps its memory, by default ten times a second. An
   * event that comes meanwhile waits for the end of that, however long other threads keep the core from the sweep
   * (docs/runtime-report.md).
   */
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "5000",
  /**
   * The runtime collects the young generation each second, whatever was allocated. What an open stream waits with at that moment
   * is kept until a full collection (docs/runtime-report.md), so that 5,000 streams grew by 1.3 MB a second. What is allocated
   * brings collections about all the same.
   */
  BUN_GC_TIMER_INTERVAL: "5000",
};

/** Names of what was unset, from the process that was replaced to the one in its place. */
const UNSET_VARIABLE = "LOCKPORT_UNSET_VARIABLES";

/**
 * Variables that the runtime itself reads and that weaken this program: other code runs in it or looks into it
 * (inspector, options, caches of code), credentials reach a log or a crash report, certificates are not checked, the
 * engine runs with other rules. Trust anchors (`NODE_EXTRA_CA_CERTS`, `SSL_CERT_FILE`) and tuning are the operator's.
 */
const WEAKENING = new Set([
  "BUN_BE_BUN",
  "BUN_CONFIG_VERBOSE_FETCH",
  "BUN_CRASH_REPORT_URL",
  "BUN_ENABLE_CRASH_REPORTING",
  "BUN_FEATURE_FLAG_INTERNAL_FOR_TESTING",
  "BUN_INSPECT",
  "BUN_INSPECT_CONNECT_TO",
  "BUN_INSPECT_NOTIFY",
  "BUN_INSPECT_PRELOAD",
  "BUN_OPTIONS",
  "BUN_RUNTIME_TRANSPILER_CACHE_PATH",
  "BUN_TCC_OPTIONS",
  "BUN_TRACE",
  "NODE_CHANNEL_FD",
  "NODE_COMPILE_CACHE",
  "NODE_DEBUG",
  "NODE_DEBUG_NATIVE",
  "NODE_OPTIONS",
  "NODE_REDIRECT_WARNINGS",
  "NODE_TLS_REJECT_UNAUTHORIZED",
]);
const ENGINE_PATTERN = /^(?:BUN_)?JSC_/;

/**
 * Replaces this process by itself, without what weakens it, and for a server with the cap on concurrent upstream requests
 * lifted. Returns at once when nothing is to change, or when this user may not start the program, which the server then
 * tells. Where a process cannot replace itself (Windows) a child takes its place and this one ends with the child's code.
 * All that the first process loads is loaded for nothing, so this imports next to nothing.
 */
export async function relaunch(args: readonly string[]): Promise<void> {
  const env = readEnvironment();
  const weakening = findWeakening(env);
  const isServer = args[0] === "serve";
  if ((weakening.length === 0 && (!isServer || isLifted(env))) || !isExecutable(process.execPath)) return;
  const next = {
    ...(isServer ? SERVER_DEFAULTS : {}),
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !isWeakening(name))),
    ...(isServer ? { [VARIABLE]: REQUESTS_MAX } : {}),
    ...(weakening.length === 0 ? {} : { [UNSET_VARIABLE]: weakening.join(",") }),
  };
  const command = Bun.isStandaloneExecutable
    ? [process.execPath, ...args]
    : [process.execPath, ...process.execArgv, Bun.main, ...args];
  if (process.platform !== "win32" && process.execve !== undefined)
    process.execve(process.execPath, command, next);

  // The console sends Ctrl-C to both; the child drains, and this process waits for it.
  process.on("SIGINT", () => undefined);
  const child = Bun.spawn({ cmd: command, env: next, stdio: ["inherit", "inherit", "inherit"] });
  process.exit(await child.exited);
}

/** False when this process was handed to a user who may not start it again: its upstream requests would queue. */
export function isRelaunched(): boolean {
  const env = readEnvironment();
  return isLifted(env) && findWeakening(env).length === 0;
}

/** Names of the variables that the process before this one has unset. */
export function listUnsetVariables(): readonly string[] {
  return (readEnvironment()[UNSET_VARIABLE] ?? "").split(",").filter(isWeakening);
}

function findWeakening(env: Environment): readonly string[] {
  return Object.keys(env).filter((name) => env[name] !== "" && isWeakening(name));
}

function isWeakening(name: string): boolean {
  return WEAKENING.has(name) || ENGINE_PATTERN.test(name);
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
