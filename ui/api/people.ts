import type { Treaty } from "@elysiajs/eden/treaty2";
import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { unwrap } from "./answer.ts";
import { changing } from "./changing.ts";
import { api, asking, toPathPart } from "./client.ts";
import { ifMatch } from "./if-match.ts";
import { KEYS, makeStale } from "./keys.ts";
import type { KeyRotation, RotatedKey, SecretUpdate } from "./secret-change.ts";
import { fetchWholeList, type PageQuery } from "./pages.ts";

/** Principals, all keys and relay tokens, and what administrators did (specification, section 4.6). */

const { principals, keys, events } = api.admin.v1;
const relayTokens = api.admin.v1["relay-tokens"];

export type Principal = Treaty.Data<typeof principals.get>["principals"][number];
export type PrincipalDraft = Parameters<typeof principals.post>[0];
export type PrincipalPatch = Parameters<ReturnType<typeof principals>["patch"]>[0];
/** With its owner's name. */
export type OwnedKey = Treaty.Data<typeof keys.get>["keys"][number];
export type OwnedKeyDraft = Parameters<typeof keys.post>[0];
export type OwnedRelayToken = Treaty.Data<typeof relayTokens.get>["relay_tokens"][number];
export type AuditEvent = Treaty.Data<typeof events.get>["events"][number];

/** A page of a list, for all principals or for one by name. */
interface OwnedPageQuery extends PageQuery {
  readonly principal?: string | undefined;
}

async function fetchPrincipals(page: PageQuery, signal?: AbortSignal) {
  const { principals: rows, total } = await unwrap(principals.get(asking(signal, { ...page })));
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
  (draft: PrincipalDraft) => unwrap(principals.post(draft)),
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
    unwrap(principals({ id: toPathPart(id) }).patch(patch, ifMatch("principal", from))),
  refreshPeople,
);

/** Its keys, relay tokens and sessions go with it; what it used stays. Throws `last_admin`. */
export const deletePrincipal = changing(
  ({ id, from }: Pick<PrincipalUpdate, "id" | "from">) =>
    unwrap(principals({ id: toPathPart(id) }).delete(undefined, ifMatch("principal", from))),
  refreshPeople,
);

/** How many sessions ended. */
export const revokeSessions = changing(
  async (id: string) =>
    (await unwrap(principals({ id: toPathPart(id) })["revoke-sessions"].post({}))).revoked,
  refreshPeople,
);

export async function fetchKeys({ principal, ...page }: OwnedPageQuery, signal?: AbortSignal) {
  const { keys: rows, total } = await unwrap(keys.get(asking(signal, { principal, ...page })));
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

export const createKey = changing((draft: OwnedKeyDraft) => unwrap(keys.post(draft)), refreshPeople);

export const updateKey = changing(async ({ id, patch }: SecretUpdate): Promise<void> => {
  await unwrap(keys({ id: toPathPart(id) }).patch(patch));
}, refreshPeople);

/** Answers with the new secret. */
export const rotateKey = changing(
  ({ id, graceSeconds }: KeyRotation): Promise<RotatedKey> =>
    unwrap(keys({ id: toPathPart(id) }).rotate.post({ grace_seconds: graceSeconds })),
  refreshPeople,
);

export const deleteKey = changing(
  (id: string) => unwrap(keys({ id: toPathPart(id) }).delete()),
  refreshPeople,
);

async function fetchRelayTokens({ principal, ...page }: OwnedPageQuery, signal?: AbortSignal) {
  const { relay_tokens: rows, total } = await unwrap(relayTokens.get(asking(signal, { principal, ...page })));
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
  await unwrap(relayTokens({ id: toPathPart(id) }).patch(patch));
}, refreshPeople);

export const deleteRelayToken = changing(
  (id: string) => unwrap(relayTokens({ id: toPathPart(id) }).delete()),
  refreshPeople,
);

/** A page of the audit events, newest first. */
export async function fetchEvents(page: PageQuery, signal?: AbortSignal) {
  const { events: rows, total } = await unwrap(events.get(asking(signal, { ...page })));
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
