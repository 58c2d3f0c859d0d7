import { Elysia } from "elysia";
import type { Catalog } from "#catalog/catalog.ts";
import type { DeploymentDraft } from "#catalog/deployment-draft.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toActor, type Guard } from "#http/door/guard.ts";
import { DeploymentDeleteRequest, DeploymentRequest } from "#http/schemas/requests.ts";
import { toDeploymentView } from "#views/catalog.ts";

/** Model management as LiteLLM's clients do it (specification, sections 2.6 and 4.7): unknown fields are ignored. */
export function deploymentRoutes(guard: Guard, catalog: Catalog) {
  return new Elysia({ prefix: "/model" })
    .use(guard)
    .post(
      "/new",
      async ({ body, caller }) => toDeploymentView(await catalog.deploy(toDraft(body), toActor(caller))),
      { access: "admin", body: DeploymentRequest },
    )
    .get(
      "/info",
      async () => {
        const { models } = await catalog.snapshot();
        return { data: models.map(toDeploymentView) };
      },
      { access: "admin" },
    )
    .post(
      "/delete",
      async ({ body, caller }) => {
        await catalog.deleteDeployment(body.id, toActor(caller));
        return { deleted: body.id };
      },
      { access: "admin", body: DeploymentDeleteRequest },
    );
}

/** `litellm_params` stands in for `compat_params`; of both the specification's own counts. */
function toDraft(body: typeof DeploymentRequest.static): DeploymentDraft {
  const paramsField =
    body.compat_params === undefined && body.litellm_params !== undefined
      ? "litellm_params"
      : "compat_params";
  const params = body[paramsField];
  if (params === undefined) {
    throw new ProxyError("invalid_request", "compat_params is required.", { param: "compat_params" });
  }
  return {
    modelName: body.model_name,
    paramsField,
    model: params.model,
    apiBase: params.api_base,
    apiKey: params.api_key ?? undefined,
    mode: body.model_info?.mode ?? undefined,
  };
}
