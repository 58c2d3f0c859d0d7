import { ValidationError } from "elysia";
import { authRoutes } from "#http/api/auth.ts";
import { catalogRoutes } from "#http/api/catalog.ts";
import { deploymentRoutes } from "#http/api/deployments.ts";
import { discoveryRoutes, providerRoutes } from "#http/api/providers.ts";
import { eventRoutes } from "#http/api/events.ts";
import { limitRoutes } from "#http/api/limits.ts";
import { modelListRoutes } from "#http/api/model-list.ts";
import { modelRoutes, resolveRoutes } from "#http/api/models.ts";
import { noticeRoutes } from "#http/api/notices.ts";
import { pricingPreviewRoutes } from "#http/reports/pricing-preview.ts";
import { pricingRoutes } from "#http/api/pricing.ts";
import { principalRoutes } from "#http/api/principals.ts";
import { settingsRoutes } from "#http/api/settings.ts";
import { ownSecretRoutes, secretRoutes } from "#http/api/secrets.ts";
import { ssoRoutes } from "#http/api/sso.ts";
import type { BodyMemory } from "#http/door/body-memory.ts";
import { toDataPlane, toErrorDialect } from "#http/ingress/v1.ts";
import type { Failures } from "#http/door/failures.ts";
import type { Refusals } from "#http/door/refusals.ts";
import { toInvalidRequest } from "#http/door/json-body.ts";
import { type Door, limitChanges } from "#http/door/door.ts";
import type { Peers } from "#http/door/connections.ts";
import { serveRoutes } from "#http/door/guard.ts";
import { inOrderOfTags, type Route } from "#http/door/route.ts";
import { createPathIndex, type PathIndex } from "#http/door/unknown-endpoint.ts";
import { ENDPOINT_ROUTES, RELAY_ROUTES } from "#http/ingress/endpoints.ts";
import type { Operation } from "#http/metrics/operation.ts";
import { opsRoutes } from "#http/metrics/ops.ts";
import { openApiRoutes } from "#http/openapi/routes.ts";
import { createPage, uiRoutes } from "#http/page/page.ts";
import { adminReportRoutes } from "#http/reports/admin-reports.ts";
import { myUsageRoutes } from "#http/reports/own-usage.ts";
import { errorRoutes } from "#http/reports/errors.ts";
import { focusRoutes } from "#http/reports/focus.ts";
import { reconcileRoutes } from "#http/reports/reconcile.ts";
import { refusalRoutes } from "#http/reports/refusals.ts";
import { statementRoutes } from "#http/reports/statement.ts";
import { statsRoutes } from "#http/reports/stats.ts";
import { repricingRoutes } from "#http/reports/repricing.ts";
import { whatIfRoutes } from "#http/reports/what-if.ts";
import type { AppDeps } from "./deps.ts";

/** Every route behind Elysia, as a typed client sees it. */
export type Api = ReturnType<typeof toServedRoutes>[number];

export interface Controllers {
  readonly elysia: ReturnType<typeof serveRoutes>;
  /** Every route that a server has, those of its native router included, in the order of the documentation. */
  readonly routes: readonly Route[];
}

export interface ControllerParts {
  readonly door: Door;
  readonly memory: BodyMemory;
  readonly operation: Operation;
  readonly peers: Pick<Peers, "find" | "findArrival">;
  readonly failures: Failures;
  readonly refusals: Omit<Refusals, "add" | "close">;
  /** Hears of each failure that is answered as `internal_error`. */
  readonly onFailure?: (request: Request, failure: unknown) => void;
}

export function createControllers(deps: AppDeps, parts: ControllerParts): Controllers {
  const { config, clock, catalog } = deps;
  const { memory, peers, failures, onFailure } = parts;
  const door = limitChanges(parts.door, clock);
  const answerFailure = (failure: unknown, request: Request): Response => {
    const { pathname } = new URL(request.url);
    const arrival = peers.findArrival(request);
    const response = failures.answer(failure, request, {
      arrivedAtUs: arrival?.arrivedAtUs ?? clock.nowUs(),
      findAddress: arrival?.findAddress ?? (() => null),
      principal: null,
      dataPlane: toDataPlane(pathname),
      dialect: toErrorDialect(pathname),
    });
    if (response.status === 500) onFailure?.(request, failure);
    return response;
  };
  const served = toServedRoutes(deps, {
    ...parts,
    door,
    answerFailure,
    findRoutes: () => routes,
    findPaths: () => paths,
  });
  const routes = inOrderOfTags([...ENDPOINT_ROUTES, ...RELAY_ROUTES, ...served]);
  const paths = createPathIndex(routes, () => catalog.peek()?.capabilities ?? new Set());
  const elysia = serveRoutes(served, {
    door,
    memory,
    findRepricing: () => (isTold(deps.repricings.changingId) ? deps.repricings.changingId : null),
    maxBodyBytes: config.maxBodyBytes,
    answerFailure: (failure, code, request) => {
      if (failure instanceof ValidationError) return answerFailure(toInvalidRequest(failure), request);
      const { pathname } = new URL(request.url);
      return answerFailure(code === "NOT_FOUND" ? paths.toUnknownEndpoint(pathname) : failure, request);
    },
  });
  return { elysia, routes };
}

/** A local command has a stand-in for what it lacks. */
function isTold(id: unknown): id is string {
  return typeof id === "string";
}

interface RouteParts extends Pick<ControllerParts, "door" | "operation" | "peers" | "refusals"> {
  /** The envelope of a refusal. */
  readonly answerFailure: (failure: unknown, request: Request) => Response;
  /** Functions, since both are made of these very routes; requests ask them. */
  readonly findRoutes: () => readonly Route[];
  readonly findPaths: () => PathIndex;
}

/** The routes of every controller, in the order in which the documentation has those of one tag. */
function toServedRoutes(deps: AppDeps, parts: RouteParts) {
  const { config, catalog } = deps;
  const { door, operation, peers, refusals, answerFailure, findRoutes, findPaths } = parts;
  const page = createPage({ assets: deps.assets, publicUrl: config.publicUrl });
  return [
    ...modelListRoutes({ door, catalog, page }),
    ...authRoutes({ ...deps, door, peers }),
    ...ssoRoutes({ ...deps, peers, answerFailure }),
    ...ownSecretRoutes(deps),
    ...myUsageRoutes(deps, refusals),
    ...statsRoutes(deps, refusals),
    ...errorRoutes(deps),
    ...whatIfRoutes(deps),
    ...focusRoutes(deps),
    ...statementRoutes(deps),
    ...providerRoutes(catalog),
    ...discoveryRoutes(deps.discovery),
    ...modelRoutes(deps),
    ...resolveRoutes(catalog),
    ...pricingRoutes(deps),
    ...pricingPreviewRoutes(deps),
    ...catalogRoutes(deps),
    ...deploymentRoutes(catalog),
    ...principalRoutes(deps.principals),
    ...secretRoutes(deps),
    ...limitRoutes(deps),
    ...noticeRoutes(deps.notices),
    ...eventRoutes(deps.audit),
    ...settingsRoutes(deps),
    ...adminReportRoutes(deps, refusals),
    ...repricingRoutes(deps),
    ...reconcileRoutes(deps),
    ...refusalRoutes(refusals),
    ...opsRoutes(operation),
    ...openApiRoutes(findRoutes),
    ...uiRoutes({ assets: deps.assets, page, findPaths }),
  ] as const;
}
