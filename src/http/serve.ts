import type { App } from "./app.ts";
import { type Connections, IDLE_TIMEOUT_SECONDS } from "#http/door/connections.ts";
import { toRelayRoutes } from "#http/ingress/transparent.ts";
import { ENDPOINT_NAMES, toPaths, toRow } from "#catalog/endpoint.ts";

export interface Binding {
  readonly hostname: string;
  /** 0 takes any free port. */
  readonly port: number;
}

/**
 * Puts the interface behind a socket: the endpoints that are always open on Bun's own router (about 10 µs a request
 * cheaper), and the relay's, since that router alone sees a path as it was sent; everything else, other methods on the
 * former included, behind `fetch`.
 */
export function toServeOptions(app: App, { hostname, port }: Binding) {
  return {
    hostname,
    port,
    idleTimeout: IDLE_TIMEOUT_SECONDS,
    // Bun's own refusal has no envelope: ours comes first, at PROXY_MAX_BODY_BYTES.
    maxRequestBodySize: Infinity,
    // Without it an error shows a page with lines of the source.
    development: false,
    routes: {
      ...Object.fromEntries(
        ENDPOINT_NAMES.filter((name) => toRow(name).isAlwaysOpen === true).flatMap((name) => {
          const found = { name, id: "" };
          const POST = (request: Request, server: Connections) => app.serve(found, request, server);
          return toPaths(name).map((path) => [path, { POST }]);
        }),
      ),
      ...toRelayRoutes(app.relay),
    },
    fetch: (request: Request, server: Connections) => app.fetch(request, server),
  };
}
