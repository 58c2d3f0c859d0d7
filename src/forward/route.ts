import {
  type EndpointName,
  type MeterName,
  toRow,
  UNBILLED_ENDPOINTS,
  usesNothing,
} from "#catalog/endpoint.ts";
import { toAuthHeader } from "#catalog/provider-fields.ts";
import { openCredential } from "#catalog/provider.ts";
import { upstreamUrl } from "#catalog/resolve.ts";
import type { ResolvedModel } from "#catalog/snapshot.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import type { UsageMetrics } from "#usage/metrics.ts";
import type { ConcurrencyLimiter, PermitQueue } from "./concurrency-limiter.ts";
import { toProxiedBy } from "./headers.ts";
import { hasPrices } from "./metering.ts";
import type { RequestTerms } from "./proxied-request.ts";
import { toJsonText } from "./request-body.ts";
import type { Upstream, UpstreamTarget } from "./upstream.ts";

/** The part that all requests to a model's endpoint share. Held in memory only, and never logged: it holds the credential. */
export interface Route extends RequestTerms {
  readonly resolved: ResolvedModel;
  readonly method: string;
  readonly meter: MeterName;
  readonly target: UpstreamTarget;
  /** `max_concurrency` counts per provider and host. */
  readonly queue: PermitQueue;
  /** The header that it is sent in. */
  readonly authHeader: [name: string, value: string] | null;
  /** The upstream model name as it stands in a body. */
  readonly upstreamJson: Uint8Array;
  /** See `hasPrices`. */
  readonly hasPrice: () => boolean;
}

interface RouteDeps {
  readonly secrets: SecretBox;
  readonly limiter: ConcurrencyLimiter;
  readonly metrics: Pick<UsageMetrics, "open">;
  readonly upstream: Upstream;
}

type Routes = { [endpoint in EndpointName]?: Route };

/**
 * The routes of each model, made once for each state of it: opening the credential and parsing the URL on every request
 * would cost more than reading its body. A change of the catalog makes a new `ResolvedModel`, and the old one's routes go
 * with it.
 */
export function createRoutes(deps: RouteDeps): (model: ResolvedModel, endpoint: EndpointName) => Route {
  const known = new WeakMap<ResolvedModel, Routes>();
  return (model, endpoint) => {
    let routes = known.get(model);
    if (routes === undefined) {
      routes = {};
      known.set(model, routes);
    }
    return (routes[endpoint] ??= makeRoute(model, { endpoint, id: "" }, deps));
  };
}

/** `id` is the segment of the path at `:id`, encoded; empty for a path without one. */
export function makeRoute(
  resolved: ResolvedModel,
  { endpoint, id }: { readonly endpoint: EndpointName; readonly id: string },
  { secrets, limiter, metrics, upstream }: RouteDeps,
): Route {
  const { model, provider, upstreamName } = resolved;
  const { method, meter } = toRow(endpoint);
  const url = upstreamUrl(provider, endpoint, id);
  const credential = openCredential(secrets, provider);
  return {
    resolved,
    providerId: provider.id,
    model: model.alias,
    upstreamName,
    endpoint,
    method,
    meter,
    target: upstream.openTarget(url, provider),
    queue: limiter.openQueue(`${provider.id} ${new URL(url).host}`),
    credential,
    authHeader: toAuthHeader(provider.authStyle, credential),
    upstreamJson: toJsonText(upstreamName),
    idleMs: provider.timeoutReadSeconds * 1000,
    proxiedBy: toProxiedBy(provider.name, upstreamName),
    providerName: provider.name,
    hasPrice: () => hasPrices(resolved, endpoint),
    usesNothing: usesNothing(endpoint),
    isBilled: !UNBILLED_ENDPOINTS.has(endpoint),
    counter: metrics.open({ endpoint, provider: provider.name, model: model.alias }),
    // A model that is deleted while its request runs is charged as it was.
    knownPrices: resolved,
    findPrices: (catalog) => catalog.findModelById(model.id),
  };
}
