import { Elysia } from "elysia";
import { CAPABILITIES, isCapability, type Capability } from "#catalog/capability.ts";
import type { Catalog } from "#catalog/catalog.ts";
import { listModels } from "#catalog/listing.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Door, Guard } from "#http/door/guard.ts";
import { isNavigation } from "#http/page/navigation.ts";
import type { Page } from "#http/page/page.ts";
import { toModelListEntry } from "#views/catalog.ts";

export interface ModelListDeps {
  readonly door: Door;
  readonly catalog: Catalog;
  readonly page: Page;
}

/** `GET /v1/models` and `GET /models` (specification, section 4.2, rules 1, 6 and 7). */
export function modelListRoutes(guard: Guard, { door, catalog, page }: ModelListDeps) {
  const list = async (request: Request) => {
    const query = new URL(request.url).searchParams;
    const includeHidden = query.get("include_hidden") === "1";
    const includePricing = query.get("include_pricing") === "1";
    // The plain form is public, and answers whatever key comes with it.
    if (includeHidden || includePricing) await door.admit(request, "caller");
    const endpoint = parseEndpointFilter(query.get("endpoint") ?? "");
    const models = listModels(await catalog.snapshot(), { endpoint, includeHidden });
    return {
      object: "list" as const,
      data: models.map((model) => toModelListEntry(model, { includePricing })),
    };
  };
  return new Elysia()
    .use(guard)
    .get("/v1/models", ({ request }) => list(request), { public: true })
    .get(
      "/models",
      async ({ request, set }) => {
        if (!isNavigation(request.headers)) {
          set.headers["vary"] = "accept";
          return await list(request);
        }
        const response = page(request);
        response.headers.append("vary", "accept");
        return response;
      },
      { public: true },
    );
}

/** Empty is no filter. Throws `invalid_endpoint`. */
function parseEndpointFilter(text: string): Capability | null {
  if (text === "") return null;
  if (isCapability(text)) return text;
  throw new ProxyError("invalid_endpoint", `endpoint is one of ${CAPABILITIES.join(", ")}.`, {
    param: "endpoint",
  });
}
