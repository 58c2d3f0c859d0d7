import { json, route } from "#http/door/route.ts";
import { DiscoveredModels } from "#http/schemas/catalog.ts";
import { INSTANT, MODEL, PROVIDER } from "#http/schemas/examples.ts";
import { oneOf } from "#http/schemas/shared.ts";
import type { Discovery } from "#catalog/discovery.ts";
import { ProviderCreateRequest } from "#http/schemas/requests.ts";
import { CREATE_ERRORS } from "./providers.ts";
import { toDiscoveredModelsView } from "#views/catalog.ts";

const CHAT_GUESS = {
  kind: "chat",
  capabilities: ["chat", "chat_stream"],
  guessed_from: "default",
} as const;

/** The models that a provider says it has (specification, sections 2.3 and 4.6); asking creates nothing. */
export function discoveryRoutes(discovery: Discovery) {
  return [
    // Not below `/providers`, where every name may be a provider's.
    route({
      method: "POST",
      path: "/admin/v1/discover",
      tag: "Catalog",
      access: "admin",
      summary: "What a provider would say that it has, before it is made",
      description: "Asks the provider with these settings and this key; stores neither.",
      body: ProviderCreateRequest,
      example: { name: "openai-2", base_url: PROVIDER.base_url, api_key: "sk-EXAMPLE" },
      answer: json(200, DiscoveredModels, {
        provider: "openai-2",
        discovered_at: INSTANT,
        models: [{ upstream_name: "gpt-5-mini", bound_alias: null, ...CHAT_GUESS }],
      }),
      errors: [...CREATE_ERRORS, "provider_unreachable", "discovery_failed"],
      run: async ({ body, request }) =>
        toDiscoveredModelsView(await discovery.test(body, request.signal), {
          includeCapabilities: true,
        }),
    }),
    route({
      method: "GET",
      path: "/admin/v1/providers/:name/discover",
      tag: "Catalog",
      access: "admin",
      summary: "What a provider says that it has",
      description: "Asks the provider; creates nothing.",
      params: { name: PROVIDER.name },
      query: [
        {
          name: "include_capabilities",
          schema: oneOf(["1"]),
          description:
            "What each would be bound as, too: its kind, its capabilities (none where no endpoint serves the kind), and whether the provider or the name says so.",
          example: "1",
        },
      ],
      answer: json(200, DiscoveredModels, {
        provider: PROVIDER.name,
        discovered_at: INSTANT,
        models: [
          { upstream_name: MODEL.upstream_name, bound_alias: MODEL.alias, ...CHAT_GUESS },
          {
            upstream_name: "whisper-1",
            bound_alias: null,
            kind: "transcription",
            capabilities: ["transcription"],
            guessed_from: "name",
          },
        ],
      }),
      errors: ["provider_not_found", "provider_unreachable", "discovery_failed"],
      run: async ({ params, query, request }) =>
        toDiscoveredModelsView(await discovery.discover(params.name, request.signal), {
          includeCapabilities: query["include_capabilities"] === "1",
        }),
    }),
  ] as const;
}
