import type { AnswerHeader, Route } from "#http/door/route.ts";
import { ID } from "#http/schemas/examples.ts";
import { ERROR_STATUS, type ErrorCode } from "#kernel/errors.ts";
import { ERROR_CONDITIONS } from "./errors.ts";

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
export function toRefusalComponents(routes: readonly Route[]): Json {
  const groups = routes.flatMap(toRefusalGroups);
  return Object.fromEntries(groups.map((group) => [toRefusalName(group), toRefusal(group)]));
}

/** The envelope with each code, by code. */
export function toErrorExamples(): Json {
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

export function toHeaderReferences(names: readonly AnswerHeader[]): Json {
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
