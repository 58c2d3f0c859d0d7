import { Type } from "@sinclair/typebox";
import { json, route } from "#http/door/route.ts";
import { ResolveResult } from "#http/schemas/catalog.ts";
import { MODEL, PROVIDER } from "#http/schemas/examples.ts";
import { oneOf } from "#http/schemas/shared.ts";
import { ENDPOINTS, isEndpoint } from "#catalog/endpoint.ts";
import type { Catalog } from "#catalog/catalog.ts";
import { requireCapability, resolveModel } from "#catalog/resolve.ts";
import { toResolveView } from "#views/catalog.ts";
import { ProxyError } from "#kernel/errors.ts";

/** The resolution of the data plane, asked without sending anything. */
export function resolveRoutes(catalog: Catalog) {
  return [
    route({
      method: "GET",
      path: "/admin/v1/resolve",
      tag: "Catalog",
      access: "admin",
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
