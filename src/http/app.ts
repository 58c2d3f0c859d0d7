import { Elysia } from "elysia";
import type { ServedEndpoint } from "#catalog/capability.ts";
import { FEED_BODY_BYTES_MAX } from "#catalog/feed.ts";
import { ProxyError } from "#kernel/errors.ts";
import { discoveryRoutes } from "#http/api/discovery.ts";
import { eventRoutes } from "#http/api/events.ts";
import { keyRoutes } from "#http/api/keys.ts";
import { modelRoutes } from "#http/api/models.ts";
import { pricingRoutes } from "#http/api/pricing.ts";
import { principalRoutes } from "#http/api/principals.ts";
import { providerRoutes } from "#http/api/providers.ts";
import { relayTokenRoutes } from "#http/api/relay-tokens.ts";
import { requestRoutes } from "#http/reports/admin-requests.ts";
import { resolveRoutes } from "#http/api/resolve.ts";
import { usageRoutes } from "#http/reports/admin-usage.ts";
import { authRoutes } from "#http/api/auth.ts";
import { JSON_BODY_BYTES_MAX } from "#http/door/body.ts";
import { createBodyRoom, type BodyRoom } from "#http/door/body-memory.ts";
import type { Connections } from "#http/door/connections.ts";
import type { AppDeps } from "./deps.ts";
import { toFailureResponse } from "#http/door/envelope.ts";
import { createDoor, createGuard, toRouteTable, type Door, type RouteEntry } from "#http/door/guard.ts";
import { createHostRule } from "#http/door/host.ts";
import { deploymentRoutes } from "#http/api/deployments.ts";
import { modelListRoutes } from "#http/api/model-list.ts";
import { myKeyRoutes } from "#http/api/my-keys.ts";
import { myRelayTokenRoutes } from "#http/api/my-relay-tokens.ts";
import { myUsageRoutes } from "#http/reports/own-usage.ts";
import { openApiRoutes } from "#http/openapi/routes.ts";
import { opsRoutes } from "#http/metrics/ops.ts";
import { createPage } from "#http/page/page.ts";
import { ssoRoutes } from "#http/api/sso.ts";
import { statsRoutes } from "#http/reports/stats.ts";
import { uiRoutes } from "#http/page/ui.ts";
import { createTransparent, RELAY_ROUTES, type Transparent } from "#http/ingress/transparent.ts";
import { createPathIndex, type PathIndex } from "#http/door/unknown-endpoint.ts";
import { createIngress, INGRESS_ROUTES } from "#http/ingress/v1.ts";

/** The whole interface, ready to be put behind a socket. */
export interface App {
  /** Any request. Never throws. */
  fetch(request: Request, connections: Connections | null): Promise<Response>;
  /** A POST of the data plane, by the shortest way. Never throws. */
  serve(endpoint: ServedEndpoint, request: Request, connections: Connections | null): Promise<Response>;
  /** A request of the relay. Never throws. */
  readonly relay: Transparent["serve"];
  /** Every route that is served, and who may call it. */
  readonly routes: readonly RouteEntry[];
}

/** Throws when a route does not declare who may call it. */
export function createApp(deps: AppDeps): App {
  const { config, clock, log } = deps;
  const hosts = createHostRule(config);
  const door = createDoor({ authenticator: deps.authenticator, publicUrl: config.publicUrl });
  const room = createBodyRoom({ bytesMax: config.maxBodyBytes });
  const ingress = createIngress({
    clock,
    log,
    hosts,
    door,
    exchange: deps.exchange,
    maxBodyBytes: config.maxBodyBytes,
    room,
  });
  const transparent = createTransparent({
    clock,
    log,
    hosts,
    relay: deps.relay,
    maxBodyBytes: config.maxBodyBytes,
  });

  const elysia = createApi(deps, { door, room, findPaths: () => paths });
  const routes = [...INGRESS_ROUTES, ...RELAY_ROUTES, ...toRouteTable(elysia.routes)];
  const paths = createPathIndex(routes);
  const endpoints = new Map(INGRESS_ROUTES.map(({ path, endpoint }) => [path, endpoint]));

  const route = async (request: Request, connections: Connections | null): Promise<Response> => {
    if (transparent.matches(request.url)) return await transparent.serve(request, connections, null);
    hosts.check(request.headers);
    const url = toRoutableUrl(request.url);
    if (url === null) throw new ProxyError("unknown_endpoint", "There is no such endpoint.");
    const endpoint = request.method === "POST" ? endpoints.get(url.pathname) : undefined;
    if (endpoint !== undefined) return await ingress.serve(endpoint, request, connections);
    const routable = url.href === request.url ? request : new Request(url.href, request);
    return withOwnHeaders(await elysia.fetch(routable));
  };

  return {
    routes,
    serve: (endpoint, request, connections) => ingress.serve(endpoint, request, connections),
    relay: transparent.serve,
    async fetch(request, connections) {
      try {
        return await route(request, connections);
      } catch (failure) {
        return toFailureResponse(failure, request, log);
      }
    },
  };
}

