import { Type } from "@sinclair/typebox";
import type { Peers } from "#http/door/connections.ts";
import type { HttpConfig } from "#http/door/host.ts";
import { isNavigation } from "#http/door/negotiation.ts";
import { redirectTo, route } from "#http/door/route.ts";
import type { AssetTable } from "#http/page/assets.ts";
import { type PagePlace, toPagePolicy } from "#http/page/page.ts";
import { oneOf } from "#http/schemas/shared.ts";
import type { Authenticator } from "#identity/caller.ts";
import { buildSessionCookie, findCookie } from "#identity/sessions.ts";
import { STATE_COOKIE_NAME, buildStateCookie } from "#identity/sso-state.ts";
import type { SingleSignOn } from "#identity/sso.ts";
import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";

export interface SsoDeps {
  readonly config: HttpConfig;
  readonly clock: Clock;
  readonly authenticator: Pick<Authenticator, "endSession">;
  /** Null: single sign-on is not configured. */
  readonly sso: SingleSignOn | null;
  /** Null: the page was not built. */
  readonly assets: AssetTable | null;
  readonly peers: Pick<Peers, "find">;
  /** The envelope of a refusal. */
  readonly answerFailure: (failure: unknown, request: Request) => Response;
}

/** To the identity provider and back (specification, sections 4.1 and 5, point 6). */
export function ssoRoutes(deps: SsoDeps) {
  const { config, clock, authenticator, sso, assets, peers, answerFailure } = deps;
  const secure = config.publicUrl?.startsWith("https:") ?? false;
  const clearedStateCookie = buildStateCookie("", { secure });

  const begin = async ({ url }: Request): Promise<Response> => {
    const isRetry = new URL(url).searchParams.get("retry") === "1";
    const { authorizationUrl, cookieValue } = await requireSso(sso).begin({ isRetry });
    const stateCookie = buildStateCookie(cookieValue, { secure });
    return redirect(302, authorizationUrl, [stateCookie]);
  };
  const finish = async (request: Request): Promise<Response> => {
    const { url, headers } = request;
    const outcome = await requireSso(sso).finish({
      query: new URL(url).searchParams,
      stateCookie: findCookie(headers, STATE_COOKIE_NAME),
      peer: peers.find(request),
    });
    if (outcome.kind === "retry") return redirect(303, "/auth/login?retry=1", [clearedStateCookie]);
    // The browser forgets the session that it had: it could not be ended any more.
    await authenticator.endSession(headers);
    const { cookieValue, expiresAtUs } = outcome.session;
    const maxAgeSeconds = (expiresAtUs - clock.nowUs()) / 1_000_000;
    const sessionCookie = buildSessionCookie({ value: cookieValue, maxAgeSeconds, secure });
    return redirect(303, "/", [clearedStateCookie, sessionCookie]);
  };

  /** Refusals are the envelope, and a page of the same status for a browser (decisions, "Sign-in"). */
  const respond = async (request: Request, { step, headersOfRefusal = {} }: Step): Promise<Response> => {
    try {
      return await step();
    } catch (refusal) {
      if (!(refusal instanceof ProxyError)) throw refusal;
      const response = isNavigation(request.headers)
        ? toSignInErrorPage(refusal, assets?.getStylesheets() ?? [], {
            host: request.headers.get("host"),
            publicUrl: config.publicUrl,
          })
        : answerFailure(refusal, request);
      // A server without single sign-on has no cookie to clear either.
      if (refusal.code === "sso_not_configured") return response;
      for (const [name, value] of Object.entries(headersOfRefusal)) response.headers.set(name, value);
      return response;
    }
  };

  return [
    route({
      method: "GET",
      path: "/auth/login",
      tag: "Sign-in",
      access: "public",
      summary: "Begin single sign-on",
      query: [{ name: "retry", schema: oneOf(["1"]), description: "The one automatic retry." }],
      answer: redirectTo(302, "to the identity provider"),
      errors: ["sso_not_configured", "sso_exchange_failed"],
      run: ({ request }) => respond(request, { step: () => begin(request) }),
    }),
    route({
      method: "GET",
      path: "/auth/callback",
      tag: "Sign-in",
      access: "public",
      summary: "End single sign-on",
      description: "The identity provider sends the browser here. A browser gets refusals as a page.",
      query: [
        { name: "code", schema: Type.String(), description: "The authorization code." },
        { name: "state", schema: Type.String(), description: "What the sign-in began with." },
        { name: "error", schema: Type.String(), description: "Why the identity provider refused." },
      ],
      answer: redirectTo(303, "to `/` with a session, or once to `/auth/login?retry=1`"),
      errors: [
        "sso_not_configured",
        "sso_denied",
        "sso_state_mismatch",
        "sso_code_missing",
        "sso_group_required",
        "sso_exchange_failed",
        "sso_userinfo_failed",
      ],
      run: ({ request }) =>
        respond(request, {
          step: () => finish(request),
          headersOfRefusal: { "set-cookie": clearedStateCookie },
        }),
    }),
  ] as const;
}

interface Step {
  readonly step: () => Promise<Response>;
  readonly headersOfRefusal?: Readonly<Record<string, string>>;
}

function requireSso(sso: SingleSignOn | null): SingleSignOn {
  if (sso !== null) return sso;
  throw new ProxyError("sso_not_configured", "Single sign-on is not configured on this server.");
}

function redirect(status: 302 | 303, location: string, cookies: readonly string[]): Response {
  const headers = new Headers({ location });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status, headers });
}

/**
 * The page of a failed sign-in: our own sentence and code, with the status and the headers of the envelope.
 * Nothing of the request or of the identity provider stands in it, and nothing that the page's policy refuses. It can be
 * read without its style sheets, too.
 */
function toSignInErrorPage(error: ProxyError, stylesheets: readonly string[], place: PagePlace): Response {
  const links = stylesheets.map((path) => `<link rel="stylesheet" href="${Bun.escapeHTML(path)}">`).join("");
  const page = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>Sign-in failed</title>${links}</head>
<body>
<main class="mx-auto mt-16 max-w-lg space-y-4 p-6">
<h1 class="text-xl font-semibold">You are not signed in</h1>
<p>${Bun.escapeHTML(error.message)}</p>
<p>Code: <code>${Bun.escapeHTML(error.code)}</code></p>
<p><a class="underline" href="/auth/login">Sign in again</a> or <a class="underline" href="/">go to the first page</a></p>
</main>
</body>
</html>
`;
  return new Response(page, {
    status: error.status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": toPagePolicy(place),
      "x-frame-options": "DENY",
      "x-proxy-error-source": "proxy",
      "cache-control": "no-store",
    },
  });
}
