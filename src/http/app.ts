import { type EndpointName, findEndpoint, type FoundEndpoint, toRow } from "#catalog/endpoint.ts";
import { createBodyMemory } from "#http/door/body-memory.ts";
import { type Connections, Drain, createPeers, toFindAddress } from "#http/door/connections.ts";
import { toGoneResponse, withRequestId } from "#http/door/envelope.ts";
import { createFailures } from "#http/door/failures.ts";
import { createRefusals } from "#http/door/refusals.ts";
import { isNavigation } from "#http/door/negotiation.ts";
import { createIngress, type Ingress, isUpgrade, toDataPlane, toErrorDialect } from "#http/ingress/v1.ts";
import { closeUnread, untilTakenApart } from "#http/door/body-reader.ts";
import { createDoor, createSessionCookies } from "#http/door/door.ts";
import { createHostRule } from "#http/door/host.ts";
import { createTransparent, type Transparent } from "#http/ingress/transparent.ts";
import { createOperation } from "#http/metrics/operation.ts";
import { createArrivals } from "#kernel/ids.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { PRODUCT_VERSION } from "#kernel/version.ts";
import type { Compression } from "#http/door/compression.ts";
import type { Controllers } from "./controllers.ts";
import type { ServedDeps } from "./deps.ts";

/** The whole interface, ready to be put behind a socket. */
export interface App {
  /** Any request. Never throws. */
  fetch(request: Request, server: Connections | null): Promise<Response>;
  /** A POST of the endpoints that are always open, by the shortest way. Never throws. */
  readonly serve: Ingress["serve"];
  /** A request of the relay. Never throws. */
  readonly relay: Transparent["serve"];
  /** From now on each answer is the last one of its connection, and `/healthz` tells load balancers to go elsewhere. */
  drain(): void;
  /** True while a load balancer that looks at `/healthz` regularly has not been told. */
  awaitsHealthCheck(): boolean;
  /** When the newest request arrived; 0 before the first. */
  latestArrivalUs(): InstantUs;
  /** Writes down what is kept of refusals, once nothing is served any more. Never rejects. */
  close(): Promise<void>;
}

/**
 * The routes behind Elysia, their schemas and the page are loaded by the first request that needs them (40 ms, once): a server
 * that passes requests on, and answers for its health and its metrics, never does.
 */
