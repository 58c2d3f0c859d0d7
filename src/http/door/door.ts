import {
  type Authenticator,
  type Caller,
  LOCAL_CALLER,
  refuseFormer,
  requireAdmin,
  requireFullScope,
} from "#identity/caller.ts";
import { checkOrigin, buildSessionCookie, type IssuedSession } from "#identity/sessions.ts";
import type { Role } from "#identity/principal.ts";
import type { Clock } from "#kernel/clock.ts";
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
  /** Apart from `admit`: a closure in it would make a scope of its variables for every caller. */
  const checkFound = async (finding: Promise<Caller>, request: Request, access: Admission) =>
    check(await finding, request, access);
  return {
    checkBrowser,
    admit(request, access) {
      const caller = deps.authenticator.authenticate(request.headers);
      return caller instanceof Promise ? checkFound(caller, request, access) : check(caller, request, access);
    },
  };
}

/** Lets the owner of the data folder do everything an admin may, without asking for a credential. */
export const LOCAL_DOOR: Door = { admit: () => LOCAL_CALLER, checkBrowser: () => undefined };

export function isMutation(method: string): boolean {
  return method !== "GET" && method !== "HEAD";
}

interface ChangeRate {
  /** Changes that a principal may make at once. */
  readonly burst: number;
  /** Changes that it gets back in a second. */
  readonly perSecond: number;
}

/**
 * Each change takes the serving thread for 0.2 ms (a key) to some milliseconds (a model of a large catalog): a member's loop
 * is held to a hundredth of the thread, once it has made as many keys as it may have. A script of an admin's that sends one
 * request for each of some thousand people, keys and models is not held up.
 */
export const CHANGE_RATES: { readonly [role in Role]: ChangeRate } = {
  member: { burst: 600, perSecond: 5 },
  admin: { burst: 5_000, perSecond: 100 },
};

/** Principals remembered at once; past it those are forgotten whose burst is whole again. */
const PRINCIPALS_MAX = 10_000;

/**
 * A door that admits only so many changes (all methods but GET and HEAD) of one principal, by whichever of its credentials.
 * Commands beside the data folder are not counted. Throws `too_many_changes`.
 */
export function limitChanges(door: Door, clock: Pick<Clock, "monotonicMs">): Door {
  /** By principal, the moment at which its burst is whole again. */
  const wholeAtMs = new Map<string, number>();
  const take = ({ principal, credential }: Caller): void => {
    if (credential.kind === "local") return;
    const { burst, perSecond } = CHANGE_RATES[principal.role];
    const nowMs = clock.monotonicMs();
    const nextMs = Math.max(wholeAtMs.get(principal.id) ?? nowMs, nowMs) + 1000 / perSecond;
    const waitMs = nextMs - nowMs - (burst * 1000) / perSecond;
    if (waitMs > 0) throw toRefusal(waitMs, perSecond);
    if (wholeAtMs.size >= PRINCIPALS_MAX) forgetWhole(wholeAtMs, nowMs);
    wholeAtMs.set(principal.id, nextMs);
  };
  const count = (caller: Caller, request: Request): Caller => {
    if (isMutation(request.method)) take(caller);
    return caller;
  };
  return {
    checkBrowser: (request) => door.checkBrowser(request),
    admit(request, access) {
      const caller = door.admit(request, access);
      return caller instanceof Promise
        ? caller.then((found) => count(found, request))
        : count(caller, request);
    },
  };
}

function toRefusal(waitMs: number, perSecond: number): ProxyError {
  return new ProxyError(
    "too_many_changes",
    `Too many changes at once: wait, and then send at most ${perSecond} a second.`,
    { retryAfterSeconds: Math.ceil(waitMs / 1000) },
  );
}

function forgetWhole(wholeAtMs: Map<string, number>, nowMs: number): void {
  for (const [id, atMs] of wholeAtMs) if (atMs <= nowMs) wholeAtMs.delete(id);
}

export interface SessionCookiesDeps {
  readonly authenticator: Pick<Authenticator, "renew">;
  readonly clock: Pick<Clock, "nowUs">;
  /** Null: plain http. */
  readonly publicUrl: string | null;
}

/** Replaces the cookie of a session while the session is used. */
export interface SessionCookies {
  /** A door that also asks whether the caller's cookie is due. */
  renewing(door: Door): Door;
  /** Sends a cookie that was due; whatever the answer is, since a browser takes cookies from refusals as well. */
  complete(request: Request, response: Response): Response;
}

export function createSessionCookies({
  authenticator,
  clock,
  publicUrl,
}: SessionCookiesDeps): SessionCookies {
  const secure = publicUrl?.startsWith("https:") ?? false;
  const due = new WeakMap<Request, IssuedSession>();
  const toHeader = ({ cookieValue, expiresAtUs }: IssuedSession): string =>
    buildSessionCookie({
      value: cookieValue,
      maxAgeSeconds: (expiresAtUs - clock.nowUs()) / 1_000_000,
      secure,
    });
  const renew = async (caller: Caller, request: Request): Promise<Caller> => {
    const issued = await authenticator.renew(caller);
    if (issued !== null) due.set(request, issued);
    return caller;
  };
  return {
    renewing: (door) => ({
      checkBrowser: (request) => door.checkBrowser(request),
      admit(request, access) {
        const caller = door.admit(request, access);
        // A session is always looked up.
        return caller instanceof Promise ? caller.then((found) => renew(found, request)) : caller;
      },
    }),
    complete(request, response) {
      const issued = due.get(request);
      if (issued !== undefined) response.headers.append("set-cookie", toHeader(issued));
      return response;
    },
  };
}
