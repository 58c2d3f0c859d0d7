import { DRY_RUN, isDryRun } from "#http/door/switch.ts";
import { toModelRemovalView } from "#views/removals.ts";
import { Type } from "@sinclair/typebox";
import type { Catalog } from "#catalog/catalog.ts";
import { ENDPOINTS, isEndpoint } from "#catalog/endpoint.ts";
import { requireCapability, resolveModel } from "#catalog/resolve.ts";
import { toActor } from "#http/door/guard.ts";
import { IF_MATCH, toPrecondition, withTag } from "#http/door/if-match.ts";
import { emptyBody, isEmptyBody } from "#http/door/json-body.ts";
import { PAGE_QUERY, pageView, slicePage } from "#http/door/paging.ts";
import { json, route } from "#http/door/route.ts";
import { countRepriceable, listBackdatedOf, type RepriceableDeps } from "#http/api/repriceable.ts";
import { ModelRow, ModelView, PatchedModel, ResolveResult } from "#http/schemas/catalog.ts";
import { MODEL, PAGE, PRICING, PROVIDER } from "#http/schemas/examples.ts";
import { ModelCreateRequest, ModelPatchRequest } from "#http/schemas/requests.ts";
import { DeletedOrRemoval, oneOf, pageOf } from "#http/schemas/shared.ts";
import { ProxyError } from "#kernel/errors.ts";
import { parsePage } from "#kernel/page.ts";
import { toModelView, toResolveView, toUnpricedModelView } from "#views/catalog.ts";

const ADMIN = { tag: "Catalog", access: "admin" } as const;

/** Models (specification, sections 2.4 and 4.6). An alias with `/` is URL-encoded in the path; a bare one is no route. */
export function modelRoutes(deps: RepriceableDeps) {
  const { catalog } = deps;
  return [
    route({
      method: "POST",
      path: "/admin/v1/models",
      ...ADMIN,
      summary: "Make a model",
      description: "Either `provider` and `upstream_name`, or `target`: a name for another model.",
      body: ModelCreateRequest,
      example: {
        alias: MODEL.alias,
        provider: MODEL.provider,
        upstream_name: MODEL.upstream_name,
        capabilities: MODEL.capabilities,
        pricing: PRICING,
      },
      answer: json(201, ModelView, MODEL),
      errors: [
        "invalid_name",
        "invalid_target",
        "invalid_pricing",
        "invalid_price_variants",
        "provider_not_found",
        "alias_exists",
      ],
      run: async ({ body, caller }) => {
        // A missing body is refused here: every field may be left out, so that the schema takes it for `{}`.
        if (isEmptyBody(body)) throw emptyBody();
        const draft = { ...toModelPatch(body), origin: body.origin };
        return toModelView(await catalog.createModel(draft, toActor(caller)));
      },
    }),
    route({
      method: "GET",
      path: "/admin/v1/models",
      ...ADMIN,
      summary: "The models",
      query: [
        ...PAGE_QUERY,
        {
          name: "provider",
          schema: Type.String(),
          description: "Only models of this provider.",
          example: PROVIDER.name,
        },
        {
          name: "include_unpriced",
          schema: oneOf(["1"]),
          description: "The units too that each needs a price for: without it requests are unpriced.",
          example: "1",
        },
      ],
      answer: json(200, pageOf("models", ModelRow), { models: [{ ...MODEL, unpriced_units: [] }], ...PAGE }),
      run: async ({ query }) => {
        const page = parsePage(query);
        const { models } = await catalog.snapshot();
        const provider = query["provider"] ?? "";
        const found =
          provider === "" ? models : models.filter((resolved) => resolved.provider.name === provider);
        const toView = query["include_unpriced"] === "1" ? toUnpricedModelView : toModelView;
        return { models: slicePage(found, page).map(toView), ...pageView(page, found.length) };
      },
    }),
    route({
      method: "PATCH",
      path: "/admin/v1/models/:alias",
      ...ADMIN,
      summary: "Change a model",
      description: `A \`/\` in the alias is written \`%2F\`. \`capabilities\`, \`pricing\` and \`price_variants\` replace the whole set, and leave one another. With \`effective_from\` the prices of the body hold from that moment, and everything else from now on. ${IF_MATCH}`,
      params: { alias: MODEL.alias },
      body: ModelPatchRequest,
      example: { hidden: true },
      answer: json(200, PatchedModel, { ...MODEL, hidden: true }, ["etag"]),
      errors: [
        "invalid_date",
        "invalid_name",
        "invalid_target",
        "invalid_pricing",
        "invalid_price_variants",
        "model_not_found",
        "provider_not_found",
        "alias_exists",
        "too_many_schedules",
        "changed_meanwhile",
      ],
      run: async ({ params, body, caller, request, headers }) => {
        const require = toPrecondition(request, "model", toModelView);
        const effectiveFrom = body.effective_from;
        const patch = { ...toModelPatch(body), effectiveFrom };
        const model = await catalog.updateModel(params.alias, patch, toActor(caller), require);
        const dated = listBackdatedOf(model.model, body);
        const view = withTag(headers, "model", toModelView(model));
        return { ...view, ...(await countRepriceable(deps, dated, { request, caller })) };
      },
    }),
    route({
      method: "DELETE",
      path: "/admin/v1/models/:alias",
      ...ADMIN,
      summary: "Delete a model",
      params: { alias: MODEL.alias },
      description: IF_MATCH,
      query: DRY_RUN,
      answer: json(200, DeletedOrRemoval, { deleted: MODEL.alias }),
      errors: ["invalid_request", "model_not_found", "model_in_use", "changed_meanwhile"],
      run: async ({ params, caller, request }) => {
        const require = toPrecondition(request, "model", toModelView);
        if (isDryRun(request))
          return toModelRemovalView(await catalog.findModelRemoval(params.alias, require));
        await catalog.deleteModel(params.alias, toActor(caller), require);
        return { deleted: params.alias };
      },
    }),
  ] as const;
}

