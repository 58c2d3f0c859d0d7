import type { ServedEndpoint } from "#catalog/capability.ts";
import { openCredential, type Provider } from "#catalog/provider.ts";
import { upstreamUrl } from "#catalog/resolve.ts";
import type { SecretBox } from "#kernel/crypto.ts";

/** Where a request goes and with which credential. Held in memory only, and never logged. */
export interface UpstreamRoute {
  readonly url: string;
  /** The line that it waits in: `max_concurrency` counts per provider and host. */
  readonly queueName: string;
  readonly credential: string | null;
}

/**
 * The routes to each provider, made once for each state of it: opening the credential and parsing the URL on every
 * request would cost more than reading its body. A change makes a new `Provider`, and the old one's routes go with it.
 */
export function createRoutes(
  secrets: SecretBox,
): (provider: Provider, endpoint: ServedEndpoint) => UpstreamRoute {
  const known = new WeakMap<Provider, Map<ServedEndpoint, UpstreamRoute>>();
  return (provider, endpoint) => {
    let routes = known.get(provider);
    if (routes === undefined) {
      routes = new Map();
      known.set(provider, routes);
    }
    let route = routes.get(endpoint);
    if (route === undefined) {
      const url = upstreamUrl(provider, endpoint);
      route = {
        url,
        queueName: `${provider.id} ${new URL(url).host}`,
        credential: openCredential(secrets, provider),
      };
      routes.set(endpoint, route);
    }
    return route;
  };
}
