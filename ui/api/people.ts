import { queryOptions } from "@tanstack/react-query";
import type { AnswerOf, BodyOf } from "#http/client.ts";
import type { QueryParams } from "#kernel/route-request.ts";
import { changing } from "./changing.ts";
import { call, callWithHeaders } from "./client.ts";
import { KEYS } from "./keys.ts";
import { resource, toRefresh } from "./resource.ts";

/** Principals, keys and relay tokens, one's own among them, and what administrators did (specification, sections 4.3 and 4.6). */

export type Principal = AnswerOf<"GET /admin/v1/principals">["principals"][number];
export type PrincipalDraft = BodyOf<"POST /admin/v1/principals">;
/** With its owner's name. */
export type OwnedKey = AnswerOf<"GET /admin/v1/keys">["keys"][number];
export type OwnedRelayToken = AnswerOf<"GET /admin/v1/relay-tokens">["relay_tokens"][number];
/** The terms that a key is made with; a relay token takes fewer of them, and only admins set `tags`. */
export type SecretDraft = Omit<BodyOf<"POST /admin/v1/keys">, "principal"> & {
  readonly models?: readonly string[];
};
/** What changes of a key or a relay token; null lifts it. */
export type SecretPatch = NonNullable<BodyOf<"PATCH /admin/v1/keys/:id">>;
export type AuditEvent = AnswerOf<"GET /admin/v1/events">["events"][number];

/**
 * Principals own keys and relay tokens: a change of one can show in all, and one's own role in every page. What is deleted
 * takes its limits with it.
 */
const PEOPLE = [
  KEYS.principals,
  KEYS.keys,
  KEYS.relayTokens,
  KEYS.limits,
  KEYS.events,
  KEYS.mine,
  KEYS.settings,
  KEYS.me,
];
const OF_MY_KEYS = [KEYS.myKeys, KEYS.keys];

/** Changes throw `last_admin`. */
export const PRINCIPALS = resource({
  path: "/admin/v1/principals",
  rows: "principals",
  id: "id",
  key: KEYS.principals,
  stored: "principal",
  stale: PEOPLE,
});

export const ALL_KEYS = resource({
  path: "/admin/v1/keys",
  rows: "keys",
  id: "id",
  key: KEYS.keys,
  stale: PEOPLE,
});

export const ALL_RELAY_TOKENS = resource({
  path: "/admin/v1/relay-tokens",
  rows: "relay_tokens",
  id: "id",
  key: KEYS.relayTokens,
  stale: PEOPLE,
});

export const MY_KEYS = resource({
  path: "/my/keys",
  rows: "keys",
  id: "id",
  key: KEYS.myKeys,
  stale: OF_MY_KEYS,
});

export const MY_RELAY_TOKENS = resource({
  path: "/my/relay-tokens",
  rows: "relay_tokens",
  id: "id",
  key: KEYS.myRelayTokens,
  stale: [KEYS.myRelayTokens, KEYS.relayTokens],
});

/** Own relay tokens, and whether the relay that takes them is on. */
export function myRelayTokensQuery() {
  return queryOptions({
    queryKey: [...KEYS.myRelayTokens, "relay"],
    queryFn: async ({ signal }) => {
      const { data, headers } = await callWithHeaders("GET /my/relay-tokens", { signal });
      const rows = data.relay_tokens;
      return { rows, total: rows.length, isRelayOn: headers.get("x-proxy-relay") !== "off" };
    },
  });
}

export interface KeyRotation {
  readonly id: string;
  /** How long the secret before goes on working. */
  readonly graceSeconds: number;
}

/** Answers with the new secret. */
export const rotateKey = changing(
  ({ id, graceSeconds }: KeyRotation) =>
    call("POST /admin/v1/keys/:id/rotate", { params: { id }, body: { grace_seconds: graceSeconds } }),
  toRefresh(PEOPLE),
);

export const rotateMyKey = changing(
  ({ id, graceSeconds }: KeyRotation) =>
    call("POST /my/keys/:id/rotate", { params: { id }, body: { grace_seconds: graceSeconds } }),
  toRefresh(OF_MY_KEYS),
);

/** Answers how many sessions ended. */
export const revokeSessions = changing(
  async (id: string) =>
    (await call("POST /admin/v1/principals/:id/revoke-sessions", { params: { id }, body: {} })).revoked,
  toRefresh(PEOPLE),
);

/** A page of the audit events, newest first. */
export async function fetchEvents(page: QueryParams, signal?: AbortSignal) {
  const { events: rows, total } = await call("GET /admin/v1/events", { signal, query: page });
  return { rows, total };
}
