import { Elysia } from "elysia";
import type { Actor } from "#audit/event.ts";
import { LOCAL_CALLER, requireAdmin, type Authenticator, type Caller } from "#identity/caller.ts";
import { checkOrigin } from "#identity/origin.ts";
import { ProxyError } from "#kernel/errors.ts";
import { PUBLIC_BODY_BYTES_MAX } from "./body.ts";
import type { BodyMemory } from "./body-memory.ts";
import { readJsonBody } from "./json-body.ts";

export interface GuardDeps {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  /** An origin; null: the own origin is `http://` and the Host header. */
  readonly publicUrl: string | null;
}

/** The asking at the door, shared by the routes behind Elysia and the native ones of the data plane. */
export interface Door {
  /** The caller of a route; a promise only when memory does not tell. Throws `missing_api_key`, `invalid_api_key`, `admin_required` and what `checkBrowser` throws. */
  admit(request: Request, access: "caller" | "admin"): Caller | Promise<Caller>;
  /**
   * Refuses what a browser can be made to send on behalf of its user: another origin (`cross_origin_rejected`) and the
   * content types of forms (`invalid_json`). For mutations by session, and for the sign-in itself.
   */
  checkBrowser(request: Request): void;
}

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
  const check = (caller: Caller, request: Request, access: "caller" | "admin"): Caller => {
    if (access === "admin") requireAdmin(caller);
    if (caller.credential.kind === "session" && isMutation(request.method)) checkBrowser(request);
    return caller;
  };
  return {
    checkBrowser,
    admit(request, access) {
      const caller = deps.authenticator.authenticate(request.headers);
      return caller instanceof Promise
        ? caller.then((found) => check(found, request, access))
        : check(caller, request, access);
    },
  };
}

/** Lets the owner of the data folder do everything an admin may, without asking for a credential. */
export const LOCAL_DOOR: Door = { admit: () => LOCAL_CALLER, checkBrowser: () => undefined };

/**
 * The plugin that every controller uses. A declared route (`route`) has `public: true`, or `access: "caller" | "admin"` and
 * then a `caller` in its handler. Elysia reads and validates a body before any handler runs, so the caller is asked in the
 * parse hook, before the first byte of the body is read; methods without a body are asked in the transform hook.
 */
export function createGuard(door: Door, bodyBytesMax: number, memory: BodyMemory) {
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
      parse: async ({ request }) => {
        door.checkBrowser(request);
        return await readBodyOf(request, publicBytesMax, memory);
      },
    },
    access: (access: "caller" | "admin") => ({
      parse: async ({ request }) => {
        await admit(request, access);
        return await readBodyOf(request, bodyBytesMax, memory);
      },
      transform: async ({ request }) => {
        await admit(request, access);
      },
      resolve: async ({ request }) => ({ caller: await admit(request, access) }),
    }),
  });
}

export type Guard = ReturnType<typeof createGuard>;

/** The principal that an audit entry names; null for a local command, which is not audited. */
export function toActor({ principal, credential }: Caller): Actor {
  return credential.kind === "local" ? null : { principalId: principal.id };
}

/** A DELETE has no body of meaning: whatever comes with it is left unread. */
async function readBodyOf(request: Request, bytesMax: number, memory: BodyMemory): Promise<unknown> {
  return request.method === "DELETE" ? {} : await readJsonBody(request, bytesMax, memory);
}

function isMutation(method: string): boolean {
  return method !== "GET" && method !== "HEAD";
}
