import type { Treaty } from "@elysiajs/eden/treaty2";
import { queryOptions } from "@tanstack/react-query";
import { unwrap } from "./answer.ts";
import { changing } from "./changing.ts";
import { api, asking } from "./client.ts";
import { KEYS, makeStale } from "./keys.ts";

/** What runs here, and who is signed in. */

export type InstallationSettings = Treaty.Data<typeof api.admin.v1.settings.get>;
export type OwnSession = Treaty.Data<typeof api.my.sessions.get>["sessions"][number];

/** For admins. */
export function settingsQuery() {
  return queryOptions({
    queryKey: KEYS.settings,
    queryFn: ({ signal }) => unwrap(api.admin.v1.settings.get(asking(signal))),
  });
}

export function mySessionsQuery() {
  return queryOptions({
    queryKey: KEYS.mySessions,
    queryFn: async ({ signal }) => (await unwrap(api.my.sessions.get(asking(signal)))).sessions,
  });
}

/** Answers how many ended. */
export const revokeOtherSessions = changing(
  async () => (await unwrap(api.my.sessions["revoke-others"].post({}))).revoked,
  (client) => makeStale(client, [KEYS.mySessions, KEYS.settings]),
);
