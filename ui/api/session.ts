import type { AnswerOf } from "#http/client.ts";
import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { changing } from "./changing.ts";
import { call } from "./client.ts";
import { KEYS, makeStale } from "./keys.ts";

export type Me = AnswerOf<"GET /auth/me">;

/**
 * Asks who is signed in, if a person is, and which ways there are to sign in. When a session ends during use, name and
 * role stay those of the one whose page it is, until the next sign-in; of what was asked for by one person nothing is kept
 * for another.
 */
export function meQuery() {
  return queryOptions({
    queryKey: KEYS.me,
    queryFn: async ({ signal, client }): Promise<Me> => {
      const now = await call("GET /auth/me", { signal });
      const before = client.getQueryData<Me>(KEYS.me);
      if (!now.authenticated) return { ...now, ...(before && { name: before.name, role: before.role }) };
      if (before?.name !== now.name) {
        client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== KEYS.me[0] });
      }
      return now;
    },
    // Another person may have signed in in another tab: both tabs share one cookie.
    refetchOnWindowFocus: "always",
  });
}

/** Suspends until it is known; pages behind the sign-in have it at once. */
export function useMe(): Me {
  return useSuspenseQuery(meQuery()).data;
}

/** Takes about 400 ms whatever the password is. Throws `wrong_password` and `password_login_disabled`. */
export async function signInWithPassword(password: string) {
  return await call("POST /auth/password", { body: { password } });
}

/** With the token of a login link, which is good once. Throws `invalid_login_link`. */
export async function signInWithLink(token: string) {
  return await call("POST /auth/login-link", { body: { token } });
}

export type InstallationSettings = AnswerOf<"GET /admin/v1/settings">;
export type OwnSession = AnswerOf<"GET /my/sessions">["sessions"][number];

/** For admins. */
export function settingsQuery() {
  return queryOptions({
    queryKey: KEYS.settings,
    queryFn: ({ signal }) => call("GET /admin/v1/settings", { signal }),
  });
}

export function mySessionsQuery() {
  return queryOptions({
    queryKey: KEYS.mySessions,
    queryFn: async ({ signal }) => (await call("GET /my/sessions", { signal })).sessions,
  });
}

/** Answers how many ended. */
export const revokeOtherSessions = changing(
  async () => (await call("POST /my/sessions/revoke-others", { body: {} })).revoked,
  (client) => makeStale(client, [KEYS.mySessions, KEYS.settings]),
);
