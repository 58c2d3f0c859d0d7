import { Elysia } from "elysia";
import { json, route } from "#http/door/route.ts";
import { DiscoveredModels } from "#http/schemas/catalog.ts";
import { INSTANT, MODEL, PROVIDER } from "#http/schemas/examples.ts";
import type { Discovery } from "#catalog/discovery.ts";
import type { Guard } from "#http/door/guard.ts";
import { toDiscoveredModelsView } from "#views/catalog.ts";

/** The models that a provider says it has (specification, sections 2.3 and 4.6); asking creates nothing. */
export function discoveryRoutes(guard: Guard, discovery: Discovery) {
  return new Elysia({ prefix: "/admin/v1", tags: ["Catalog"] }).use(guard).get(
    "/providers/:name/discover",
    async ({ params, request }) =>
      toDiscoveredModelsView(await discovery.discover(params.name, request.signal)),
    route({
      access: "admin",
      summary: "What a provider says that it has",
      description: "Asks the provider; creates nothing.",
      params: { name: PROVIDER.name },
      answer: json(200, DiscoveredModels, {
        provider: PROVIDER.name,
        discovered_at: INSTANT,
        models: [
          { upstream_name: MODEL.upstream_name, bound_alias: MODEL.alias },
          { upstream_name: "gpt-5-mini", bound_alias: null },
        ],
      }),
      errors: ["provider_not_found", "provider_unreachable", "discovery_failed"],
    }),
  );
}