export function createApp(deps: ServedDeps): App {
  const { config, clock, log } = deps;
  const hosts = createHostRule(config);
  const door = createDoor({ authenticator: deps.authenticator, publicUrl: config.publicUrl });
  const memory = createBodyMemory({ bytesMax: config.maxBodyBytes, log });
  const arrivals = createArrivals(clock, deps.lane);
  const drain = new Drain();
  const refusals = createRefusals(log, clock, deps.refusalStore);
  const failures = createFailures(log, refusals, deps.lane);
  const ingress = createIngress({
    clock,
    arrivals,
    drain,
    failures,
    hosts,
    door,
    exchange: deps.exchange,
    maxBodyBytes: config.maxBodyBytes,
    memory,
  });
  const transparent = createTransparent({
    clock,
    arrivals,
    drain,
    failures,
    hosts,
    relay: deps.relay,
    maxBodyBytes: config.maxBodyBytes,
    memory,
  });

  const operation = createOperation({ ...deps.metrics, refusals }, clock);
  const peers = createPeers();
  const sessionCookies = createSessionCookies({
    authenticator: deps.authenticator,
    clock,
    publicUrl: config.publicUrl,
  });
  const renewingDoor = sessionCookies.renewing(door);
  let loading: Promise<Controllers & Compression> | null = null;
  const load = async () => {
    const { createControllers } = await import("./controllers.ts");
    const { compressAnswer } = await import("#http/door/compression.ts");
    const controllers = createControllers(
      { ...deps, assets: await deps.openAssets() },
      {
        door: renewingDoor,
        memory,
        operation,
        peers,
        failures,
        refusals,
      },
    );
    return { ...controllers, compressAnswer };
  };
  const answerWithElysia = async (request: Request, isOfDataPlane: boolean): Promise<Response> => {
    const { elysia, compressAnswer } = await (loading ??= load());
    const response = await elysia.fetch(request);
    return isOfDataPlane ? response : await compressAnswer(request, response);
  };

  /** Tells whether a path is served: that of an endpoint that is not always open answers as an unknown one until a model serves it. */
  const isOpen = async (endpoint: EndpointName): Promise<boolean> => {
    const { isAlwaysOpen, capability } = toRow(endpoint);
    if (isAlwaysOpen === true) return true;
    const catalog = deps.catalog.peek() ?? (await deps.catalog.snapshot());
    return catalog.capabilities.has(capability);
  };

  const route = async (
    request: Request,
    server: Connections | null,
    arrivedAtUs: InstantUs,
  ): Promise<Response> => {
    if (transparent.matches(request.url)) return await transparent.serve(request, server, null);
    const url = toRoutableUrl(request.url);
    if (url?.pathname === "/healthz") {
      hosts.checkHealth(request.headers);
      drain.checked(arrivedAtUs);
    } else {
      hosts.check(request.headers);
    }
    if (url === null) throw new ProxyError("unknown_endpoint", "There is no such endpoint.");
    const found = findAsked(request, url.pathname);
    if (found !== null && !isPage(request, url) && (await isOpen(found.name)))
      return await ingress.serve(found, request, server);
    if (
      url.pathname === "/healthz" &&
      request.method !== "POST" &&
      (drain.hasBegun || !operation.isServing())
    )
      return closeUnread(request, withOwnHeaders(toUnavailable(drain.hasBegun ? "draining" : "unavailable")));
    if (request.method === "GET" && url.pathname === "/healthz")
      return closeUnread(
        request,
        withOwnHeaders(Response.json(operation.toHealth(), { headers: VERSION_HEADER })),
      );
    if (request.method === "GET" && url.pathname === "/metrics")
      return closeUnread(request, withOwnHeaders(operation.toMetrics()));
    const routable = url.href === request.url ? request : new Request(url.href, request);
    peers.note(routable, { arrivedAtUs, findAddress: toFindAddress(server, request) });
    const isOfDataPlane = toDataPlane(url.pathname) !== null;
    const answered = await answerWithElysia(routable, isOfDataPlane);
    const response = withOwnHeaders(sessionCookies.complete(routable, answered));
    closeUnread(routable, response);
    return response.status >= 400 || isOfDataPlane
      ? withRequestId(response, arrivedAtUs, arrivals.lane)
      : response;
  };

  return {
    serve: ingress.serve,
    relay: transparent.serve,
    close: () => refusals.close(),
    async fetch(request, server) {
      const arrivedAtUs = arrivals.next();
      try {
        const takingApart = untilTakenApart(request);
        if (takingApart !== null && !(await takingApart)) return toGoneResponse();
        return drain.close(await route(request, server, arrivedAtUs));
      } catch (failure) {
        const pathname = parseUrl(request.url)?.pathname ?? "";
        const failed = {
          arrivedAtUs,
          findAddress: toFindAddress(server, request),
          principal: null,
          dataPlane: toDataPlane(pathname),
          dialect: toErrorDialect(pathname),
        };
        return drain.close(failures.answer(failure, request, failed));
      }
    },
    drain: () => drain.begin(clock.nowUs()),
    awaitsHealthCheck: () => drain.awaitsCheck,
    latestArrivalUs: () => arrivals.latest(),
  };
}

/** A browser that navigates to a path outside of `/v1` wants the page, whatever else is served there. */
function isPage({ method, headers }: Request, { pathname }: URL): boolean {
  return isReading(method) && !pathname.startsWith("/v1/") && isNavigation(headers);
}

/** A HEAD is answered as a GET, whose body the runtime leaves out then. */
function isReading(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** A WebSocket is asked for by a GET of the path that answers a POST, which is where it is refused. */
function findAsked({ method, headers }: Request, pathname: string): FoundEndpoint | null {
  const upgrade = isUpgrade(headers) ? findEndpoint("POST", pathname) : null;
  const isRefused = upgrade !== null && upgrade.id === "" && toRow(upgrade.name).isAlwaysOpen !== true;
  return isRefused ? upgrade : findEndpoint(isReading(method) ? "GET" : method, pathname);
}

/** `/healthz` tells the version in a header, since the specification fixes the keys of its body. */
const VERSION_HEADER = { "x-proxy-version": PRODUCT_VERSION };

/** The specification knows one answer, of a server that serves. */
function toUnavailable(status: "unavailable" | "draining"): Response {
  return Response.json({ status }, { status: 503, headers: VERSION_HEADER });
}

/** Bun gives a bare path when the request had no Host (HTTP/1.0). Null for what is no path, as in CONNECT. */
function parseUrl(text: string): URL | null {
  return URL.parse(text, text.startsWith("/") ? "http://localhost" : undefined);
}

/** The URL that is routed by. Null also for escapes that decode to no text, which Elysia would hand on as a missing parameter. */
function toRoutableUrl(text: string): URL | null {
  const url = parseUrl(text);
  if (url === null || url.protocol !== "http:") return null;
  try {
    decodeURIComponent(url.pathname);
    return url;
  } catch {
    return null;
  }
}

/** Nothing that is served here is worth caching, and much of it is for its caller alone. */
function withOwnHeaders(response: Response): Response {
  const { headers } = response;
  headers.set("x-content-type-options", "nosniff");
  headers.set("referrer-policy", "no-referrer");
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  return response;
}
