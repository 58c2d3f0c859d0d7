import { Type } from "@sinclair/typebox";
import { Me, SignedIn } from "#http/schemas/identity.ts";
import { oneOf } from "#http/schemas/shared.ts";
import { LoginLinkRequest, PasswordRequest } from "#http/schemas/requests.ts";
import { LOGIN_TOKEN, PASSWORD } from "./examples.ts";
import { json, type Answer, type AnswerHeader, type Operation } from "./operation.ts";

const SIGNED_IN = json(200, SignedIn, { name: "admin", role: "admin" });

/** Specification, section 4.1: `/auth`. */
export const signInOperations: readonly Operation[] = [
  {
    method: "GET",
    path: "/auth/me",
    access: "public",
    tag: "Sign-in",
    summary: "Who is signed in, and how one can sign in",
    answers: [
      json(200, Me, {
        authenticated: true,
        name: "admin",
        role: "admin",
        sso_enabled: false,
        password_enabled: true,
      }),
    ],
  },
  {
    method: "POST",
    path: "/auth/password",
    access: "public",
    tag: "Sign-in",
    summary: "Sign in as the admin by password",
    body: { schema: PasswordRequest, example: { password: PASSWORD } },
    answers: [{ ...SIGNED_IN, headers: ["set-cookie"] }],
    errors: ["wrong_password", "password_login_disabled"],
  },
  {
    method: "POST",
    path: "/auth/login-link",
    access: "public",
    tag: "Sign-in",
    summary: "Sign in by a login link",
    description:
      "`lockport admin login-link` makes one, good for ten minutes and one sign-in. Its token stands in the fragment of the page's address, which no browser sends to a server.",
    body: { schema: LoginLinkRequest, example: { token: LOGIN_TOKEN } },
    answers: [{ ...SIGNED_IN, headers: ["set-cookie"] }],
    errors: ["invalid_login_link"],
  },
  {
    method: "GET",
    path: "/auth/logout",
    access: "public",
    tag: "Sign-in",
    summary: "End the session",
    answers: [redirect(303, "to `/`; the session is deleted", ["location", "set-cookie"])],
  },
  {
    method: "GET",
    path: "/auth/login",
    access: "public",
    tag: "Sign-in",
    summary: "Begin single sign-on",
    query: [{ name: "retry", schema: oneOf(["1"]), description: "The one automatic retry." }],
    answers: [redirect(302, "to the identity provider", ["location", "set-cookie"])],
    errors: ["sso_not_configured", "sso_exchange_failed"],
  },
  {
    method: "GET",
    path: "/auth/callback",
    access: "public",
    tag: "Sign-in",
    summary: "End single sign-on",
    description: "The identity provider sends the browser here. A browser gets refusals as a page.",
    query: [
      { name: "code", schema: Type.String(), description: "The authorization code." },
      { name: "state", schema: Type.String(), description: "What the sign-in began with." },
      { name: "error", schema: Type.String(), description: "Why the identity provider refused." },
    ],
    answers: [
      redirect(303, "to `/` with a session, or once to `/auth/login?retry=1`", ["location", "set-cookie"]),
    ],
    errors: [
      "sso_not_configured",
      "sso_denied",
      "sso_state_mismatch",
      "sso_code_missing",
      "sso_group_required",
      "sso_exchange_failed",
      "sso_userinfo_failed",
    ],
  },
];

function redirect(status: number, description: string, headers: readonly AnswerHeader[]): Answer {
  return { status, description, contents: [], headers };
}
