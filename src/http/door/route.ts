import type { Static, TSchema, TUndefined } from "@sinclair/typebox";
import type { Endpoint } from "#catalog/endpoint.ts";
import type { Caller } from "#identity/caller.ts";
import type { ErrorCode } from "#kernel/errors.ts";

/** The caller that a route takes: any, an authenticated principal, an admin, or the owner of the relay token in its path. */
export type Access = "public" | "caller" | "admin" | "relay";

/** The parts of the documentation, in its order. */
const TAGS = [
  "Models",
  "Relay",
  "Sign-in",
  "Self-service",
  "Statistics",
  "Catalog",
  "LiteLLM clients",
  "People",
  "Limits",
  "Reports",
  "Operation",
] as const;
export type Tag = (typeof TAGS)[number];

/**
 * A route told in one place: access control, the types of requests and answers, the OpenAPI
 * document and `docs/api.md` come from it. Examples are requests that can be sent, and answers that come.
 */
export interface Route {
  readonly method: string;
  /** A step that begins with a colon is a parameter: `/my/keys/:id`. */
  readonly path: string;
  readonly tag: Tag;
  readonly access: Access;
  /** Keys of scope `inference` reach it as well; absent: only those of scope `full`. */
  readonly scope?: "inference";
  /** One line without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** An example for each name in the path. */
  readonly params?: { readonly [name: string]: string };
  readonly query?: readonly QueryParam[];
  /** Validates the body; data plane and relay only show it. */
  readonly body?: TSchema;
  /** The media type of the body, where it is not JSON. */
  readonly bodyType?: "multipart/form-data";
  /** A body that can be sent. */
  readonly example?: unknown;
  /** A body that is left out counts as `{}`. */
  readonly isBodyOptional?: true;
  readonly answer: Answer;
  /** Headers of an upstream's error, where the route passes that on unchanged. */
  readonly upstreamErrorHeaders?: readonly AnswerHeader[];
  /** Codes beside those that follow from access, method and body. */
  readonly errors?: readonly ErrorCode[];
  /** Answers out of memory: `internal_error` cannot come of it. */
  readonly infallible?: true;
  /** The capability without which no model serves it: until one has it, the path is unknown. */
  readonly opensWith?: Endpoint;
}

export interface QueryParam {
  readonly name: string;
  readonly schema: TSchema;
  readonly description: string;
  /** Left out of the request that is the example when undefined. */
  readonly example?: string;
}

/** The answer of a route that does not refuse. */
export interface Answer<Status extends number = number, Schema extends TSchema = TSchema> {
  readonly status: Status;
  readonly description: string;
  /** The first decides the type that clients of the source see. */
  readonly contents: readonly [] | readonly [Content<Schema>, ...Content[]];
  readonly headers?: readonly AnswerHeader[];
}

export interface JsonAnswer<Status extends number, Schema extends TSchema> extends Answer<Status, Schema> {
  readonly contents: readonly [Content<Schema>];
}

export interface Content<Schema extends TSchema = TSchema> {
  readonly type: string;
  readonly schema: Schema;
  readonly example?: unknown;
}

export const ANSWER_HEADERS = {
  etag: "What is stored, for `If-Match`: figures of use do not move it.",
  location: "Where the browser goes next.",
  "set-cookie":
    "The session cookie `proxy_session`, with `proxy_device`, by which a browser is known at its next sign-in; or the state of a sign-in.",
  "x-proxy-provider": "The provider's name.",
  "x-proxy-model": "The upstream model name that the alias resolved to.",
  "x-proxy-request-id": "The request's id: that of its row in `GET /admin/v1/requests`, where it has one.",
  "x-proxy-cost":
    "The request's exact cost, as a decimal in the currency of the prices: on an answer that is no stream, where each unit that it used has a price. A relayed answer has it where it is JSON of at most 16 KiB that came in one piece with its length.",
  "x-proxy-error-source": "`proxy`: the envelope of this interface; `upstream`: the upstream's own answer.",
  "x-proxy-limit": "The limit that is used up.",
  "x-should-retry": "`false` where waiting a minute does not help; official SDKs obey it.",
  "x-proxy-limit-warning": "Limits that the request has met and that only warn.",
  "x-proxy-window": "The interval that was counted, where it is not the one that was asked for.",
  "x-proxy-truncated": "`true`: rows beyond a limit were left out, or stand together as `(other)`.",
  "x-proxy-repricing":
    "The id of the re-pricing that is changing costs meanwhile (`GET /admin/v1/repricing/{id}`).",
  "x-proxy-relay": "`on`, or `off` without `PROXY_MESSAGES_BASE_URL`.",
  "www-authenticate": "`Bearer`.",
  "retry-after": "The seconds after which it may be sent again.",
} as const;
export type AnswerHeader = keyof typeof ANSWER_HEADERS;

