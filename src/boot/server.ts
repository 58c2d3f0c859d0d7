import { type App, createApp } from "#http/app.ts";
import type { AssetTable } from "#http/page/assets.ts";
import { toServeOptions } from "#http/serve.ts";
import { sleep, withinLimit } from "#kernel/timer.ts";
import { type Config, isOnFiles } from "#boot/settings/config.ts";
import {
  findListenFault,
  formatAddress,
  probeListen,
  requireResolvable,
  toListenError,
} from "#boot/settings/listen-address.ts";
import { locks, engineOf } from "#boot/settings/engine.ts";
import { type Services, wireServices } from "./services.ts";
import { boundBuffers, refuseConnections, keepSpareDescriptors } from "#boot/process/listening-sockets.ts";
import type { System } from "#boot/process/system.ts";
import { prepareDataDir } from "#boot/folder/data-dir.ts";
import { goBackBeforeRestore } from "#boot/folder/half-restore.ts";
import { loadAdminPassword } from "#boot/secrets/admin-password.ts";
import { finishRotation, loadKeyring } from "#boot/secrets/secret-key.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { isPassing } from "#kernel/errors.ts";

/** After the drain's time is up, how long cut-off exchanges may take to write their ending down. */
const CUT_OFF_MS_MAX = 5_000;
/** A stop waits no longer for a disk that is to keep the newest refusals. */
const REFUSALS_CLOSE_MS_MAX = 1_000;

export interface RunningServer {
  /** `http://host:port` as bound, without a path. */
  readonly url: string;
  readonly services: Services;
  /**
   * Answers what still comes while callers go elsewhere, closes the listener, lets running exchanges finish, cuts off what
   * runs `drainTimeoutSeconds` after its beginning (or when `hurry` aborts), and closes the ledger and the databases. Every
   * exchange has its usage event afterwards.
   */
  stop(hurry?: AbortSignal): Promise<void>;
}

export interface StartOptions {
  /** The built page, if there is one. Called when a route that may need it is asked for first. */
  readonly openAssets?: () => Promise<AssetTable | null>;
  /** Ends a start that waits for its database: it throws `StartAborted`. */
  readonly end?: AbortSignal;
  /** Absent: a stop closes the listener and all idle connections at once. */
  readonly departure?: Departure;
}

/** Opens the data folder, listens, and makes sure that the ledger's writer runs. Throws a `SetupError` that says what to do when one cannot be. */
export async function startServer(
  config: Config,
  system: System,
  { openAssets = async () => null, end = new AbortController().signal, departure }: StartOptions = {},
): Promise<RunningServer> {
  let server: Bun.Server<undefined>;
  let app: App;
  const findOrigin = () => `http://${formatAddress({ host: config.host, port: server.port ?? config.port })}`;
  await requireResolvable(config);
  await requireFreeAddress(config);
  const services = await openServices(config, system, { findOrigin, end });
  try {
    app = createApp({ ...services.app, openAssets });
    // `development: false` turns SO_REUSEPORT on: a second server would then take half of the connections in silence.
    server = Bun.serve({
      ...toServeOptions(app, { hostname: config.host, port: config.port }),
      reusePort: false,
    });
  } catch (cause) {
    await services.close();
    throw toListenError(await findListenFault(cause, config), cause);
  }

  // In the turn in which it listens: no connection has been accepted yet.
  if (boundBuffers() === 0)
    system.log.debug(
      "buffers of connections could not be bounded: bodies in tiny chunks and streams that nobody reads may hold up others",
    );
  const giveUpSpareDescriptors = keepSpareDescriptors(server.port ?? config.port, system.log);
  services.announce(findOrigin());
  let stopped: Promise<void> | null = null;
  /** Idle connections are closed at the end of it: none that a caller has just sent a request on. */
  const depart = async ({ quietMs, listeningMsMax, settleMs }: Departure, hurry?: AbortSignal) => {
    const limitMs = Math.min(listeningMsMax, config.drainTimeoutSeconds * 1000);
    await untilQuiet(app, { quietMs, limitMs, hurry });
    if (hurry?.aborted === true) return;
    refuseConnections(server.port ?? config.port);
    await sleep(settleMs, hurry);
  };
  const stop = async (hurry?: AbortSignal) => {
    const endMs = performance.now() + config.drainTimeoutSeconds * 1000;
    app.drain();
    giveUpSpareDescriptors();
    if (departure !== undefined) await depart(departure, hurry);
    const drained = Promise.all([server.stop(), services.exchange.drained()]);
    if (!(await settlesWithin(drained, Math.max(0, endMs - performance.now()), hurry))) {
      const active = services.exchange.activeCount();
      if (active > 0)
        system.log.warn("requests were cut off: they outlasted PROXY_DRAIN_TIMEOUT", { active });
      services.exchange.halt();
      await server.stop(true);
      await settlesWithin(services.exchange.drained(), CUT_OFF_MS_MAX);
    }
    await settlesWithin(app.close(), REFUSALS_CLOSE_MS_MAX);
    await services.close();
  };
  try {
    await services.start();
  } catch (cause) {
    await stop(AbortSignal.abort());
    throw cause;
  }
  return {
    url: findOrigin(),
    services,
    stop: (hurry) => (stopped ??= stop(hurry)),
  };
}

