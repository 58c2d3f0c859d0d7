import { Elysia } from "elysia";
import type { Actor } from "#audit/event.ts";
import { requireAdmin, type Authenticator, type Caller } from "#identity/caller.ts";
import { checkOrigin } from "#identity/origin.ts";
import { ProxyError } from "#kernel/errors.ts";
import { PUBLIC_BODY_BYTES_MAX } from "./body.ts";
import type { BodyRoom } from "./body-memory.ts";
import { readJsonBody } from "./json-body.ts";

/** Who may call a route: anybody, any authenticated principal, or an admin. */
const ACCESSES = ["public", "caller", "admin"] as const;
/** `relay`: whoever has the token in the path. The relay's door asks for it; no route behind Elysia declares it. */
export type Access = (typeof ACCESSES)[number] | "relay";

/** One route as it is served, and who may call it. */
export interface RouteEntry {
  readonly method: string;
  /** In Elysia's spelling: `/my/keys/:id`. */
  readonly path: string;
  readonly access: Access;
  /** What validates the body; undefined where nothing does. */
  readonly body?: unknown;
}

export interface GuardDeps {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  /** An origin; null: the own origin is `http://` and the Host header. */
  readonly publicUrl: string | null;
}

/** The asking at the door, shared by the routes behind Elysia and the native ones of the data plane. */
export interface Door {
  /** The caller of a route. Throws `missing_api_key`, `invalid_api_key`, `admin_required` and what `checkBrowser` throws. */
  admit(request: Request, access: "caller" | "admin"): Promise<Caller>;
  /**
   * What a browser can be made to send on somebody's behalf is refused: another origin (`cross_origin_rejected`) and the
   * content types of forms (`invalid_json`). For mutations by session, and for the sign-in itself.
   */
  checkBrowser(request: Request): void;
}

/** Where a route's declaration is kept. */
const ACCESS_FIELD = "x-access";
const FORM_TYPES: ReadonlySet<string> = new Set([
  "application/x-www-form-urlencoded",
  "multipart/form-data",
  "text/plain",
]);

export function createDoor(deps: GuardDeps): Door {
  const checkBrowser = (request: Request) => {
    const { headers } = request;
    checkOrigin(headers, deps.publicUrl ?? `http://${headers.get("host") ?? ""}`);
    const type = headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
    if (type !== undefined && FORM_TYPES.has(type)) {
      throw new ProxyError("invalid_json", "Send the body as application/json.");
    }
  };
  return {
    checkBrowser,
    async admit(request, access) {
      const caller = await deps.authenticator.authenticate(request.headers);
      if (access === "admin") requireAdmin(caller);
      if (caller.credential.kind === "session" && isMutation(request.method)) checkBrowser(request);
      return caller;
    },
  };
}

/**
 * The plugin that every controller uses. A route says `{ public: true }` or `{ access: "caller" | "admin" }`, and gets its
 * `caller` in the latter case. Elysia reads and validates a body before any handler runs, so the caller is asked in the
 * parse hook, before the first byte of the body is read; methods without a body are asked in the transform hook.
 */
export function createGuard(door: Door, bodyBytesMax: number, room: BodyRoom) {
  const publicBytesMax = Math.min(bodyBytesMax, PUBLIC_BODY_BYTES_MAX);
  const admitted = new WeakMap<Request, Caller>();
  const admit = async (request: Request, access: "caller" | "admin"): Promise<Caller> => {
    const known = admitted.get(request);
    if (known !== undefined) return known;
    const caller = await door.admit(request, access);
    admitted.set(request, caller);
    return caller;
  };
  return new Elysia({ name: "guard" }).macro({
    public: {
      detail: toDetail("public"),
      parse: async ({ request }) => {
        door.checkBrowser(request);
        return await readBodyOf(request, publicBytesMax, room);
      },
    },
    access: (access: "caller" | "admin") => ({
      detail: toDetail(access),
      parse: async ({ request }) => {
        await admit(request, access);
        return await readBodyOf(request, bodyBytesMax, room);
      },
      transform: async ({ request }) => {
        await admit(request, access);
      },
      resolve: async ({ request }) => ({ caller: await admit(request, access) }),
    }),
  });
}

export type Guard = ReturnType<typeof createGuard>;

/** Whom an audit entry names. */
export function toActor(caller: Caller): Actor {
  return { principalId: caller.principal.id };
}

/** The live route table with its declarations. Throws when a route declares nothing, so that it does not start. */
export function toRouteTable(routes: readonly DeclaredRoute[]): readonly RouteEntry[] {
  return routes.map(({ method, path, hooks }) => {
    const access = readAccess(hooks);
    if (access === null) throw new Error(`${method} ${path} does not declare who may call it`);
    return { method, path, access, body: readBodySchema(hooks) };
  });
}

export interface DeclaredRoute {
  readonly method: string;
  readonly path: string;
  readonly hooks: unknown;
}

/** Elysia's type takes for a detail only what has one of its own fields. */
function toDetail(access: Access) {
  const tags: string[] = [];
  return { [ACCESS_FIELD]: access, tags };
}

function readBodySchema(hooks: unknown): unknown {
  return typeof hooks === "object" && hooks !== null && "body" in hooks ? hooks.body : undefined;
}

function readAccess(hooks: unknown): Access | null {
  if (typeof hooks !== "object" || hooks === null || !("detail" in hooks)) return null;
  const { detail } = hooks;
  if (typeof detail !== "object" || detail === null || !(ACCESS_FIELD in detail)) return null;
  const declared = detail[ACCESS_FIELD];
  return ACCESSES.find((access) => access === declared) ?? null;
}

/** A DELETE has no body of meaning: whatever comes with it is left unread. */
async function readBodyOf(request: Request, bytesMax: number, room: BodyRoom): Promise<unknown> {
  return request.method === "DELETE" ? {} : await readJsonBody(request, bytesMax, room);
}

function isMutation(method: string): boolean {
  return method !== "GET" && method !== "HEAD";
}
