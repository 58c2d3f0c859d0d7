import { Elysia } from "elysia";
import { json, route } from "#http/door/route.ts";
import { DiscoveredModels } from "#http/schemas/catalog.ts";
import { INSTANT, MODEL, PROVIDER } from "#http/schemas/examples.ts";
import type { Discovery } from "#catalog/discovery.ts";
import type { Guard } from "#http/door/guard.ts";
import { ProviderCreateRequest } from "#http/schemas/requests.ts";
import { CREATE_ERRORS, toProviderDraft } from "./providers.ts";
import { toDiscoveredModelsView } from "#views/catalog.ts";

/** The models that a provider says it has (specification, sections 2.3 and 4.6); asking creates nothing. */
export function discoveryRoutes(guard: Guard, discovery: Discovery) {
  return (
    new Elysia({ prefix: "/admin/v1", tags: ["Catalog"] })
      .use(guard)
      // Not below `/providers`, where every name may be a provider's.
      .post(
        "/discover",
        async ({ body, request }) =>
          toDiscoveredModelsView(await discovery.test(toProviderDraft(body), request.signal)),
        route({
          access: "admin",
          summary: "What a provider would say that it has, before it is made",
          description: "Asks the provider with these settings and this key; stores neither.",
          body: ProviderCreateRequest,
          example: { name: "openai-2", base_url: PROVIDER.base_url, api_key: "sk-EXAMPLE" },
          answer: json(200, DiscoveredModels, {
            provider: "openai-2",
            discovered_at: INSTANT,
            models: [{ upstream_name: "gpt-5-mini", bound_alias: null }],
          }),
          errors: [...CREATE_ERRORS, "provider_unreachable", "discovery_failed"],
        }),
      )
      .get(
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
      )
  );
}
