import { Elysia } from "elysia";
import type { Catalog } from "#catalog/catalog.ts";
import { toActor, type Guard } from "#http/door/guard.ts";
import { emptyBody, isEmptyBody } from "#http/door/json-body.ts";
import { pageView, slicePage } from "#http/door/paging.ts";
import { ModelCreateRequest, ModelPatchRequest } from "#http/schemas/requests.ts";
import { toModelView } from "#views/catalog.ts";
import { parsePage } from "#kernel/page.ts";

/** Models (specification, sections 2.4 and 4.6). An alias with `/` is URL-encoded in the path; a bare one is no route. */
export function modelRoutes(guard: Guard, catalog: Catalog) {
  return new Elysia({ prefix: "/admin/v1" })
    .use(guard)
    .post(
      "/models",
      async ({ body, caller, status }) => {
        // Every field may be left out, so that nothing else would tell a body that did not come from a `{}`.
        if (isEmptyBody(body)) throw emptyBody();
        const draft = { ...toModelPatch(body), origin: body.origin };
        return status(201, toModelView(await catalog.createModel(draft, toActor(caller))));
      },
      { access: "admin", body: ModelCreateRequest },
    )
    .get(
      "/models",
      async ({ query }) => {
        const page = parsePage(query);
        const { models } = await catalog.snapshot();
        const provider = query["provider"] ?? "";
        const found =
          provider === "" ? models : models.filter((resolved) => resolved.provider.name === provider);
        return { models: slicePage(found, page).map(toModelView), ...pageView(page, found.length) };
      },
      { access: "admin" },
    )
    .patch(
      "/models/:alias",
      async ({ params, body, caller }) =>
        toModelView(await catalog.updateModel(params.alias, toModelPatch(body), toActor(caller))),
      { access: "admin", body: ModelPatchRequest },
    )
    .delete(
      "/models/:alias",
      async ({ params, caller }) => {
        await catalog.deleteModel(params.alias, toActor(caller));
        return { deleted: params.alias };
      },
      { access: "admin" },
    );
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
