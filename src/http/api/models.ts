import { Type } from "@sinclair/typebox";
import { json, route } from "#http/door/route.ts";
import { DRY_RUN, isDryRun } from "#http/door/switch.ts";
import { ModelView } from "#http/schemas/catalog.ts";
import { MODEL, PAGE, PRICING, PROVIDER } from "#http/schemas/examples.ts";
import { DeletedOrRemoval, pageOf } from "#http/schemas/shared.ts";
import type { Catalog } from "#catalog/catalog.ts";
import { toActor } from "#http/door/guard.ts";
import { emptyBody, isEmptyBody } from "#http/door/json-body.ts";
import { PAGE_QUERY, pageView, slicePage } from "#http/door/paging.ts";
import { ModelCreateRequest, ModelPatchRequest } from "#http/schemas/requests.ts";
import { IF_MATCH, toPrecondition, withTag } from "#http/door/if-match.ts";
import { toModelView } from "#views/catalog.ts";
import { toModelRemovalView } from "#views/removals.ts";
import { parsePage } from "#kernel/page.ts";

/** Models (specification, sections 2.4 and 4.6). An alias with `/` is URL-encoded in the path; a bare one is no route. */
export function modelRoutes(catalog: Catalog) {
  return [
    route({
      method: "POST",
      path: "/admin/v1/models",
      tag: "Catalog",
      access: "admin",
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
      errors: ["invalid_name", "invalid_target", "invalid_pricing", "provider_not_found", "alias_exists"],
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
      tag: "Catalog",
      access: "admin",
      summary: "The models",
      query: [
        ...PAGE_QUERY,
        {
          name: "provider",
          schema: Type.String(),
          description: "Only models of this provider.",
          example: PROVIDER.name,
        },
      ],
      answer: json(200, pageOf("models", ModelView), { models: [MODEL], ...PAGE }),
      run: async ({ query }) => {
        const page = parsePage(query);
        const { models } = await catalog.snapshot();
        const provider = query["provider"] ?? "";
        const found =
          provider === "" ? models : models.filter((resolved) => resolved.provider.name === provider);
        return { models: slicePage(found, page).map(toModelView), ...pageView(page, found.length) };
      },
    }),
    route({
      method: "PATCH",
      path: "/admin/v1/models/:alias",
      tag: "Catalog",
      access: "admin",
      summary: "Change a model",
      description: `A \`/\` in the alias is written \`%2F\`. \`capabilities\` and \`pricing\` replace the whole set. ${IF_MATCH}`,
      params: { alias: MODEL.alias },
      body: ModelPatchRequest,
      example: { hidden: true },
      answer: json(200, ModelView, { ...MODEL, hidden: true }, ["etag"]),
      errors: [
        "invalid_name",
        "invalid_target",
        "invalid_pricing",
        "model_not_found",
        "provider_not_found",
        "alias_exists",
        "changed_meanwhile",
      ],
      run: async ({ params, body, caller, request, headers }) => {
        const require = toPrecondition(request, "model", toModelView);
        const model = await catalog.updateModel(params.alias, toModelPatch(body), toActor(caller), require);
        return withTag(headers, "model", toModelView(model));
      },
    }),
    route({
      method: "DELETE",
      path: "/admin/v1/models/:alias",
      tag: "Catalog",
      access: "admin",
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
    hidden: body.hidden,
  };
}
