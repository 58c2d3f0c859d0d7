import type { Static, TSchema, TUnsafe } from "@sinclair/typebox";
import type { Endpoint } from "#catalog/endpoint.ts";
import type { ErrorCode } from "#kernel/errors.ts";

/** The caller that a route takes: any, an authenticated principal, an admin, or the owner of the relay token in its path. */
export type Access = "public" | "caller" | "admin" | "relay";

/** The parts of the documentation, in its order; a controller names its own as Elysia's `tags`. */
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
export interface Declaration {
  readonly access: Access;
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
}

/** A declared route as it is served. */
export interface Route extends Declaration {
  readonly method: string;
  /** The path in Elysia's spelling: `/my/keys/:id`. */
  readonly path: string;
  readonly tag: Tag;
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
  "x-proxy-error-source": "`proxy`: the envelope of this interface; `upstream`: the upstream's own answer.",
  "x-proxy-limit": "The limit that is used up.",
  "x-should-retry": "`false` where waiting a minute does not help; official SDKs obey it.",
  "x-proxy-limit-warning": "Limits that the request has met and that only warn.",
  "x-proxy-window": "The interval that was counted, where it is not the one that was asked for.",
  "x-proxy-truncated": "`true`: rows beyond a limit were left out, or stand together as `(other)`.",
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

/** The hook that Elysia's types make of a declaration: the body that is validated, and the answer that a handler has to return. */
type Hook<Declared extends Declaration> = (Declared["access"] extends "public"
  ? { public: true }
  : { access: Extract<Declared["access"], "caller" | "admin"> }) &
  (Declared["body"] extends TSchema ? { body: Declared["body"] } : unknown) &
  (Declared["answer"] extends Answer<infer Status, infer Schema> ? HookResponse<Status, Schema> : unknown);

/** The `never` is needed: without it, Elysia takes anything from a handler that answers with another status than 200. */
type HookResponse<Status extends number, Schema extends TSchema> = TSchema extends Schema
  ? unknown
  : {
      response: { [status in Status]: TUnsafe<Static<Schema>> } & {
        [status in Exclude<200, Status>]: TUnsafe<never>;
      };
    };

const DECLARATION = "x-declaration";
const declarations = new WeakSet<object>();

/**
 * The last argument of every route behind Elysia. The type checker holds the handler to the declared answer; at run time the
 * answer's schema is not there, so that nothing is validated, dropped or delayed on its way out.
 */
export function route<const Declared extends Declaration & { readonly access: Exclude<Access, "relay"> }>(
  declaration: Declared,
): Hook<Declared>;
export function route(declaration: Declaration): object {
  const { access, body } = declaration;
  declarations.add(declaration);
  return {
    ...(access === "public" ? { public: true } : { access }),
    ...(body !== undefined && { body }),
    detail: { [DECLARATION]: declaration },
  };
}

/** A route as Elysia keeps it. */
export interface ElysiaRoute {
  readonly method: string;
  readonly path: string;
  readonly hooks: unknown;
}

/** The live table of these routes. Throws when one has no declaration or tag: then no route behind Elysia is served. */
export function toRoutes(routes: readonly ElysiaRoute[]): readonly Route[] {
  return routes.map(({ method, path, hooks }) => {
    const detail = fieldOf(hooks, "detail");
    const declaration = fieldOf(detail, DECLARATION);
    if (!isDeclaration(declaration)) throw new Error(`${method} ${path} does not declare who may call it`);
    const tags = fieldOf(detail, "tags");
    const tag = TAGS.find((known) => Array.isArray(tags) && tags.includes(known));
    if (tag === undefined) throw new Error(`${method} ${path} belongs to no part of the documentation`);
    return { ...declaration, method, path, tag };
  });
}

/** Sorts routes as the documentation has them: by tag, and as they were registered within one. */
export function inOrderOfTags(routes: readonly Route[]): readonly Route[] {
  return routes.toSorted((one, other) => TAGS.indexOf(one.tag) - TAGS.indexOf(other.tag));
}

function isDeclaration(value: unknown): value is Declaration {
  return typeof value === "object" && value !== null && declarations.has(value);
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
