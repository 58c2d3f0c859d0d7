import { KindGuard, type TSchema } from "@sinclair/typebox";
import {
  ANSWER_HEADERS,
  type Answer,
  type AnswerHeader,
  type QueryParam,
  type Route,
} from "#http/door/route.ts";
import { ID } from "#http/schemas/examples.ts";
import { ErrorEnvelope, Foreign } from "#http/schemas/shared.ts";
import { ERROR_STATUS, type ErrorCode } from "#kernel/errors.ts";
import { INTERFACE_VERSION } from "#kernel/version.ts";

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

/** A part of the document. */
export type Json = { readonly [key: string]: unknown };

/** One response for each status, by its codes: many routes refuse alike. */
export function toRefusals(route: Route): Json {
  return Object.fromEntries(
    toRefusalGroups(route).map((group) => [
      String(group.status),
      { $ref: `#/components/responses/${toRefusalName(group)}` },
    ]),
  );
}

/** The components that `toRefusals` refers to. */
function toRefusalComponents(routes: readonly Route[]): Json {
  const groups = routes.flatMap(toRefusalGroups);
  return Object.fromEntries(groups.map((group) => [toRefusalName(group), toRefusal(group)]));
}

/** The envelope with each code, by code. */
function toErrorExamples(): Json {
  return Object.fromEntries(
    Object.entries(ERROR_CONDITIONS).map(([code, condition]) => [
      code,
      {
        summary: condition,
        value: {
          error: { message: condition, type: "proxy_error", code, param: null },
          proxy: { source: "proxy", request_id: ID.request },
        },
      },
    ]),
  );
}