/** The routes behind Elysia, as a typed client sees them. */
export type Api = ReturnType<typeof createApi>;

interface ApiParts {
  readonly door: Door;
  readonly room: BodyRoom;
  /** Asked when a request comes: the index is made of these very routes. */
  readonly findPaths: () => PathIndex;
}

/** Its type says what every route takes and answers. */
function createApi(deps: AppDeps, { door, room, findPaths }: ApiParts) {
  const { config, clock, log, catalog } = deps;
  const guard = createGuard(door, Math.min(config.maxBodyBytes, JSON_BODY_BYTES_MAX), room);
  const feedGuard = createGuard(door, Math.min(config.maxBodyBytes, FEED_BODY_BYTES_MAX), room);
  const page = createPage({ assets: deps.assets, publicUrl: config.publicUrl });

  // `normalize` would drop unknown fields in silence, and the host is cut off the URL by its first slash, not by a guess.
  return (
    new Elysia({ normalize: false, strictPath: true, handler: { standardHostname: false } })
      // First, since a hook applies only to the routes that come after it.
      .onError(({ error, code, request }) => {
        const failure =
          code === "NOT_FOUND" ? findPaths().toUnknownEndpoint(new URL(request.url).pathname) : error;
        return toFailureResponse(failure, request, log);
      })
      .use(opsRoutes(guard, clock, deps.metrics))
      .use(openApiRoutes(guard))
      .use(modelListRoutes(guard, { door, catalog, page }))
      .use(authRoutes(guard, deps))
      .use(ssoRoutes(guard, deps))
      .use(myKeyRoutes(guard, deps))
      .use(myRelayTokenRoutes(guard, deps))
      .use(providerRoutes(guard, catalog))
      .use(discoveryRoutes(guard, deps.discovery))
      .use(modelRoutes(guard, catalog))
      .use(deploymentRoutes(guard, catalog))
      .use(pricingRoutes(feedGuard, catalog))
      .use(resolveRoutes(guard, catalog))
      .use(principalRoutes(guard, deps.principals))
      .use(keyRoutes(guard, deps))
      .use(relayTokenRoutes(guard, deps))
      .use(requestRoutes(guard, deps))
      .use(usageRoutes(guard, deps))
      .use(myUsageRoutes(guard, deps))
      .use(statsRoutes(guard, deps))
      .use(eventRoutes(guard, deps.audit))
      .use(uiRoutes(guard, { assets: deps.assets, page, findPaths }))
  );
}

/**
 * The URL that is routed by. Bun gives a bare path when the request had no Host (HTTP/1.0). Null for what is no path, as
 * in CONNECT, and for escapes that decode to no text, which Elysia would hand on as a missing parameter.
 */
function toRoutableUrl(text: string): URL | null {
  const url = URL.parse(text, text.startsWith("/") ? "http://localhost" : undefined);
  if (url === null || url.protocol !== "http:") return null;
  try {
    decodeURIComponent(url.pathname);
    return url;
  } catch {
    return null;
  }
}

/** Nothing that is served here is worth a cache's while, and much of it is nobody else's to see. */
function withOwnHeaders(response: Response): Response {
  const { headers } = response;
  headers.set("x-content-type-options", "nosniff");
  headers.set("referrer-policy", "no-referrer");
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  return response;
}
