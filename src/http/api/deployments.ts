import { json, route } from "#http/door/route.ts";
import { ModelDeployment, ModelDeploymentList } from "#http/schemas/catalog.ts";
import { ID } from "#http/schemas/examples.ts";
import { Deleted } from "#http/schemas/shared.ts";
import type { Catalog } from "#catalog/catalog.ts";
import type { DeploymentDraft } from "#catalog/deployment.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toActor } from "#http/door/guard.ts";
import { DeploymentDeleteRequest, DeploymentRequest } from "#http/schemas/requests.ts";
import { toDeploymentView } from "#views/catalog.ts";

const DEPLOYMENT = {
  model_name: "local",
  compat_params: { model: "llama-4", api_base: "http://127.0.0.1:8000/v1", custom_llm_provider: "openai" },
  model_info: { id: ID.deployment },
};

const ADMIN = { tag: "LiteLLM clients", access: "admin" } as const;

/** Model management as LiteLLM's clients do it (specification, sections 2.6 and 4.7): unknown fields are ignored. */
export function deploymentRoutes(catalog: Catalog) {
  return [
    route({
      method: "POST",
      path: "/model/new",
      ...ADMIN,
      summary: "Register a deployment",
      description: "`litellm_params` is taken for `compat_params`; unknown fields are ignored.",
      body: DeploymentRequest,
      example: {
        model_name: DEPLOYMENT.model_name,
        compat_params: {
          model: "llama-4",
          api_base: DEPLOYMENT.compat_params.api_base,
          api_key: "sk-EXAMPLE",
        },
        model_info: { mode: "chat" },
      },
      answer: json(200, ModelDeployment, DEPLOYMENT),
      errors: ["invalid_name", "invalid_base_url", "alias_exists"],
      run: async ({ body, caller }) => toDeploymentView(await catalog.deploy(toDraft(body), toActor(caller))),
    }),
    route({
      method: "GET",
      path: "/model/info",
      ...ADMIN,
      summary: "The deployments",
      answer: json(200, ModelDeploymentList, { data: [DEPLOYMENT] }),
      run: async () => {
        const { models } = await catalog.snapshot();
        return { data: models.map(toDeploymentView) };
      },
    }),
    route({
      method: "POST",
      path: "/model/delete",
      ...ADMIN,
      summary: "Delete a deployment",
      body: DeploymentDeleteRequest,
      example: { id: ID.deployment },
      answer: json(200, Deleted, { deleted: ID.deployment }),
      errors: ["model_not_found", "model_in_use"],
      run: async ({ body, caller }) => {
        await catalog.deleteDeployment(body.id, toActor(caller));
        return { deleted: body.id };
      },
    }),
  ] as const;
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
