import { Elysia } from "elysia";
import type { Discovery } from "#catalog/discovery.ts";
import type { Guard } from "#http/door/guard.ts";
import { toDiscoveredModelsView } from "#views/catalog.ts";

/** What a provider says that it has (specification, sections 2.3 and 4.6); asking creates nothing. */
export function discoveryRoutes(guard: Guard, discovery: Discovery) {
  return new Elysia({ prefix: "/admin/v1" })
    .use(guard)
    .get(
      "/providers/:name/discover",
      async ({ params, request }) =>
        toDiscoveredModelsView(await discovery.discover(params.name, request.signal)),
      { access: "admin" },
    );
}
