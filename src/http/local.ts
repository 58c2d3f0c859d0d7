import { createBodyMemory } from "#http/door/body-memory.ts";
import { createPeers } from "#http/door/connections.ts";
import { LOCAL_DOOR } from "#http/door/door.ts";
import { createFailures } from "#http/door/failures.ts";
import { createRefusals } from "#http/door/refusals.ts";
import type { HttpConfig } from "#http/door/host.ts";
import type { Route } from "#http/door/route.ts";
import { createSystemClock } from "#kernel/clock.ts";
import type { Operation } from "#http/metrics/operation.ts";
import { createControllers, type ControllerParts } from "./controllers.ts";
import type { AppDeps } from "./deps.ts";

/** The parts that a local command has; a route that needs another one fails. */
export type LocalDeps = Pick<AppDeps, "clock" | "log"> & Partial<AppDeps>;

/** The interface in process, for the owner of the data folder: no credential is asked for. */
export interface LocalApp {
  /** A refusal is a response. Throws whatever else a handler throws, which a server answers as `internal_error`. */
  fetch(request: Request): Promise<Response>;
}

const LOCAL_CONFIG: HttpConfig = {
  host: "localhost",
  publicUrl: null,
  allowedHosts: [],
  maxBodyBytes: 64 * 1024 * 1024,
  adminPasswordEnabled: false,
};

/** A command asks no server how it is. */
const NO_OPERATION: Operation = {
  isServing: () => true,
  toHealth: () => ({ status: "ok" }),
  toMetrics: () => new Response(),
};

export function createLocalApp(deps: LocalDeps): LocalApp {
  const failures = new WeakMap<Request, { readonly cause: unknown }>();
  const onFailure = (request: Request, cause: unknown) => void failures.set(request, { cause });
  const { elysia } = createLocalControllers(deps, onFailure);
  return {
    async fetch(request) {
      const response = await elysia.fetch(request);
      const failure = failures.get(request);
      if (failure !== undefined) throw failure.cause;
      return response;
    },
  };
}

/** Every route that a server has, with nothing behind it. */
export function listRoutes(): readonly Route[] {
  const clock = createSystemClock();
  return createLocalControllers({ clock }).routes;
}

function createLocalControllers(deps: Partial<AppDeps>, onFailure?: ControllerParts["onFailure"]) {
  const memory = createBodyMemory({ bytesMax: LOCAL_CONFIG.maxBodyBytes });
  const nothing = { config: LOCAL_CONFIG, sso: null, relay: null, assets: null };
  const parts = withAbsent<AppDeps>({ ...nothing, ...deps });
  // A server wrote them down: a command refuses nothing.
  const refusals = createRefusals(parts.log, createSystemClock(), deps.refusalStore);
  return createControllers(parts, {
    door: LOCAL_DOOR,
    memory,
    operation: NO_OPERATION,
    peers: createPeers(),
    failures: createFailures(parts.log, refusals),
    refusals,
    ...(onFailure !== undefined && { onFailure }),
  });
}

/** A part that was not given may be passed on and taken apart, and throws when it is called. */
function withAbsent<Parts extends object>(given: Partial<Parts>): Parts;
function withAbsent(given: object): object {
  return new Proxy(given, {
    get: (parts, name): unknown => (name in parts ? Reflect.get(parts, name) : ABSENT),
  });
}

const ABSENT: object = new Proxy(
  () => {
    throw new Error("a local command does not have this part");
  },
  { get: () => ABSENT },
);
