import { readFileSync } from "node:fs";
import { SetupError } from "#kernel/errors.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { type Config, isOnFiles } from "#boot/settings/config.ts";
import { openPageAssets } from "#boot/page/page-assets.ts";
import { requireRight } from "#boot/folder/permission-problem.ts";
import { isRelaunched, listUnsetVariables } from "./relaunch.ts";
import { startServer, type RunningServer, DEPARTURE, StartAborted } from "./server.ts";
import { createSystem } from "#boot/process/system.ts";
import { orderThreads } from "#boot/process/threads.ts";

/**
 * The life of a server process: start, tell where it is, run until SIGTERM, SIGINT or SIGHUP, drain, and return. A second
 * signal ends the drain. Throws a `SetupError` when it cannot start.
 */
export async function serve(
  config: Config,
  onStart: (server: RunningServer) => Promise<void>,
): Promise<void> {
  if (!isRelaunched()) requireRight(process.execPath, "run", "The server cannot be started");
  const system = createSystem(config);
  keepServing(system.log);
  tellIgnored(system.log, config);
  await startFetchThread();
  const signalled = Promise.withResolvers<string>();
  const early = new AbortController();
  const hurry = new AbortController();
  let signals = 0;
  const onSignal = (signal: string) => {
    signals += 1;
    early.abort();
    if (signals === 1) signalled.resolve(signal);
    else hurry.abort();
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  if (!isHangUpIgnored()) process.on("SIGHUP", onSignal);

  const server = await startServer(config, system, {
    openAssets: openPageAssets,
    end: early.signal,
    departure: DEPARTURE,
  }).catch((cause: unknown) => {
    if (cause instanceof StartAborted) return null;
    throw cause;
  });
  if (server === null) {
    system.log.info("stopped before it served");
    return;
  }
  orderThreads();
  system.log.info("listening", { url: server.url });
  // Said while it serves already: neither a slow terminal nor a browser holds the requests up.
  void onStart(server).catch((cause: unknown) =>
    system.log.warn("the greeting failed", describeCause(cause)),
  );
  const signal = await Promise.race([signalled.promise, server.services.superseded.then(() => null)]);
  // An answer that ended well now would be of a request that no ledger has.
  if (signal === null) hurry.abort();
  system.log.info("stopping", { signal });
  await server.stop(hurry.signal);
  system.log.info("stopped");
  if (signal === null) {
    throw new SetupError("configuration", tellSuperseded(config));
  }
}

function tellSuperseded(config: Config): string {
  return isOnFiles(config)
    ? `Another lockport has taken over the folder ${config.dataDir}: this one has stopped. Its serving.lock was removed while it ran.`
    : `The database has another server in the place of this one, which has stopped: a copy of the folder ${config.dataDir} serves, or the database was put back to before this folder was first served from. Start it again: unless a copy serves, it brings in what its folder keeps.`;
}

/** One line each: the environment is not what its writer takes it for. */
function tellIgnored(log: Log, { ignoredVariables }: Config): void {
  const unset = listUnsetVariables();
  if (unset.length > 0)
    log.warn("variables that weaken the runtime were unset: remove them", { variables: unset.join(" ") });
  if (ignoredVariables.length > 0) {
    log.warn("variables of other programs are ignored: they are no settings", {
      variables: ignoredVariables.join(" "),
    });
  }
}

/**
 * Bun starts the thread behind `fetch` with the first call, and ends the whole process when no file descriptor is left for
 * it: a crowd of callers before the first upstream request would be enough. This call reaches no server (it takes 2 ms).
 */
async function startFetchThread(): Promise<void> {
  await fetch("http://localhost/", { unix: "/dev/null/nobody" }).catch(() => undefined);
}

/**
 * `nohup` starts its command with SIGHUP ignored, and a handler would undo that. Linux tells (proc(5): SigIgn is a mask in
 * hexadecimal, SIGHUP its lowest bit); elsewhere it cannot be known, and a hang-up drains.
 */
function isHangUpIgnored(): boolean {
  try {
    const [, lastDigit = "0"] =
      /^SigIgn:.*([0-9a-f])$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return Number.parseInt(lastDigit, 16) % 2 === 1;
  } catch {
    return false;
  }
}

/** An uncaught failure is a bug of one request: it is logged, and every other request goes on. */
function keepServing(log: Log): void {
  process.on("uncaughtException", (error) => log.error("uncaught exception", describeCause(error)));
  process.on("unhandledRejection", (reason) => log.error("unhandled rejection", describeCause(reason)));
}
