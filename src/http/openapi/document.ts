import { KindGuard, type TSchema } from "@sinclair/typebox";
import {
  ANSWER_HEADERS,
  type Answer,
  type AnswerHeader,
  type QueryParam,
  type Route,
} from "#http/door/route.ts";
import { ErrorEnvelope, Foreign } from "#http/schemas/shared.ts";
import { INTERFACE_VERSION } from "#kernel/version.ts";
import {
  toErrorExamples,
  toHeaderReferences,
  toRefusalComponents,
  toRefusals,
  type Json,
} from "./refusals.ts";

const DESCRIPTION =
  "A self-hosted proxy that forwards requests to model providers and accounts for every token. Errors of its own have one envelope and the header `x-proxy-error-source: proxy`. HEAD is answered as GET.";

/**
 * The interface as an OpenAPI 3.1 document: the same on every server of this version. Two shapes of one title are a mistake
 * of ours: it throws.
 */
export function toOpenApiDocument(routes: readonly Route[]): Json {
  const components = createComponents();
  const paths: { [path: string]: { [method: string]: Json } } = {};
  for (const route of routes) {
    const methods = (paths[toTemplate(route)] ??= {});
    methods[route.method.toLowerCase()] = toOperationObject(route, components.toSchema);
  }
  components.toSchema(ErrorEnvelope);
  return {
    openapi: "3.1.1",
    info: { title: "Lockport", version: INTERFACE_VERSION, description: DESCRIPTION },
    servers: [{ url: "/" }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: components.schemas,
      responses: toRefusalComponents(routes),
      examples: toErrorExamples(),
      headers: toHeaderComponents(),
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key, `lp_…`." },
        apiKeyHeader: {
          type: "apiKey",
          in: "header",
          name: "x-api-key",
          description: "An API key; looked at when there is no bearer.",
        },
        session: { type: "apiKey", in: "cookie", name: "proxy_session", description: "A browser's session." },
      },
    },
  };
}

/** `/my/keys/:id` → `/my/keys/{id}`; the rest of a path is its parameter `path`, and any page is the first one. */
export function toTemplate({ path }: Pick<Route, "path">): string {
  if (path === "/*") return "/";
  return path.replaceAll(/:([a-z]+)/g, "{$1}").replace("*", "{path}");
}

type ToSchema = (schema: TSchema) => unknown;

function toOperationObject(route: Route, toSchema: ToSchema): Json {
  const { access, scope, tag, summary, description, params = {}, query = [], body } = route;
  return {
    operationId: toOperationId(route),
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    "x-access": access,
    ...(scope !== undefined && { "x-scope": scope }),
    security:
      access === "caller" || access === "admin"
        ? [{ bearer: [] }, { apiKeyHeader: [] }, { session: [] }]
        : [],
    parameters: [
      ...Object.entries(params).map(([name, example]) => ({
        name,
        in: "path",
        required: true,
        schema: { type: "string" },
        example,
      })),
      ...query.map((param) => toQueryParameter(param, toSchema)),
    ],
    ...(body !== undefined && {
      requestBody: {
        required: route.isBodyOptional !== true,
        content: {
          [route.bodyType ?? "application/json"]: { schema: toSchema(body), example: route.example },
        },
      },
    }),
    responses: {
      [String(route.answer.status)]: toAnswerObject(route.answer, toSchema),
      ...(route.upstreamErrorHeaders !== undefined && {
        default: toUpstreamError(route.upstreamErrorHeaders, toSchema),
      }),
      ...toRefusals(route),
    },
  };
}

function toQueryParameter({ name, schema, description, example }: QueryParam, toSchema: ToSchema): Json {
  return {
    name,
    in: "query",
    description,
    schema: toSchema(schema),
    ...(example !== undefined && { example: schema["type"] === "integer" ? Number(example) : example }),
  };
}

function toAnswerObject(
  { description, contents, headers = [] }: Omit<Answer, "status">,
  toSchema: ToSchema,
): Json {
  return {
    description,
    ...(headers.length > 0 && { headers: toHeaderReferences(headers) }),
    ...(contents.length > 0 && {
      content: Object.fromEntries(
        contents.map(({ type, schema, example }) => [
          type,
          { schema: toSchema(schema), ...(example !== undefined && { example }) },
        ]),
      ),
    }),
  };
}

function toUpstreamError(headers: readonly AnswerHeader[], toSchema: ToSchema): Json {
  const description = "The upstream's own error, unchanged, with `x-proxy-error-source: upstream`.";
  const contents = [{ type: "application/json", schema: Foreign }] as const;
  return toAnswerObject({ description, contents, headers }, toSchema);
}

function toHeaderComponents(): Json {
  return Object.fromEntries(
    Object.entries(ANSWER_HEADERS).map(([name, description]) => [
      name,
      { description, schema: { type: "string" } },
    ]),
  );
}

/** `GET /my/keys/:id` → `getMyKeysById`. */
function toOperationId({ method, path }: Route): string {
  const words = path
    .replace("*", "")
    .split(/[/.-]/)
    .filter((word) => word !== "")
    .map((word) => (word.startsWith(":") ? `by-${word.slice(1)}` : word))
    .flatMap((word) => word.split("-"));
  return [method.toLowerCase(), ...(words.length === 0 ? ["page"] : words)]
    .map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join("");
}

/** Shapes with a title stand once, among the components; everywhere else is a reference. */
function createComponents() {
  const schemas: { [title: string]: unknown } = {};
  const toSchema = (schema: TSchema): unknown => {
    const { title } = schema;
    if (title === undefined) return toPlain(schema);
    const plain = toPlain(schema);
    const known = schemas[title];
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(plain)) {
      throw new Error(`two shapes are called ${title}`);
    }
    schemas[title] = plain;
    return { $ref: `#/components/schemas/${title}` };
  };
  const toPlain = (value: unknown, depth = 0): unknown => {
    if (Array.isArray(value)) return value.map((each) => toPlain(each, depth + 1));
    if (typeof value !== "object" || value === null) return value;
    if (depth > 0 && KindGuard.IsSchema(value) && value.title !== undefined) return toSchema(value);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toPlain(each, depth + 1)]));
  };
  return { schemas, toSchema };
}
