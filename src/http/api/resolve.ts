import { Elysia } from "elysia";
import { ENDPOINTS, isEndpoint } from "#catalog/capability.ts";
import type { Catalog } from "#catalog/catalog.ts";
import { requireCapability, resolveModel } from "#catalog/resolve.ts";
import type { Guard } from "#http/door/guard.ts";
import { toResolveView } from "#views/catalog.ts";
import { ProxyError } from "#kernel/errors.ts";

/** Where a model's request would go: the resolution of the data plane, asked without sending anything. */
export function resolveRoutes(guard: Guard, catalog: Catalog) {
  return new Elysia({ prefix: "/admin/v1" }).use(guard).get(
    "/resolve",
    async ({ query }) => {
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
    { access: "admin" },
  );
}
