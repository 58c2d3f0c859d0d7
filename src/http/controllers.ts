import { Elysia, ValidationError } from "elysia";
import { FEED_BODY_BYTES_MAX } from "#catalog/feed.ts";
import { authRoutes } from "#http/api/auth.ts";
import { catalogRoutes } from "#http/api/catalog.ts";
import { deploymentRoutes } from "#http/api/deployments.ts";
import { discoveryRoutes } from "#http/api/discovery.ts";
import { eventRoutes } from "#http/api/events.ts";
import { limitRoutes } from "#http/api/limits.ts";
import { modelListRoutes } from "#http/api/model-list.ts";
import { modelRoutes } from "#http/api/models.ts";
import { noticeRoutes } from "#http/api/notices.ts";
import { pricingPreviewRoutes } from "#http/reports/pricing-preview.ts";
import { pricingRoutes } from "#http/api/pricing.ts";
import { principalRoutes } from "#http/api/principals.ts";
import { providerRoutes } from "#http/api/providers.ts";
import { resolveRoutes } from "#http/api/resolve.ts";
import { settingsRoutes } from "#http/api/settings.ts";
import { ownSecretRoutes } from "#http/api/own-secrets.ts";
import { secretRoutes } from "#http/api/secrets.ts";
import { ssoRoutes } from "#http/api/sso.ts";
import type { BodyMemory } from "#http/door/body-memory.ts";
import { JSON_BODY_BYTES_MAX } from "#http/door/body.ts";
import { toDataPlane, toErrorDialect } from "#http/ingress/data-plane.ts";
import type { Failures } from "#http/door/failures.ts";
import type { Refusals } from "#http/door/refusals.ts";
import { toInvalidRequest } from "#http/door/invalid-request.ts";
import { limitChanges } from "#http/door/change-rate.ts";
import type { Peers } from "#http/door/connections.ts";
import type { Door } from "#http/door/door.ts";
import { createGuard } from "#http/door/guard.ts";
import { inOrderOfTags, toRoutes, type ElysiaRoute, type Route } from "#http/door/route.ts";
import { createPathIndex, type PathIndex } from "#http/door/unknown-endpoint.ts";
import { ENDPOINT_ROUTES } from "#http/ingress/endpoints.ts";
import { RELAY_ROUTES } from "#http/ingress/relay-routes.ts";
import type { Operation } from "#http/metrics/operation.ts";
import { opsRoutes } from "#http/metrics/ops.ts";
import { openApiRoutes } from "#http/openapi/routes.ts";
import { createPage } from "#http/page/page.ts";
import { uiRoutes } from "#http/page/ui.ts";
import { adminReportRoutes } from "#http/reports/admin-reports.ts";
import { myUsageRoutes } from "#http/reports/own-usage.ts";
import { refusalRoutes } from "#http/reports/refusals.ts";
import { statsRoutes } from "#http/reports/stats.ts";
import type { AppDeps } from "./deps.ts";

/** The routes behind Elysia, as a typed client sees them. */
export type Api = ReturnType<typeof createElysia>;

export interface Controllers {
  readonly elysia: Api;
  /** Every route that a server has, those of its native router included, in the order of the documentation. */
  readonly routes: readonly Route[];
}

export interface ControllerParts {
  readonly door: Door;
  readonly memory: BodyMemory;
  readonly operation: Operation;
  readonly peers: Pick<Peers, "find" | "findArrival">;
  readonly failures: Failures;
  readonly refusals: Pick<Refusals, "newest" | "find" | "counts" | "startedAtUs">;
  /** Hears of each failure that is answered as `internal_error`. */
  readonly onFailure?: (request: Request, failure: unknown) => void;
}

/** Throws when a route does not declare itself. */
export function createControllers(deps: AppDeps, parts: ControllerParts): Controllers {
  const elysia = createElysia(deps, { ...parts, findRoutes: () => routes, findPaths: () => paths });
  const routes = toAllRoutes(elysia.routes);
  const paths = createPathIndex(routes, () => deps.catalog.peek()?.capabilities ?? new Set());
  return { elysia, routes };
}

function toAllRoutes(routes: readonly ElysiaRoute[]): readonly Route[] {
  return inOrderOfTags([...ENDPOINT_ROUTES, ...RELAY_ROUTES, ...toRoutes(routes)]);
}

interface ElysiaParts extends ControllerParts {
  /** Functions, since both are made of these very routes; requests ask them. */
  readonly findRoutes: () => readonly Route[];
  readonly findPaths: () => PathIndex;
}

/** Its type says what every route takes and answers. */
function createElysia(deps: AppDeps, parts: ElysiaParts) {
  const { config, catalog } = deps;
  const { memory, operation, peers, failures, refusals, onFailure, findRoutes, findPaths } = parts;
  const door = limitChanges(parts.door, deps.clock);
  const guard = createGuard(door, Math.min(config.maxBodyBytes, JSON_BODY_BYTES_MAX), memory);
  const feedGuard = createGuard(door, Math.min(config.maxBodyBytes, FEED_BODY_BYTES_MAX), memory);
  const page = createPage({ assets: deps.assets, publicUrl: config.publicUrl });
  const answerFailure = (failure: unknown, request: Request): Response => {
    const { pathname } = new URL(request.url);
    const arrival = peers.findArrival(request);
    const response = failures.answer(failure, request, {
      arrivedAtUs: arrival?.arrivedAtUs ?? deps.clock.nowUs(),
      findAddress: arrival?.findAddress ?? (() => null),
      principal: null,
      dataPlane: toDataPlane(pathname),
      dialect: toErrorDialect(pathname),
    });
    if (response.status === 500) onFailure?.(request, failure);
    return response;
  };

  // `normalize` would drop unknown fields in silence, and the host is cut off the URL by its first slash, not by a guess.
  return (
    new Elysia({ normalize: false, strictPath: true, handler: { standardHostname: false } })
      // First, since a hook applies only to the routes that come after it.
      .onError(({ error, code, request }) => {
        if (error instanceof ValidationError) return answerFailure(toInvalidRequest(error), request);
        const { pathname } = new URL(request.url);
        return answerFailure(code === "NOT_FOUND" ? findPaths().toUnknownEndpoint(pathname) : error, request);
      })
      .use(modelListRoutes(guard, { door, catalog, page }))
      .use(authRoutes(guard, { ...deps, door, peers }))
      .use(ssoRoutes(guard, { ...deps, peers, answerFailure }))
      .use(ownSecretRoutes(guard, deps))
      .use(myUsageRoutes(guard, deps))
      .use(statsRoutes(guard, deps, refusals))
      .use(providerRoutes(guard, catalog))
      .use(discoveryRoutes(guard, deps.discovery))
      .use(modelRoutes(guard, catalog))
      .use(resolveRoutes(guard, catalog))
      .use(pricingRoutes(feedGuard, catalog))
      .use(pricingPreviewRoutes(feedGuard, deps))
      .use(catalogRoutes(feedGuard, catalog))
      .use(deploymentRoutes(guard, catalog))
      .use(principalRoutes(guard, deps.principals))
      .use(secretRoutes(guard, deps))
      .use(limitRoutes(guard, deps))
      .use(noticeRoutes(guard, deps.notices))
      .use(eventRoutes(guard, deps.audit))
      .use(settingsRoutes(guard, deps))
      .use(adminReportRoutes(guard, deps))
      .use(refusalRoutes(guard, refusals))
      .use(opsRoutes(guard, operation))
      .use(openApiRoutes(guard, findRoutes))
      .use(uiRoutes(guard, { assets: deps.assets, page, findPaths }))
  );
}
