import { json, route } from "#http/door/route.ts";
import { DRY_RUN, isDryRun } from "#http/door/switch.ts";
import { ProviderListEntry, ProviderView } from "#http/schemas/catalog.ts";
import { PAGE, PROVIDER } from "#http/schemas/examples.ts";
import { DeletedOrRemoval, pageOf } from "#http/schemas/shared.ts";
import type { Catalog } from "#catalog/catalog.ts";
import { toActor } from "#http/door/guard.ts";
import { PAGE_QUERY, pageView, slicePage } from "#http/door/paging.ts";
import { ProviderCreateRequest, ProviderPatchRequest } from "#http/schemas/requests.ts";
import { IF_MATCH, toPrecondition, withTag } from "#http/door/if-match.ts";
import { toProviderView, toSingleProviderView } from "#views/catalog.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toProviderRemovalView } from "#views/removals.ts";
import { parsePage } from "#kernel/page.ts";

/** Codes of a draft that cannot become a provider. */
export const CREATE_ERRORS = [
  "invalid_name",
  "invalid_wire_format",
  "invalid_base_url",
  "invalid_endpoint",
  "invalid_override",
  "provider_exists",
] as const;

const SINGLE_PROVIDER = { ...PROVIDER, endpoints: {} };

/** Providers (specification, sections 2.3 and 4.6). */
export function providerRoutes(catalog: Catalog) {
  return [
    route({
      method: "POST",
      path: "/admin/v1/providers",
      tag: "Catalog",
      access: "admin",
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
      tag: "Catalog",
      access: "admin",
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
      tag: "Catalog",
      access: "admin",
      summary: "One provider",
      params: { name: PROVIDER.name },
      answer: json(200, ProviderView, SINGLE_PROVIDER, ["etag"]),
      errors: ["provider_not_found"],
      run: async ({ params, headers }) => {
        const provider = (await catalog.snapshot()).findProvider(params.name);
        if (provider === null) throw new ProxyError("provider_not_found", "No such provider.");
        return withTag(headers, "provider", toSingleProviderView(provider));
      },
    }),
    route({
      method: "PATCH",
      path: "/admin/v1/providers/:name",
      tag: "Catalog",
      access: "admin",
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
      method: "DELETE",
      path: "/admin/v1/providers/:name",
      tag: "Catalog",
      access: "admin",
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
