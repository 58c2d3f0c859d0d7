import { toAuditChange } from "#audit/change.ts";
import { toPrincipalFacts, toSecretName } from "#identity/facts.ts";
import type { Principal } from "#identity/principal.ts";
import type { PrincipalRemoval, PrincipalStore, RemovedSecret } from "#identity/store.ts";
import { ProxyError, type Precondition } from "#kernel/errors.ts";
import type { LimitSet } from "#limits/store.ts";
import { count, insert, select, selectOne, update } from "#storage/sql/rows.ts";
import { all, type Binding, run, type Script } from "#storage/sql/script.ts";
import { recordChange, recordOne } from "./audit.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { changed } from "./change.ts";
import { toPrincipal } from "./catalog-rows.ts";
import { orphanResponses } from "./responses.ts";
import { oidcSubjects, principals, type PrincipalRow, sessions } from "./tables.ts";
import type { TellUnreadable } from "./unreadable.ts";

/** Principals and their subjects. Every uniqueness rule is asked under the catalog's lock, so none can be raced. */
export function createPrincipalStore({ read, ask, change, memory, current }: CatalogDriver): PrincipalStore {
  const { tell } = memory;
  const findByName = (name: string) => findPrincipal("WHERE name = ?", [name], tell);
  const findBySubject = (issuer: string, subject: string) =>
    findPrincipal(
      "WHERE id = (SELECT principal_id FROM oidc_subject WHERE issuer = ? AND subject = ?)",
      [issuer, subject],
      tell,
    );
  return {
    createPrincipal: (principal, audit) =>
      change(function* () {
        yield* insertPrincipal(principal);
        yield* recordOne(audit, toPrincipalChange(null, principal));
      }),

    async ensurePrincipal(principal) {
      const found = await ask(() => findByName(principal.name));
      if (found !== null) return found;
      return change(function* () {
        const madeMeanwhile = yield* findByName(principal.name);
        if (madeMeanwhile !== null) return madeMeanwhile;
        yield* insertPrincipal(principal);
        return principal;
      });
    },

    findPrincipalByName: (name) => ask(() => findByName(name)),

    listPrincipals: ({ limit, offset }) =>
      read(function* () {
        const rows = yield* select(principals, "ORDER BY name LIMIT ? OFFSET ?", [limit, offset]);
        return { rows: rows.map((row) => toPrincipal(row, tell)), total: yield* count(principals) };
      }),

    countPrincipals: () => ask(() => count(principals)),

    updatePrincipal: (id, edit, audit, require) =>
      change(function* () {
        const row = yield* requireRow(id);
        const before = toPrincipal(row, tell);
        require?.(before);
        const after = toPrincipal({ ...row, ...edit }, tell);
        yield* requireAdminLeft(before, after);
        yield* update(principals, edit, "id = ?", [id]);
        yield* recordChange(audit, "principal", { id, change: toPrincipalChange(before, after) });
        return after;
      }),

    deletePrincipal: (id, audit, require) =>
      change(function* () {
        const before = yield* requireRemovable(id, { tell, require });
        const owned = yield* removePrincipal(id, memory.limits());
        yield* recordOne(audit, toPrincipalRemoval(before, owned));
      }),

    async findPrincipalRemoval(id, nowUs, require) {
      await current();
      const known = memory.limits();
      return read(function* () {
        const principal = yield* requireRemovable(id, { tell, require });
        const sessionCount = yield* count(sessions, "WHERE principal_id = ? AND expires_at_us > ?", [
          id,
          nowUs,
        ]);
        return { principal, ...(yield* findOwned(id, known)), sessions: sessionCount };
      });
    },

    findPrincipalBySubject: (issuer, subject) => ask(() => findBySubject(issuer, subject)),

    createPrincipalForSubject: (principal, { issuer, subject }) =>
      change(function* () {
        // Another sign-in of the same account may have been first.
        const found = yield* findBySubject(issuer, subject);
        if (found !== null) return found;
        yield* insertPrincipal(principal);
        yield* insert(oidcSubjects, [{ issuer, subject, principalId: principal.id }]);
        return principal;
      }),
  };
}

export function toPrincipalChange(before: Principal | null, after: Principal | null) {
  const { name = null } = after ?? before ?? {};
  return toAuditChange(name, before && toPrincipalFacts(before), after && toPrincipalFacts(after));
}

