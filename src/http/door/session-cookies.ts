import type { Authenticator, Caller } from "#identity/caller.ts";
import { buildSessionCookie } from "#identity/session-cookie.ts";
import type { IssuedSession } from "#identity/sessions.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Door } from "./door.ts";

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