/** JSON of one shape. */
export function json<const Status extends number, Schema extends TSchema>(
  status: Status,
  schema: Schema,
  example: unknown,
  headers?: readonly AnswerHeader[],
): JsonAnswer<Status, Schema> {
  const content = { type: "application/json", schema, example };
  return { status, description: "Done.", contents: [content], ...(headers !== undefined && { headers }) };
}

/** Another address for the browser, which gets or loses a cookie on the way. */
export function redirectTo(status: 302 | 303, description: string): Answer {
  return { status, description, contents: [], headers: ["location", "set-cookie"] };
}

/** The settings of a route behind Elysia, beside its declaration. */
interface Serving {
  /** The limit of its body, where it is not `JSON_BODY_BYTES_MAX`. */
  readonly bodyBytesMax?: number;
  /** Runs before anything is asked of the caller, and may refuse. */
  readonly check?: () => void;
}

/** Headers that `run` adds to its answer. */
export type AnswerHeaders = { [name in AnswerHeader | "vary"]?: string | string[] };

/** A request as `run` gets it: admitted, its body read and validated. */
export interface Asked<Path extends string, Of extends Access, Body> {
  readonly request: Request;
  readonly params: { readonly [name in ParamOf<Path>]: string };
  /** Each parameter's last value. */
  readonly query: { readonly [name: string]: string | undefined };
  readonly body: Body;
  readonly caller: Of extends "public" ? null : Caller;
  readonly headers: AnswerHeaders;
}

/** `/my/keys/:id` → `id`. */
export type ParamOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** A route behind Elysia. Its type also says what a client sends and gets. */
export interface ServedRoute<
  Method extends string = string,
  Path extends string = string,
  Body = unknown,
  Json = unknown,
>
  extends Route, Serving {
  readonly method: Method;
  readonly path: Path;
  readonly access: Exclude<Access, "relay">;
  /** Types alone: no value has it. */
  readonly types?: { readonly body: Body; readonly answer: Json };
  run(this: void, asked: Asked<string, Access, unknown>): unknown;
}

/**
 * Makes a route. `run` answers with what becomes JSON under the declared status, or with a whole response. The type checker holds
 * it to the declared answer; at run time that is not validated, so that nothing is dropped or delayed on its way out.
 */
export function route<
  const Method extends string,
  const Path extends string,
  const Of extends Exclude<Access, "relay">,
  Status extends number,
  Schema extends TSchema,
  Body extends TSchema = TUndefined,
>(
  declared: Omit<Route, "access" | "body" | "answer"> &
    Serving & {
      readonly method: Method;
      readonly path: Path;
      readonly access: Of;
      readonly body?: Body;
      readonly answer: Answer<Status, Schema>;
      readonly run: (asked: Asked<Path, Of, Static<Body>>) => Answered<Schema> | Promise<Answered<Schema>>;
    },
): ServedRoute<Method, Path, Static<Body>, Static<Schema>>;
export function route(declared: ServedRoute): ServedRoute {
  return declared;
}

type Answered<Schema extends TSchema> = Response | (TSchema extends Schema ? never : Static<Schema>);

/** Sorts routes as the documentation has them: by tag, and as they were registered within one. */
export function inOrderOfTags(routes: readonly Route[]): readonly Route[] {
  return routes.toSorted((one, other) => TAGS.indexOf(one.tag) - TAGS.indexOf(other.tag));
}
