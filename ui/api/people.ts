import { queryOptions, type QueryClient } from "@tanstack/react-query";
import type { AnswerOf, BodyOf } from "#http/client.ts";
import { changing } from "./changing.ts";
import { call } from "./client.ts";
import { ifMatch } from "./if-match.ts";
import { KEYS, makeStale } from "./keys.ts";
import type { KeyRotation, RotatedKey, SecretUpdate } from "./secret-change.ts";
import { fetchWholeList, type PageQuery } from "./pages.ts";

/** Principals, all keys and relay tokens, and what administrators did (specification, section 4.6). */

export type Principal = AnswerOf<"GET /admin/v1/principals">["principals"][number];
export type PrincipalDraft = BodyOf<"POST /admin/v1/principals">;
export type PrincipalPatch = BodyOf<"PATCH /admin/v1/principals/:id">;
/** With its owner's name. */
export type OwnedKey = AnswerOf<"GET /admin/v1/keys">["keys"][number];
export type OwnedKeyDraft = BodyOf<"POST /admin/v1/keys">;
export type OwnedRelayToken = AnswerOf<"GET /admin/v1/relay-tokens">["relay_tokens"][number];
export type AuditEvent = AnswerOf<"GET /admin/v1/events">["events"][number];

/** A page of a list, for all principals or for one by name. */
interface OwnedPageQuery extends PageQuery {
  readonly principal?: string | undefined;
}

async function fetchPrincipals(page: PageQuery, signal?: AbortSignal) {
  const { principals: rows, total } = await call("GET /admin/v1/principals", { signal, query: { ...page } });
  return { rows, total };
}

/** All of them, up to `ROWS_MAX`. */
export function principalsQuery() {
  return queryOptions({
    queryKey: KEYS.principals,
    queryFn: ({ signal }) =>
      fetchWholeList(
        (page) => fetchPrincipals(page, signal),
        ({ id }) => id,
      ),
  });
}

export const createPrincipal = changing(
  (draft: PrincipalDraft) => call("POST /admin/v1/principals", { body: draft }),
  refreshPeople,
);

interface PrincipalUpdate {
  readonly id: string;
  readonly patch: PrincipalPatch;
  /** The principal that the change was made from. */
  readonly from?: object | undefined;
}

/** Throws `last_admin`. */
export const updatePrincipal = changing(
  ({ id, patch, from }: PrincipalUpdate) =>
    call("PATCH /admin/v1/principals/:id", { params: { id }, body: patch, ...ifMatch("principal", from) }),
  refreshPeople,
);

/** Its keys, relay tokens and sessions go with it; what it used stays. Throws `last_admin`. */
export const deletePrincipal = changing(
  ({ id, from }: Pick<PrincipalUpdate, "id" | "from">) =>
    call("DELETE /admin/v1/principals/:id", { params: { id }, ...ifMatch("principal", from) }),
  refreshPeople,
);

/** How many sessions ended. */
export const revokeSessions = changing(
  async (id: string) =>
    (await call("POST /admin/v1/principals/:id/revoke-sessions", { params: { id }, body: {} })).revoked,
  refreshPeople,
);

export async function fetchKeys({ principal, ...page }: OwnedPageQuery, signal?: AbortSignal) {
  const { keys: rows, total } = await call("GET /admin/v1/keys", { signal, query: { principal, ...page } });
  return { rows, total };
}

/** All keys, or those of one principal; up to `ROWS_MAX`. */
export function keysQuery(principal?: string) {
  return queryOptions({
    queryKey: [...KEYS.keys, { principal }],
    queryFn: ({ signal }) =>
      fetchWholeList(
        (page) => fetchKeys({ principal, ...page }, signal),
        ({ id }) => id,
      ),
  });
}

export const createKey = changing(
  (draft: OwnedKeyDraft) => call("POST /admin/v1/keys", { body: draft }),
  refreshPeople,
);

export const updateKey = changing(async ({ id, patch }: SecretUpdate): Promise<void> => {
  await call("PATCH /admin/v1/keys/:id", { params: { id }, body: patch });
}, refreshPeople);

/** Answers with the new secret. */
export const rotateKey = changing(
  ({ id, graceSeconds }: KeyRotation): Promise<RotatedKey> =>
    call("POST /admin/v1/keys/:id/rotate", { params: { id }, body: { grace_seconds: graceSeconds } }),
  refreshPeople,
);

export const deleteKey = changing(
  (id: string) => call("DELETE /admin/v1/keys/:id", { params: { id } }),
  refreshPeople,
);

async function fetchRelayTokens({ principal, ...page }: OwnedPageQuery, signal?: AbortSignal) {
  const { relay_tokens: rows, total } = await call("GET /admin/v1/relay-tokens", {
    signal,
    query: { principal, ...page },
  });
  return { rows, total };
}

/** All relay tokens, or those of one principal; up to `ROWS_MAX`. */
export function relayTokensQuery(principal?: string) {
  return queryOptions({
    queryKey: [...KEYS.relayTokens, { principal }],
    queryFn: ({ signal }) =>
      fetchWholeList(
        (page) => fetchRelayTokens({ principal, ...page }, signal),
        ({ id }) => id,
      ),
  });
}

export const updateRelayToken = changing(async ({ id, patch }: SecretUpdate): Promise<void> => {
  await call("PATCH /admin/v1/relay-tokens/:id", { params: { id }, body: patch });
}, refreshPeople);

export const deleteRelayToken = changing(
  (id: string) => call("DELETE /admin/v1/relay-tokens/:id", { params: { id } }),
  refreshPeople,
);

/** A page of the audit events, newest first. */
export async function fetchEvents(page: PageQuery, signal?: AbortSignal) {
  const { events: rows, total } = await call("GET /admin/v1/events", { signal, query: { ...page } });
  return { rows, total };
}

/**
 * Principals own keys and relay tokens: a change of one can show in all, and one's own role in every page. What is deleted
 * takes its limits with it.
 */
async function refreshPeople(client: QueryClient): Promise<void> {
  await makeStale(client, [
    KEYS.principals,
    KEYS.keys,
    KEYS.relayTokens,
    KEYS.limits,
    KEYS.events,
    KEYS.mine,
    KEYS.settings,
    KEYS.me,
  ]);
}
