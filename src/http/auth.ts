import { Elysia } from "elysia";
import type { Authenticator, Caller } from "#identity/caller.ts";
import type { PasswordSignIn } from "#identity/password.ts";
import { buildClearedSessionCookie, buildSessionCookie } from "#identity/session-cookie.ts";
import type { IdentityStore } from "#identity/store.ts";
import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { HttpConfig } from "./deps.ts";
import type { Guard } from "./guard.ts";
import { PasswordRequest } from "./schemas.ts";

export interface AuthDeps {
  readonly config: HttpConfig;
  readonly clock: Clock;
  readonly authenticator: Authenticator;
  readonly identity: Pick<IdentityStore, "deleteSession">;
  readonly passwordSignIn: PasswordSignIn;
}

/** Browser sign-in (specification, sections 4.1 and 5). */
export function authRoutes(guard: Guard, deps: AuthDeps) {
  const { config, clock, authenticator, identity, passwordSignIn } = deps;
  const secure = config.publicUrl?.startsWith("https:") ?? false;
  const findCaller = async (headers: Headers): Promise<Caller | null> => {
    try {
      return await authenticator.authenticate(headers);
    } catch (refusal) {
      if (refusal instanceof ProxyError && refusal.status === 401) return null;
      throw refusal;
    }
  };
  const refusePasswordWhenOff = () => {
    if (config.adminPasswordEnabled) return;
    throw new ProxyError("password_login_disabled", "Sign-in by password is switched off.");
  };
  const refuseSso = () => {
    throw new ProxyError("sso_not_configured", "Single sign-on is not configured on this server.");
  };

  return new Elysia({ prefix: "/auth" })
    .use(guard)
    .get(
      "/me",
      async ({ request }) => {
        const caller = await findCaller(request.headers);
        return {
          authenticated: caller !== null,
          ...(caller !== null && { name: caller.principal.name, role: caller.principal.role }),
          sso_enabled: false,
          password_enabled: config.adminPasswordEnabled,
        };
      },
      { public: true },
    )
    .post(
      "/password",
      async ({ body, set }) => {
        const { principal, cookieValue, expiresAtUs } = await passwordSignIn.signIn(body.password);
        const maxAgeSeconds = (expiresAtUs - clock.nowUs()) / 1_000_000;
        set.headers["set-cookie"] = buildSessionCookie({ value: cookieValue, maxAgeSeconds, secure });
        return { name: principal.name, role: principal.role };
      },
      // Nothing is asked of a sign-in that does not exist, not even a body.
      { public: true, body: PasswordRequest, parse: refusePasswordWhenOff },
    )
    .get(
      "/logout",
      async ({ request }) => {
        // Only the cookie: a key that is sent along would decide who calls, and it is the session that has to end.
        const cookie = request.headers.get("cookie");
        const caller = cookie === null ? null : await findCaller(new Headers({ cookie }));
        if (caller?.credential.kind === "session") await identity.deleteSession(caller.credential.tokenHash);
        return new Response(null, {
          status: 303,
          headers: { location: "/", "set-cookie": buildClearedSessionCookie({ secure }) },
        });
      },
      { public: true },
    )
    .get("/login", refuseSso, { public: true })
    .get("/callback", refuseSso, { public: true });
}
