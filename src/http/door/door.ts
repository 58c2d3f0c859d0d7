import {
  LOCAL_CALLER,
  refuseFormer,
  requireAdmin,
  requireFullScope,
  type Authenticator,
  type Caller,
} from "#identity/caller.ts";
import { checkOrigin } from "#identity/origin.ts";
import { ProxyError } from "#kernel/errors.ts";

export interface DoorDeps {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  /** An origin; null: the own origin is `http://` and the Host header. */
  readonly publicUrl: string | null;
}

/**
 * Who may call a route, each word less than the one before. `model`: the data plane, for which a secret from before a rotation
 * is good as well. `inference`: what was used of models, for keys of every scope. `caller` and `admin`: a session, or a key of
 * scope `full`.
 */
export type Admission = "model" | "inference" | "caller" | "admin";

/** Admits callers, of the routes behind Elysia and of the native ones of the data plane alike. */
export interface Door {
  /** The caller of a route; a promise only when memory does not tell. Throws `missing_api_key`, `invalid_api_key`, `scope_required`, `admin_required` and what `checkBrowser` throws. */
  admit(request: Request, access: Admission): Caller | Promise<Caller>;
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

export function createDoor(deps: DoorDeps): Door {
  const checkBrowser = (request: Request) => {
    const { headers } = request;
    checkOrigin(headers, deps.publicUrl ?? `http://${headers.get("host") ?? ""}`);
    const type = headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
    if (type !== undefined && FORM_TYPES.has(type)) {
      throw new ProxyError("invalid_json", "Send the body as application/json.");
    }
  };
  const check = (caller: Caller, request: Request, access: Admission): Caller => {
    if (access !== "model") refuseFormer(caller);
    if (access === "caller" || access === "admin") requireFullScope(caller);
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

export function isMutation(method: string): boolean {
  return method !== "GET" && method !== "HEAD";
}
