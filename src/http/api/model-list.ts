import { Type } from "@sinclair/typebox";
import { json, route } from "#http/door/route.ts";
import { ModelList } from "#http/schemas/catalog.ts";
import { MODEL } from "#http/schemas/examples.ts";
import { oneOf } from "#http/schemas/shared.ts";
import { CAPABILITIES, isCapability, type Capability } from "#catalog/capability.ts";
import type { Catalog } from "#catalog/catalog.ts";
import { listModels } from "#catalog/snapshot.ts";
import { findCaller, toModelScope } from "#identity/caller.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Door } from "#http/door/door.ts";
import { isNavigation } from "#http/door/negotiation.ts";
import type { Page } from "#http/page/page.ts";
import { toModelListView } from "#views/catalog.ts";

export interface ModelListDeps {
  readonly door: Door;
  readonly catalog: Catalog;
  readonly page: Page;
}

const LISTING = {
  access: "public",
  summary: "The models that are served",
  query: [
    {
      name: "endpoint",
      schema: oneOf(CAPABILITIES),
      description: "Only models with this capability.",
      example: "chat",
    },
    {
      name: "include_hidden",
      schema: oneOf(["1"]),
      description: "Hidden models too; needs a caller.",
      example: "1",
    },
    {
      name: "include_pricing",
      schema: oneOf(["1"]),
      description: "Prices too; needs a caller.",
      example: "1",
    },
  ],
  errors: ["invalid_endpoint", "missing_api_key", "invalid_api_key"],
} as const;
const FOR_ANTHROPIC =
  "With the header `anthropic-version` it has what clients of Anthropic's API read, too; their parameters of paging are ignored.";
const LIST = json(
  200,
  ModelList,
  {
    object: "list",
    data: [
      {
        id: MODEL.alias,
        object: "model",
        created: 1773230400,
        owned_by: MODEL.provider,
        capabilities: MODEL.capabilities,
        alias_of: null,
        hidden: false,
        pricing: MODEL.pricing,
        pricing_inherited: false,
      },
    ],
  },
  ["x-proxy-request-id"],
);
const WebPage = Type.String({ description: "The web page." });

/** `GET /v1/models` and `GET /models` (specification, section 4.2, rules 1, 6 and 7). */
export function modelListRoutes({ door, catalog, page }: ModelListDeps) {
  const list = async (request: Request) => {
    const query = new URL(request.url).searchParams;
    const includeHidden = query.get("include_hidden") === "1";
    const includePricing = query.get("include_pricing") === "1";
    const admit = () => door.admit(request, "model");
    // The plain form is public, and answers whatever key comes with it.
    const caller = includeHidden || includePricing ? await admit() : await findCaller(admit);
    const endpoint = parseEndpointFilter(query.get("endpoint") ?? "");
    const models = listModels(await catalog.snapshot(), {
      endpoint,
      includeHidden,
      scope: caller === null ? null : toModelScope(caller),
    });
    const forAnthropic = request.headers.has("anthropic-version");
    return toModelListView(models, { includePricing, forAnthropic });
  };
  return [
    route({
      method: "GET",
      path: "/v1/models",
      tag: "Models",
      ...LISTING,
      description: FOR_ANTHROPIC,
      answer: LIST,
      run: ({ request }) => list(request),
    }),
    route({
      method: "GET",
      path: "/models",
      tag: "Models",
      ...LISTING,
      description: `A browser that navigates here gets the web page. ${FOR_ANTHROPIC}`,
      answer: { ...LIST, contents: [LIST.contents[0], { type: "text/html", schema: WebPage }] },
      run: ({ request, headers }) => {
        if (!isNavigation(request.headers)) {
          headers["vary"] = "accept";
          return list(request);
        }
        const response = page(request);
        response.headers.append("vary", "accept");
        return response;
      },
    }),
  ] as const;
}

/** Empty is no filter. Throws `invalid_endpoint`. */
function parseEndpointFilter(text: string): Capability | null {
  if (text === "") return null;
  if (isCapability(text)) return text;
  throw new ProxyError("invalid_endpoint", `endpoint is one of ${CAPABILITIES.join(", ")}.`, {
    param: "endpoint",
  });
}