function toHeaderReferences(names: readonly AnswerHeader[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

interface RefusalGroup {
  readonly status: number;
  readonly codes: readonly ErrorCode[];
  /** The upstream may answer with this status as well, and with a body of its own. */
  readonly relaysOthers: boolean;
}

/** Every code that the route answers with: those of its host, access, method and body, then its own. */
export function toErrorCodes(route: Route): readonly ErrorCode[] {
  const { method, access, scope, body, errors = [] } = route;
  const isEndpoint = route.upstreamErrorHeaders !== undefined;
  const codes = new Set<ErrorCode>(["invalid_host", "host_not_allowed"]);
  if (route.infallible !== true) codes.add("internal_error");
  if (access === "caller" || access === "admin") codes.add("missing_api_key").add("invalid_api_key");
  if ((access === "caller" || access === "admin") && scope === undefined) codes.add("scope_required");
  if (access === "admin") codes.add("admin_required");
  // A form that a browser sent is refused as `invalid_json`.
  if (access !== "relay" && method !== "GET") codes.add("cross_origin_rejected").add("invalid_json");
  if ((access === "caller" || access === "admin") && method !== "GET" && !isEndpoint)
    codes.add("too_many_changes");
  if (body !== undefined) codes.add("invalid_request").add("request_too_large");
  for (const code of errors) codes.add(code);
  return [...codes];
}

function toRefusalGroups(route: Route): readonly RefusalGroup[] {
  const all = toErrorCodes(route);
  const relaysOthers = route.upstreamErrorHeaders !== undefined;
  const statuses = [...new Set(all.map((code) => ERROR_STATUS[code]))].sort((a, b) => a - b);
  return statuses.map((status) => ({
    status,
    codes: all.filter((code) => ERROR_STATUS[code] === status),
    relaysOthers,
  }));
}

function toRefusalName({ codes, relaysOthers }: RefusalGroup): string {
  return [...codes, ...(relaysOthers ? ["upstream"] : [])].join(".");
}

const OF_ERRORS = ["x-proxy-error-source", "x-proxy-request-id"] as const;
const OF_LIMITS = ["retry-after", "x-proxy-limit", "x-should-retry"] as const;
const HEADERS_OF_STATUS: ReadonlyMap<number, readonly AnswerHeader[]> = new Map([
  [401, ["www-authenticate"]],
  [429, ["retry-after"]],
  [503, ["retry-after"]],
]);

function toRefusal({ status, codes, relaysOthers }: RefusalGroup): Json {
  const code = { properties: { error: { properties: { code: { enum: codes } } } } };
  const own = { allOf: [{ $ref: "#/components/schemas/Error" }, code] };
  const sentences = codes.map((each) => `\`${each}\`: ${ERROR_CONDITIONS[each]}`);
  return {
    description: [...sentences, ...(relaysOthers ? ["Or the upstream's own error."] : [])].join("\n\n"),
    headers: toHeaderReferences([
      ...OF_ERRORS,
      ...(relaysOthers ? [] : (HEADERS_OF_STATUS.get(status) ?? [])),
      ...(codes.includes("limit_exceeded") ? OF_LIMITS : []),
    ]),
    content: {
      "application/json": {
        schema: relaysOthers ? { anyOf: [own, { description: "The upstream's own." }] } : own,
        examples: Object.fromEntries(codes.map((each) => [each, { $ref: `#/components/examples/${each}` }])),
      },
      // A browser on its way to sign in reads a page.
      ...(codes.some((each) => each.startsWith("sso_")) && { "text/html": { schema: { type: "string" } } }),
    },
  };
}

/** The condition of each code (specification, section 7, and the decisions): one line each. */
export const ERROR_CONDITIONS: { readonly [code in ErrorCode]: string } = {
  invalid_json: "The body is not JSON in UTF-8, or a form.",
  invalid_request:
    "A field is missing, unknown or of a wrong type; `param` names it. Or the body came too slowly.",
  invalid_multipart: "The body is not a form whose part `model` every upstream would read alike.",
  model_required: "`model` is missing.",
  endpoint_not_supported: "The model lacks the capability of the endpoint.",
  embedding_batch_too_large: "The array `input` has more items than `PROXY_MAX_EMBEDDING_BATCH`.",
  invalid_endpoint: "`endpoint` or a key of `endpoints` is not a known one.",
  invalid_label: "`label` is over 120 characters.",
  invalid_expiry: "`expires_at` is not a UTC date-time in the future.",
  invalid_models: "`models` is not a list of 1 to 100 aliases.",
  invalid_tags: "`tags` is not a list of up to 8 pairs `name:value`, of 256 characters in all.",
  invalid_date: "`since` or `until` is not ISO 8601.",
  invalid_bucket: "`bucket` is not one of hour, day, week and month.",
  range_too_large: "The series needs more than 1000 buckets, or the report more rows than are looked at.",
  invalid_outcome: "`outcome` is not a known one.",
  invalid_name: "A name breaks its rule; `param` says which.",
  invalid_wire_format: "`wire_format` is not `openai`.",
  invalid_base_url: "A base URL is not a full http or https URL.",
  invalid_override: "A value of `endpoints` is not a full http or https URL.",
  invalid_target: "`target` breaks a rule of names for other models.",
  invalid_pricing: "A price is not one; `param` says which.",
  invalid_bill: "A file is no export of a provider's usage or costs; the message names the row.",
  invalid_price_variants:
    "Price variants that cannot be: a condition that is none, two of the same, or none; `param` says where.",
  invalid_host: "The Host header is not a host and a port.",
  sso_denied: "The identity provider refused, or the principal is disabled.",
  sso_state_mismatch: "The browser did not bring back what the sign-in began with, twice.",
  sso_code_missing: "The identity provider sent no code.",
  missing_api_key: "There is no API key, and no session that lives.",
  invalid_api_key: "The API key is not valid.",
  wrong_password: "The password is wrong.",
  invalid_login_link: "The login link was used, has expired or is not one.",
  admin_required: "The caller is not an admin.",
  scope_required: "The key's `scope` is `inference`, which does not reach this route.",
  cross_origin_rejected: "A browser sent it from another origin.",
  host_not_allowed: "A browser used a host name that is not this server's.",
  sso_group_required: "The account is not in the required group.",
  model_not_found: "No such model, or its provider is disabled.",
  response_not_found:
    "No response of this id is known for this caller, or its model may not be used any more.",
  provider_not_found: "No such provider.",
  former_credential_not_found: "No former credential of this provider is kept.",
  principal_not_found: "No such principal.",
  unknown_endpoint: "No such endpoint.",
  key_not_found: "No such key.",
  relay_token_not_found: "No such relay token.",
  unknown_relay_token: "The token in the path is not valid.",
  limit_not_found: "No such limit.",
  repricing_not_found: "No such re-pricing.",
  schedule_not_found: "No such prices to come: they have taken force, or were taken back.",
  request_not_found: "No such request in the log, and no such refusal that is kept.",
  transparent_relay_disabled: "The relay is not enabled.",
  password_login_disabled: "Sign-in by password is off.",
  sso_not_configured: "Single sign-on is not configured.",
  notices_not_configured: "`PROXY_NOTICE_URL` is not set.",
  limit_exists: "A limit of this name exists already.",
  repricing_running: "Another re-pricing is under way.",
  repricing_outdated:
    "A re-pricing that is in another state, or whose requests another one has changed since.",
  too_many_limits: "There are as many limits as there may be.",
  too_many_schedules: "There are as many prices to come as there may be.",
  limit_exceeded: "A limit is used up; `x-proxy-limit` names it.",
  alias_exists: "The alias is bound already.",
  provider_exists: "The provider's name is used.",
  principal_exists: "The principal's name is used.",
  model_in_use: "Other names point at the model, or a model that cannot be read at the provider.",
  last_admin: "No enabled admin would be left.",
  too_many_keys: "The principal has 500 keys, as many as one may have.",
  too_many_relay_tokens: "The principal has 500 relay tokens, as many as one may have.",
  changed_meanwhile:
    "It was changed since the answer whose `etag` was sent as `If-Match`. Nothing was changed.",
  request_too_large: "The body is over the limit.",
  upgrade_not_supported: "There are no WebSockets here; the same path answers a POST.",
  too_many_changes: "The principal makes changes too quickly; `retry-after` says when the next is taken.",
  internal_error: "The server failed; its log says more.",
  provider_unreachable: "The upstream did not answer: timeout, connection_error or response_too_large.",
  discovery_failed: "The provider answered an error, or no list of models.",
  sso_exchange_failed: "The identity provider did not redeem the code, or cannot be asked.",
  sso_userinfo_failed: "The identity provider did not give user information.",
  busy: "There is no memory for another large body at present; `retry-after` says when to try again.",
  reports_busy:
    "Too many reports are being made, or this one takes too long; `retry-after` says when to ask again.",
};
