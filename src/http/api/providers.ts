import { DRY_RUN, isDryRun } from "#http/door/switch.ts";
import type { Catalog } from "#catalog/catalog.ts";
import type { Discovery } from "#catalog/discovery.ts";
import { toActor } from "#http/door/guard.ts";
import { IF_MATCH, toPrecondition, withTag } from "#http/door/if-match.ts";
import { PAGE_QUERY, pageView, slicePage } from "#http/door/paging.ts";
import { json, route } from "#http/door/route.ts";
import { DiscoveredModels, ProviderListEntry, ProviderView, TestedProvider } from "#http/schemas/catalog.ts";
import { INSTANT, MODEL, PAGE, PROVIDER } from "#http/schemas/examples.ts";
import { NoAdminRequest, ProviderCreateRequest, ProviderPatchRequest } from "#http/schemas/requests.ts";
import { DeletedOrRemoval, oneOf, pageOf } from "#http/schemas/shared.ts";
import { toProviderNotFound } from "#catalog/provider.ts";
import { toProviderRemovalView } from "#views/removals.ts";
import { parsePage } from "#kernel/page.ts";
import {
  toDiscoveredModelsView,
  toProviderView,
  toSingleProviderView,
  toTestedProviderView,
} from "#views/catalog.ts";

/** Codes of a draft that cannot become a provider. */
const CREATE_ERRORS = [
  "invalid_name",
  "invalid_wire_format",
  "invalid_base_url",
  "invalid_endpoint",
  "invalid_override",
  "provider_exists",
] as const;

const SINGLE_PROVIDER = { ...PROVIDER, endpoints: {} };

const ADMIN = { tag: "Catalog", access: "admin" } as const;

/** Providers (specification, sections 2.3 and 4.6). */
export function providerRoutes(catalog: Catalog) {
  return [
    route({
      method: "POST",
      path: "/admin/v1/providers",
      ...ADMIN,
      summary: "Make a provider",
      body: ProviderCreateRequest,
      example: { name: PROVIDER.name, base_url: PROVIDER.base_url, api_key: "sk-EXAMPLE" },
      answer: json(201, ProviderView, SINGLE_PROVIDER),
      errors: CREATE_ERRORS,
      run: async ({ body, caller }) => {
        const provider = await catalog.createProvider(body, toActor(caller));
        return toSingleProviderView(provider);
      },
    }),
    route({
      method: "GET",
      path: "/admin/v1/providers",
      ...ADMIN,
      summary: "The providers",
      query: PAGE_QUERY,
      answer: json(200, pageOf("providers", ProviderListEntry), { providers: [PROVIDER], ...PAGE }),
      run: async ({ query }) => {
        const page = parsePage(query);
        const { providers } = await catalog.snapshot();
        return {
          providers: slicePage(providers, page).map(toProviderView),
          ...pageView(page, providers.length),
        };
      },
    }),
    route({
      method: "GET",
      path: "/admin/v1/providers/:name",
      ...ADMIN,
      summary: "One provider",
      params: { name: PROVIDER.name },
      answer: json(200, ProviderView, SINGLE_PROVIDER, ["etag"]),
      errors: ["provider_not_found"],
      run: async ({ params, headers }) => {
        const snapshot = await catalog.snapshot();
        const provider = snapshot.findProvider(params.name);
        if (provider === null) throw toProviderNotFound(snapshot, params.name);
        return withTag(headers, "provider", toSingleProviderView(provider));
      },
    }),
    route({
      method: "PATCH",
      path: "/admin/v1/providers/:name",
      ...ADMIN,
      summary: "Change a provider",
      description: IF_MATCH,
      params: { name: PROVIDER.name },
      body: ProviderPatchRequest,
      example: { timeout_read: 120, max_concurrency: 8 },
      answer: json(200, ProviderView, { ...SINGLE_PROVIDER, timeout_read: 120, max_concurrency: 8 }, [
        "etag",
      ]),
      errors: [
        "invalid_base_url",
        "invalid_endpoint",
        "invalid_override",
        "provider_not_found",
        "changed_meanwhile",
      ],
      run: async ({ params, body, caller, request, headers }) => {
        const provider = await catalog.updateProvider(
          params.name,
          body,
          toActor(caller),
          toPrecondition(request, "provider", toSingleProviderView),
        );
        return withTag(headers, "provider", toSingleProviderView(provider));
      },
    }),
    route({
      method: "POST",
      path: "/admin/v1/providers/:name/restore-credential",
      ...ADMIN,
      summary: "Take the former credential of a provider back",
      description: `The credential that was replaced within the last day serves again from the next request on, and the one that it replaces becomes the former. The body may be left out. ${IF_MATCH}`,
      params: { name: PROVIDER.name },
      body: NoAdminRequest,
      example: {},
      isBodyOptional: true,
      answer: json(200, ProviderView, SINGLE_PROVIDER, ["etag"]),
      errors: ["provider_not_found", "former_credential_not_found", "changed_meanwhile"],
      run: async ({ params, caller, request, headers }) => {
        const provider = await catalog.restoreCredential(
          params.name,
          toActor(caller),
          toPrecondition(request, "provider", toSingleProviderView),
        );
        return withTag(headers, "provider", toSingleProviderView(provider));
      },
    }),
    route({
      method: "DELETE",
      path: "/admin/v1/providers/:name",
      ...ADMIN,
      summary: "Delete a provider, its models and the names for them",
      params: { name: PROVIDER.name },
      description: IF_MATCH,
      query: DRY_RUN,
      answer: json(200, DeletedOrRemoval, { deleted: PROVIDER.name }),
      errors: ["invalid_request", "provider_not_found", "model_in_use", "changed_meanwhile"],
      run: async ({ params, caller, request }) => {
        const require = toPrecondition(request, "provider", toSingleProviderView);
        if (isDryRun(request))
          return toProviderRemovalView(await catalog.findProviderRemoval(params.name, require));
        await catalog.deleteProvider(params.name, toActor(caller), require);
        return { deleted: params.name };
      },
    }),
  ] as const;
}

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
      ...ADMIN,
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
      method: "POST",
      path: "/admin/v1/providers/:name/test",
      ...ADMIN,
      summary: "What a provider says once it is changed so",
      description:
        "Asks the provider for its models as it would be after this change, and stores nothing of it: without a body as it is. URLs of single endpoints are not asked. The stored credential goes nowhere but where it was stored for: for another address or other TLS settings, send `api_key` as well.",
      params: { name: PROVIDER.name },
      body: ProviderPatchRequest,
      example: { api_key: "sk-EXAMPLE" },
      isBodyOptional: true,
      answer: json(200, TestedProvider, {
        provider: PROVIDER.name,
        discovered_at: INSTANT,
        models: [{ upstream_name: MODEL.upstream_name, bound_alias: MODEL.alias, ...CHAT_GUESS }],
        credential_checked: true,
      }),
      errors: [
        "invalid_base_url",
        "invalid_endpoint",
        "invalid_override",
        "provider_not_found",
        "provider_unreachable",
        "discovery_failed",
      ],
      run: async ({ params, body, request }) =>
        toTestedProviderView(await discovery.testChange(params.name, body, request.signal)),
    }),
    route({
      method: "GET",
      path: "/admin/v1/providers/:name/discover",
      ...ADMIN,
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
