import { Elysia } from "elysia";
import type { Catalog } from "#catalog/catalog.ts";
import { toActor, type Guard } from "#http/door/guard.ts";
import { pageView, slicePage } from "#http/door/paging.ts";
import { ProviderCreateRequest, ProviderPatchRequest } from "#http/schemas/requests.ts";
import { toProviderView, toSingleProviderView } from "#views/catalog.ts";
import { ProxyError } from "#kernel/errors.ts";
import { parsePage } from "#kernel/page.ts";

/** Providers (specification, sections 2.3 and 4.6). */
export function providerRoutes(guard: Guard, catalog: Catalog) {
  return new Elysia({ prefix: "/admin/v1" })
    .use(guard)
    .post(
      "/providers",
      async ({ body, caller, status }) => {
        const provider = await catalog.createProvider(
          { name: body.name, baseUrl: body.base_url, wireFormat: body.wire_format, ...toSettings(body) },
          toActor(caller),
        );
        return status(201, toSingleProviderView(provider));
      },
      { access: "admin", body: ProviderCreateRequest },
    )
    .get(
      "/providers",
      async ({ query }) => {
        const page = parsePage(query);
        const { providers } = await catalog.snapshot();
        return {
          providers: slicePage(providers, page).map(toProviderView),
          ...pageView(page, providers.length),
        };
      },
      { access: "admin" },
    )
    .get(
      "/providers/:name",
      async ({ params }) => {
        const provider = (await catalog.snapshot()).findProvider(params.name);
        if (provider === null) throw new ProxyError("provider_not_found", "No such provider.");
        return toSingleProviderView(provider);
      },
      { access: "admin" },
    )
    .patch(
      "/providers/:name",
      async ({ params, body, caller }) => {
        const patch = {
          enabled: body.enabled,
          baseUrl: body.base_url,
          removeCredential: body.remove_credential,
        };
        const provider = await catalog.updateProvider(
          params.name,
          { ...patch, ...toSettings(body) },
          toActor(caller),
        );
        return toSingleProviderView(provider);
      },
      { access: "admin", body: ProviderPatchRequest },
    )
    .delete(
      "/providers/:name",
      async ({ params, caller }) => {
        await catalog.deleteProvider(params.name, toActor(caller));
        return { deleted: params.name };
      },
      { access: "admin" },
    );
}

type ProviderSettings = Omit<
  typeof ProviderPatchRequest.static,
  "enabled" | "base_url" | "remove_credential"
>;

/** What a create and a patch have in common. */
function toSettings(body: ProviderSettings) {
  return {
    apiKey: body.api_key,
    verifyTls: body.verify_tls,
    caPem: body.ca_pem,
    timeoutConnectSeconds: body.timeout_connect,
    timeoutReadSeconds: body.timeout_read,
    maxConcurrency: body.max_concurrency,
    endpoints: body.endpoints,
  };
}
