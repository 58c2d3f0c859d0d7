import type { TSchema } from "@sinclair/typebox";
import type { Access } from "#http/door/guard.ts";
import type { ErrorCode } from "#kernel/errors.ts";

/** One route as the document shows it. Examples are requests that can be sent, and answers that come. */
export interface Operation {
  readonly method: string;
  /** In Elysia's spelling, as in the route table: `/my/keys/:id`. */
  readonly path: string;
  readonly access: Access;
  readonly tag: Tag;
  /** One line without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** An example for each name in the path. */
  readonly params?: { readonly [name: string]: string };
  readonly query?: readonly QueryParam[];
  readonly body?: RequestBody;
  readonly answers: readonly Answer[];
  /** Codes beside those that follow from access, method and body. */
  readonly errors?: readonly ErrorCode[];
  /** Answers out of memory: `internal_error` cannot come of it. */
  readonly infallible?: true;
}

export type Tag =
  | "Models"
  | "Sign-in"
  | "Self-service"
  | "Statistics"
  | "Relay"
  | "Catalog"
  | "People"
  | "Reports"
  | "LiteLLM clients"
  | "Operation";

export interface QueryParam {
  readonly name: string;
  readonly schema: TSchema;
  readonly description: string;
  /** Left out of the request that is the example when undefined. */
  readonly example?: string;
}

export interface RequestBody {
  /** The same object that validates the request, where one does. */
  readonly schema: TSchema;
  readonly example: unknown;
  /** Left out it counts as `{}`. */
  readonly optional?: true;
}

export interface Answer {
  readonly status: number | "default";
  readonly description: string;
  readonly contents: readonly Content[];
  readonly headers?: readonly AnswerHeader[];
}

export interface Content {
  readonly type: string;
  readonly schema: TSchema;
  readonly example?: unknown;
}

export const ANSWER_HEADERS = {
  location: "Where the browser goes next.",
  "set-cookie": "The session cookie `proxy_session`, or the state of a sign-in.",
  "x-proxy-provider": "The provider's name.",
  "x-proxy-model": "The upstream model name that the alias resolved to.",
  "x-proxy-error-source": "`proxy`: the envelope of this interface; `upstream`: the upstream's own answer.",
  "x-proxy-window": "The interval that was counted, where it is not the one that was asked for.",
  "x-proxy-truncated": "`true`: rows beyond a limit were left out.",
  "x-proxy-relay": "`on`, or `off` without `PROXY_MESSAGES_BASE_URL`.",
  "www-authenticate": "`Bearer`.",
} as const;
export type AnswerHeader = keyof typeof ANSWER_HEADERS;

/** JSON of one shape. */
export function json(status: number, schema: TSchema, example: unknown): Answer {
  return { status, description: "Done.", contents: [{ type: "application/json", schema, example }] };
}

/** Every code that the route answers with: those of its host, access, method and body, then its own. */
export function toErrorCodes(operation: Operation): readonly ErrorCode[] {
  const { method, access, body, errors = [] } = operation;
  const codes = new Set<ErrorCode>(["invalid_host", "host_not_allowed"]);
  if (operation.infallible !== true) codes.add("internal_error");
  if (access === "caller" || access === "admin") codes.add("missing_api_key").add("invalid_api_key");
  if (access === "admin") codes.add("admin_required");
  // A form that a browser sent is refused as `invalid_json`.
  if (access !== "relay" && method !== "GET") codes.add("cross_origin_rejected").add("invalid_json");
  if (body !== undefined) codes.add("invalid_request").add("request_too_large");
  for (const code of errors) codes.add(code);
  return [...codes];
}
