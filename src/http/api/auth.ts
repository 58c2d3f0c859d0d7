import { json, redirectTo, route } from "#http/door/route.ts";
import { LOGIN_TOKEN, PASSWORD } from "#http/schemas/examples.ts";
import { Me, SignedIn } from "#http/schemas/identity.ts";
import { type Authenticator, findCaller } from "#identity/caller.ts";
import type { Browser, Devices } from "#identity/attempts.ts";
import type { LoginLinkSignIn } from "#identity/login-links.ts";
import type { PasswordSignIn } from "#identity/password.ts";
import { buildClearedSessionCookie, buildSessionCookie, type IssuedSession } from "#identity/sessions.ts";
import type { SingleSignOn } from "#identity/sso.ts";
import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Peers } from "#http/door/connections.ts";
import type { HttpConfig } from "#http/door/host.ts";
import type { Door } from "#http/door/door.ts";
import { LoginLinkRequest, PasswordRequest } from "#http/schemas/requests.ts";

export interface AuthDeps {
  readonly config: HttpConfig;
  readonly clock: Clock;
  readonly authenticator: Pick<Authenticator, "endSession">;
  readonly door: Pick<Door, "admit">;
  readonly devices: Devices;
  readonly passwordSignIn: PasswordSignIn;
  readonly loginLinkSignIn: LoginLinkSignIn;
  /** Null: single sign-on is not configured. */
  readonly sso: SingleSignOn | null;
  readonly peers: Pick<Peers, "find">;
}

const SIGNED_IN = json(200, SignedIn, { name: "admin", role: "admin" }, ["set-cookie"]);

/** Longer than browsers say; a line in a queue keeps it while it waits. */
const BROWSER_NAME_LENGTH_MAX = 200;

const PUBLIC = { tag: "Sign-in", access: "public" } as const;

/** Browser sign-in (specification, sections 4.1 and 5). */
export function authRoutes(deps: AuthDeps) {
  const { config, clock, authenticator, devices, door, passwordSignIn, loginLinkSignIn, sso, peers } = deps;
  const secure = config.publicUrl?.startsWith("https:") ?? false;
  /** The cookies of session and device. The browser forgets the session that it had: it could not be ended any more. */
  const takeOver = async (request: Request, issued: IssuedSession): Promise<string[]> => {
    await authenticator.endSession(request.headers);
    const maxAgeSeconds = (issued.expiresAtUs - clock.nowUs()) / 1_000_000;
    const session = buildSessionCookie({ value: issued.cookieValue, maxAgeSeconds, secure });
    return [session, devices.issue(issued.principal, { secure })];
  };
  const toBrowser = ({ headers }: Request): Browser => ({
    name: (headers.get("user-agent") ?? "").slice(0, BROWSER_NAME_LENGTH_MAX),
    device: devices.find(headers),
  });
  const refusePasswordWhenOff = () => {
    if (config.adminPasswordEnabled) return;
    throw new ProxyError("password_login_disabled", "Sign-in by password is switched off.");
  };

  return [
    route({
      method: "GET",
      path: "/auth/me",
      ...PUBLIC,
      summary: "Who is signed in, and how one can sign in",
      answer: json(200, Me, {
        authenticated: true,
        name: "admin",
        role: "admin",
        sso_enabled: false,
        password_enabled: true,
      }),
      run: async ({ request }) => {
        const caller = await findCaller(() => door.admit(request, "caller"));
        return {
          authenticated: caller !== null,
          ...(caller !== null && { name: caller.principal.name, role: caller.principal.role }),
          sso_enabled: sso !== null,
          password_enabled: config.adminPasswordEnabled,
        };
      },
    }),
    route({
      method: "POST",
      path: "/auth/password",
      ...PUBLIC,
      summary: "Sign in as the admin by password",
      body: PasswordRequest,
      example: { password: PASSWORD },
      answer: SIGNED_IN,
      errors: ["wrong_password", "password_login_disabled"],
      check: refusePasswordWhenOff,
      run: async ({ body, request, headers }) => {
        const issued = await passwordSignIn.signIn(body.password, peers.find(request), toBrowser(request));
        headers["set-cookie"] = await takeOver(request, issued);
        return { name: issued.principal.name, role: issued.principal.role };
      },
    }),
    route({
      method: "POST",
      path: "/auth/login-link",
      ...PUBLIC,
      summary: "Sign in by a login link",
      description:
        "`lockport admin login-link` makes one, good for ten minutes and one sign-in. Its token stands in the fragment of the page's address, which no browser sends to a server.",
      body: LoginLinkRequest,
      example: { token: LOGIN_TOKEN },
      answer: SIGNED_IN,
      errors: ["invalid_login_link"],
      run: async ({ body, request, headers }) => {
        const issued = await loginLinkSignIn.signIn(body.token, peers.find(request), toBrowser(request));
        headers["set-cookie"] = await takeOver(request, issued);
        return { name: issued.principal.name, role: issued.principal.role };
      },
    }),
    route({
      method: "GET",
      path: "/auth/logout",
      ...PUBLIC,
      summary: "End the session",
      answer: redirectTo(303, "to `/`; the session is deleted"),
      run: async ({ request }) => {
        await authenticator.endSession(request.headers);
        return new Response(null, {
          status: 303,
          headers: { location: "/", "set-cookie": buildClearedSessionCookie({ secure }) },
        });
      },
    }),
  ] as const;
}
