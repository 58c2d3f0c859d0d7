import { type App, createApp } from "#http/app.ts";
import type { AssetTable } from "#http/page/assets.ts";
import { toServeOptions } from "#http/serve.ts";
import { sleep, withinLimit } from "#kernel/timer.ts";
import type { Config } from "#boot/settings/config.ts";
import {
  findListenFault,
  formatAddress,
  probeListen,
  requireResolvable,
  toListenError,
} from "#boot/settings/listen-address.ts";
import { locks } from "#boot/settings/engine.ts";
import { openServices } from "./open-services.ts";
import type { Services } from "./services.ts";
import { type Departure, untilQuiet } from "#boot/process/departure.ts";
import { boundBuffers, refuseConnections } from "#boot/process/listening-sockets.ts";
import { keepSpareDescriptors } from "#boot/process/spare-descriptors.ts";
import type { System } from "#boot/process/system.ts";

/** After the drain's time is up, how long cut-off exchanges may take to write their ending down. */
const CUT_OFF_MS_MAX = 5_000;
/** How long a stop waits for a disk that is to keep the newest refusals. */
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

/** Opens the data folder and listens. Throws a `SetupError` that says what to do when either cannot be. */
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
      system.log.warn("requests were cut off: they outlasted PROXY_DRAIN_TIMEOUT", {
        active: services.exchange.activeCount(),
      });
      services.exchange.halt();
      await server.stop(true);
      await settlesWithin(services.exchange.drained(), CUT_OFF_MS_MAX);
    }
    await settlesWithin(app.close(), REFUSALS_CLOSE_MS_MAX);
    await services.close();
  };
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

/** Whether `work` was done in time; what is not goes on, unwatched. */
function settlesWithin(work: Promise<unknown>, limitMs: number, hurry?: AbortSignal): Promise<boolean> {
  const settled = work.then(() => true);
  return withinLimit(settled, limitMs, () => false, hurry);
}