/** The deletion of a principal and of what goes with it, which has no entries of its own. */
export function toPrincipalRemoval(principal: Principal, { keys, relayTokens, limits }: Owned) {
  const facts = {
    ...toPrincipalFacts(principal),
    keys: keys.map(toSecretName),
    relay_tokens: relayTokens.map(toSecretName),
    limits: limits.map(({ name }) => name),
  };
  return toAuditChange(principal.name, facts, null);
}

export type Owned = Pick<PrincipalRemoval, "keys" | "relayTokens" | "limits">;

/** Within a change, whoever it is, with what goes with it, which it returns. `known`: the limits that it found. */
export function* removePrincipal(id: string, known: LimitSet): Script<Owned> {
  const owned = yield* findOwned(id, known);
  const { keys, relayTokens, limits } = owned;
  for (const key of keys) yield* changed("key", key.id);
  for (const token of relayTokens) yield* changed("relay_token", token.id);
  for (const limit of limits) yield* changed("limit", limit.id);
  // Keys, relay tokens, sessions, subjects and limits go with it: ON DELETE CASCADE.
  yield* run("DELETE FROM principals WHERE id = ?", [id]);
  yield* orphanResponses(id);
  yield* changed("principal", id);
  return owned;
}

/** Within a transaction. Throws `principal_not_found`. */
export function* requirePrincipal(id: string, tell?: TellUnreadable): Script<Principal> {
  return toPrincipal(yield* requireRow(id), tell);
}

function* requireRow(id: string): Script<PrincipalRow> {
  const row = yield* selectOne(principals, "WHERE id = ?", [id]);
  if (row === null) throw toPrincipalNotFound();
  return row;
}

function* findPrincipal(
  where: string,
  bindings: readonly Binding[],
  tell: TellUnreadable,
): Script<Principal | null> {
  const row = yield* selectOne(principals, where, bindings);
  return row === null ? null : toPrincipal(row, tell);
}

function* insertPrincipal(principal: Principal): Script<void> {
  if ((yield* count(principals, "WHERE name = ?", [principal.name])) > 0)
    throw new ProxyError("principal_exists", "A principal of this name exists already.", { param: "name" });
  yield* insert(principals, [principal]);
  yield* changed("principal", principal.id);
}

/** `after` null: the principal is gone. Throws `last_admin`. */
function* requireAdminLeft(before: Principal, after: Principal | null): Script<void> {
  if (!isEnabledAdmin(before) || (after !== null && isEnabledAdmin(after))) return;
  const others = yield* count(principals, "WHERE role = 'admin' AND enabled AND id <> ?", [before.id]);
  if (others > 0) return;
  throw new ProxyError("last_admin", `"${before.name}" is the last enabled admin: make another one first.`);
}

function isEnabledAdmin({ role, enabled }: Principal): boolean {
  return role === "admin" && enabled;
}

/** Throws `principal_not_found`, `last_admin` and what `require` throws. */
function* requireRemovable(
  id: string,
  { tell, require }: { readonly tell: TellUnreadable; readonly require: Precondition<Principal> | undefined },
): Script<Principal> {
  const principal = yield* requirePrincipal(id, tell);
  require?.(principal);
  yield* requireAdminLeft(principal, null);
  return principal;
}

/** Finds what goes with a principal, which still is there. */
function* findOwned(principalId: string, { limits }: LimitSet): Script<Owned> {
  const keys = yield* listSecretNames("api_keys", principalId);
  const relayTokens = yield* listSecretNames("relay_tokens", principalId);
  const owners = new Set([principalId, ...keys.map(({ id }) => id), ...relayTokens.map(({ id }) => id)]);
  const owned = limits.filter(({ subject }) => "id" in subject && owners.has(subject.id));
  return { keys, relayTokens, limits: owned.map(({ id, name, enabled }) => ({ id, name, enabled })) };
}

function listSecretNames(
  table: "api_keys" | "relay_tokens",
  principalId: string,
): Script<readonly RemovedSecret[]> {
  return all<RemovedSecret>(
    `SELECT id, label, suffix FROM ${table} WHERE principal_id = ? ORDER BY created_at_us, id`,
    [principalId],
  );
}

export function toPrincipalNotFound(): ProxyError {
  return new ProxyError("principal_not_found", "No principal has this id.");
}
