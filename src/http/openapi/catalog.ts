import { Type } from "@sinclair/typebox";
import { ENDPOINTS } from "#catalog/capability.ts";
import {
  DiscoveredModels,
  ModelDeployment,
  ModelDeploymentList,
  ModelView,
  PricingList,
  PricingLoad,
  ProviderListEntry,
  ProviderView,
  ResolveResult,
} from "#http/schemas/catalog.ts";
import { Deleted, oneOf, pageOf } from "#http/schemas/shared.ts";
import {
  DeploymentDeleteRequest,
  DeploymentRequest,
  ModelCreateRequest,
  ModelPatchRequest,
  PricingFeed,
  ProviderCreateRequest,
  ProviderPatchRequest,
} from "#http/schemas/requests.ts";
import { ID, INSTANT, MODEL, PAGE, PRICING, PROVIDER } from "./examples.ts";
import { json, type Operation } from "./operation.ts";
import { PAGE_QUERY } from "./report-parts.ts";

const SINGLE_PROVIDER = { ...PROVIDER, endpoints: {} };
const DEPLOYMENT = {
  model_name: "local",
  compat_params: { model: "llama-4", api_base: "http://127.0.0.1:8000/v1", custom_llm_provider: "openai" },
  model_info: { id: ID.deployment },
};
const FEED_VERSION = "2026-03";

/** Specification, section 4.6: providers, models and prices. */
export const catalogOperations: readonly Operation[] = [
  {
    ...admin("POST", "/admin/v1/providers", "Make a provider"),
    body: {
      schema: ProviderCreateRequest,
      example: { name: PROVIDER.name, base_url: PROVIDER.base_url, api_key: "sk-EXAMPLE" },
    },
    answers: [json(201, ProviderView, SINGLE_PROVIDER)],
    errors: [
      "invalid_name",
      "invalid_wire_format",
      "invalid_base_url",
      "invalid_endpoint",
      "invalid_override",
      "provider_exists",
    ],
  },
  {
    ...admin("GET", "/admin/v1/providers", "The providers"),
    query: PAGE_QUERY,
    answers: [json(200, pageOf("providers", ProviderListEntry), { providers: [PROVIDER], ...PAGE })],
  },
  {
    ...admin("GET", "/admin/v1/providers/:name", "One provider"),
    params: { name: PROVIDER.name },
    answers: [json(200, ProviderView, SINGLE_PROVIDER)],
    errors: ["provider_not_found"],
  },
  {
    ...admin("PATCH", "/admin/v1/providers/:name", "Change a provider"),
    params: { name: PROVIDER.name },
    body: { schema: ProviderPatchRequest, example: { timeout_read: 120, max_concurrency: 8 } },
    answers: [json(200, ProviderView, { ...SINGLE_PROVIDER, timeout_read: 120, max_concurrency: 8 })],
    errors: ["invalid_base_url", "invalid_endpoint", "invalid_override", "provider_not_found"],
  },
  {
    ...admin("DELETE", "/admin/v1/providers/:name", "Delete a provider, its models and the names for them"),
    params: { name: PROVIDER.name },
    answers: [json(200, Deleted, { deleted: PROVIDER.name })],
    errors: ["provider_not_found"],
  },
  {
    ...admin("GET", "/admin/v1/providers/:name/discover", "What a provider says that it has"),
    description: "Asks the provider; creates nothing.",
    params: { name: PROVIDER.name },
    answers: [
      json(200, DiscoveredModels, {
        provider: PROVIDER.name,
        discovered_at: INSTANT,
        models: [
          { upstream_name: MODEL.upstream_name, bound_alias: MODEL.alias },
          { upstream_name: "gpt-5-mini", bound_alias: null },
        ],
      }),
    ],
    errors: ["provider_not_found", "provider_unreachable", "discovery_failed"],
  },
  {
    ...admin("POST", "/admin/v1/models", "Make a model"),
    description: "Either `provider` and `upstream_name`, or `target`: a name for another model.",
    body: {
      schema: ModelCreateRequest,
      example: {
        alias: MODEL.alias,
        provider: MODEL.provider,
        upstream_name: MODEL.upstream_name,
        capabilities: MODEL.capabilities,
        pricing: PRICING,
      },
    },
    answers: [json(201, ModelView, MODEL)],
    errors: ["invalid_name", "invalid_target", "invalid_pricing", "provider_not_found", "alias_exists"],
  },
  {
    ...admin("GET", "/admin/v1/models", "The models"),
    query: [
      ...PAGE_QUERY,
      {
        name: "provider",
        schema: Type.String(),
        description: "Only models of this provider.",
        example: PROVIDER.name,
      },
    ],
    answers: [json(200, pageOf("models", ModelView), { models: [MODEL], ...PAGE })],
  },
  {
    ...admin("PATCH", "/admin/v1/models/:alias", "Change a model"),
    description: "A `/` in the alias is written `%2F`. `capabilities` and `pricing` replace the whole set.",
    params: { alias: MODEL.alias },
    body: { schema: ModelPatchRequest, example: { hidden: true } },
    answers: [json(200, ModelView, { ...MODEL, hidden: true })],
    errors: [
      "invalid_name",
      "invalid_target",
      "invalid_pricing",
      "model_not_found",
      "provider_not_found",
      "alias_exists",
    ],
  },
  {
    ...admin("DELETE", "/admin/v1/models/:alias", "Delete a model"),
    params: { alias: MODEL.alias },
    answers: [json(200, Deleted, { deleted: MODEL.alias })],
    errors: ["model_not_found", "model_in_use"],
  },
  {
    ...admin("GET", "/admin/v1/resolve", "Where a request for a model would go"),
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
    answers: [
      json(200, ResolveResult, {
        alias: MODEL.alias,
        provider: MODEL.provider,
        upstream_name: MODEL.upstream_name,
        url: `${PROVIDER.base_url}/chat/completions`,
        capabilities: MODEL.capabilities,
      }),
    ],
    errors: ["model_required", "invalid_endpoint", "model_not_found", "endpoint_not_supported"],
  },
  {
    ...admin("POST", "/admin/v1/pricing", "Load a pricing feed"),
    body: {
      schema: PricingFeed,
      example: {
        version: FEED_VERSION,
        entries: [{ model: MODEL.upstream_name, unit: "input_tokens", price_per_million: 2.5 }],
      },
    },
    answers: [json(200, PricingLoad, { version: FEED_VERSION, loaded_at: INSTANT, entries: 1 })],
    errors: ["invalid_pricing"],
  },
  {
    ...admin("GET", "/admin/v1/pricing", "The prices that are kept"),
    answers: [
      json(200, PricingList, {
        version: FEED_VERSION,
        loaded_at: INSTANT,
        entries: [
          {
            model: MODEL.upstream_name,
            unit: "input_tokens",
            price_per_unit: 0.0000025,
            price_per_million: 2.5,
            version: FEED_VERSION,
          },
        ],
      }),
    ],
  },
];