/**
 * Throws a `SetupError` for an address that no server can listen on, while the start has made nothing yet. A folder that a
 * server runs from is refused by its lock, which tells more.
 */
async function requireFreeAddress(config: Config): Promise<void> {
  if (locks.isTaken(config.dataDir)) return;
  const fault = await probeListen(config);
  if (fault !== null) throw toListenError(fault);
}

/** True when `work` was done in time; else it goes on, unwatched. */
function settlesWithin(work: Promise<unknown>, limitMs: number, hurry?: AbortSignal): Promise<boolean> {
  const settled = work.then(() => true);
  return withinLimit(settled, limitMs, () => false, hurry);
}

interface Opening {
  /** The server's origin, once it listens. */
  readonly findOrigin: () => string;
  /** Ends a start that waits for its database. */
  readonly end: AbortSignal;
}

/**
 * Opens the data folder, the databases and the ledger, and wires every part to the next. At first start it makes the
 * secret key, the password file and the principal `admin`. Throws a `SetupError` when the data cannot be opened, and an
 * `UnreachableError` when the database has not answered for `START_WAIT_MS_MAX`; `StepRefusedError` when it refused all that time.
 */
async function openServices(config: Config, system: System, { findOrigin, end }: Opening): Promise<Services> {
  const { clock, ids, log } = system;
  if (isOnFiles(config)) await goBackBeforeRestore(config, log);
  prepareDataDir(config);
  finishRotation(config, clock.nowUs());
  const secrets = loadKeyring(config, ids);
  const adminPassword = loadAdminPassword(config, ids);
  const engine = await engineOf(config);
  const { database, dataDir, ledgerSync, usageRetentionDays } = config;
  const serving = { database, dataDir, secrets, ledgerSync, usageRetentionDays, clock, log };
  const waiting = { monotonicMs: () => clock.monotonicMs(), log, signal: end };
  return untilReachable(async () => {
    const storage = await engine.serve(serving);
    try {
      return await wireServices(storage, { config, system, secrets, adminPassword, findOrigin });
    } catch (cause) {
      // A lock, a spool and a replica's row would stay taken for as long as the process lives.
      await storage
        .close()
        .catch((failure: unknown) =>
          log.warn("what a start had opened could not be closed", describeCause(failure)),
        );
      throw cause;
    }
  }, waiting);
}

/** The time that a server which is stopped gives its callers to go elsewhere. */
interface Departure {
  /** It goes on listening until load balancers know and no request has come for this time. */
  readonly quietMs: number;
  /** It listens no longer than this: a load balancer looks at `/healthz` once in a second or two. */
  readonly listeningMsMax: number;
  /** Connections that were made before it stopped listening send their first request within this time. */
  readonly settleMs: number;
}

export const DEPARTURE: Departure = { quietMs: 250, listeningMsMax: 5_000, settleMs: 100 };

interface Traffic {
  /** When the newest request arrived. */
  latestArrivalUs(): number;
  /** True while a load balancer has not been told. */
  awaitsHealthCheck(): boolean;
}

interface Quiet {
  readonly quietMs: number;
  readonly limitMs: number;
  readonly hurry: AbortSignal | undefined;
}

/** Fulfilled when load balancers know and no request has come for `quietMs`, after `limitMs`, or when `hurry` aborts. */
export async function untilQuiet(traffic: Traffic, { quietMs, limitMs, hurry }: Quiet): Promise<void> {
  let seenUs = traffic.latestArrivalUs();
  for (let leftMs = limitMs; leftMs > 0; leftMs -= quietMs) {
    await sleep(Math.min(quietMs, leftMs), hurry);
    if (hurry?.aborted === true) return;
    const latestUs = traffic.latestArrivalUs();
    if (latestUs === seenUs && !traffic.awaitsHealthCheck()) return;
    seenUs = latestUs;
  }
}

/** A start that finds its database away waits so long: an orchestrator starts both at once, and starts again what has ended. */
export const START_WAIT_MS_MAX = 60_000;
const PAUSE_MS = 1_000;

/** Thrown when the process was told to end before it could serve. */
export class StartAborted extends Error {
  override readonly name = "StartAborted";
}

export interface Waiting {
  readonly monotonicMs: () => number;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly waitMsMax?: number;
}

/**
 * Tries `open` until the database answers, and refuses nothing that passes; what settings cause is thrown at once. Nothing
 * listens meanwhile, so that no load balancer takes the process for one that serves. Throws what it waited for after `START_WAIT_MS_MAX`,
 * and `StartAborted`.
 */
export async function untilReachable<Opened>(
  open: () => Promise<Opened>,
  { monotonicMs, log, signal, waitMsMax = START_WAIT_MS_MAX }: Waiting,
): Promise<Opened> {
  const endMs = monotonicMs() + waitMsMax;
  for (let attempt = 1; ; attempt += 1) {
    if (signal.aborted) throw new StartAborted();
    try {
      return await open();
    } catch (cause) {
      if (!isPassing(cause) || monotonicMs() + PAUSE_MS > endMs) throw cause;
      if (attempt === 1) {
        const message = "the database does not answer: the start waits for it";
        log.warn(message, { wait_seconds: Math.round(waitMsMax / 1000), ...describeCause(cause) });
      }
    }
    await sleep(PAUSE_MS, signal);
  }
}
