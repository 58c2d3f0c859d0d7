import { queryOptions } from "@tanstack/react-query";
import type { AnswerOf } from "#http/client.ts";
import { changing } from "./changing.ts";
import { call } from "./client.ts";
import { KEYS, makeStale } from "./keys.ts";

/** What runs here, and who is signed in. */

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