/** Specification, sections 2.6 and 4.7: `/model`. */
export const deploymentOperations: readonly Operation[] = [
  {
    ...compatible("POST", "/model/new", "Register a deployment"),
    description: "`litellm_params` is taken for `compat_params`; unknown fields are ignored.",
    body: {
      schema: DeploymentRequest,
      example: {
        model_name: DEPLOYMENT.model_name,
        compat_params: {
          model: "llama-4",
          api_base: DEPLOYMENT.compat_params.api_base,
          api_key: "sk-EXAMPLE",
        },
        model_info: { mode: "chat" },
      },
    },
    answers: [json(200, ModelDeployment, DEPLOYMENT)],
    errors: ["invalid_name", "invalid_base_url", "alias_exists"],
  },
  {
    ...compatible("GET", "/model/info", "The deployments"),
    answers: [json(200, ModelDeploymentList, { data: [DEPLOYMENT] })],
  },
  {
    ...compatible("POST", "/model/delete", "Delete a deployment"),
    body: { schema: DeploymentDeleteRequest, example: { id: ID.deployment } },
    answers: [json(200, Deleted, { deleted: ID.deployment })],
    errors: ["model_not_found", "model_in_use"],
  },
];

function admin(method: string, path: string, summary: string) {
  return { method, path, access: "admin", tag: "Catalog", summary } as const;
}

function compatible(method: string, path: string, summary: string) {
  return { method, path, access: "admin", tag: "LiteLLM clients", summary } as const;
}