function toModelPatch(body: typeof ModelPatchRequest.static) {
  return {
    alias: body.alias,
    provider: body.provider,
    upstreamName: body.upstream_name,
    target: body.target,
    capabilities: body.capabilities,
    pricing: body.pricing,
    priceVariants: body.price_variants,
    hidden: body.hidden,
  };
}

/** The resolution of the data plane, asked without sending anything. */
export function resolveRoutes(catalog: Catalog) {
  return [
    route({
      method: "GET",
      path: "/admin/v1/resolve",
      ...ADMIN,
      summary: "Where a request for a model would go",
      query: [
        { name: "model", schema: Type.String(), description: "An alias. Required.", example: MODEL.alias },
        {
          name: "endpoint",
          schema: Type.String({ enum: [...ENDPOINTS], default: "chat" }),
          description: "What it is asked for.",
          example: "chat",
        },
        {
          name: "stream",
          schema: oneOf(["true", "1", "false", "0"]),
          description: "Also needs `chat_stream`.",
          example: "true",
        },
      ],
      answer: json(200, ResolveResult, {
        alias: MODEL.alias,
        provider: MODEL.provider,
        upstream_name: MODEL.upstream_name,
        url: `${PROVIDER.base_url}/chat/completions`,
        capabilities: MODEL.capabilities,
      }),
      errors: ["model_required", "invalid_endpoint", "model_not_found", "endpoint_not_supported"],
      run: async ({ query }) => {
        const alias = query["model"] ?? "";
        if (alias === "")
          throw new ProxyError("model_required", "Name a model in the query.", { param: "model" });
        const endpoint =
          query["endpoint"] === undefined || query["endpoint"] === "" ? "chat" : query["endpoint"];
        if (!isEndpoint(endpoint)) {
          throw new ProxyError("invalid_endpoint", `endpoint is one of ${ENDPOINTS.join(", ")}.`, {
            param: "endpoint",
          });
        }
        const resolved = resolveModel(await catalog.snapshot(), alias);
        requireCapability(resolved, endpoint, query["stream"] === "true" || query["stream"] === "1");
        return toResolveView(resolved, endpoint);
      },
    }),
  ] as const;
}
