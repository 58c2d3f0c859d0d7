import type { Principal } from "#identity/principal.ts";
import type { PrincipalStore } from "#identity/store.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { LimitSet } from "#limits/store.ts";
import { count, insert, select, selectOne, update } from "#storage/sql/rows.ts";
import { all, type Binding, run, type Script } from "#storage/sql/script.ts";
import { recordAudit, recordChange } from "./audit.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { changed } from "./change.ts";
import { toPrincipal } from "./catalog-rows.ts";
import { orphanResponses } from "./responses.ts";
import { oidcSubjects, principals, type PrincipalRow } from "./tables.ts";
import type { TellUnreadable } from "./unreadable.ts";

/** Principals and their subjects. Every uniqueness rule is asked under the catalog's lock, so none can be raced. */
export function createPrincipalStore({ read, ask, change, memory }: CatalogDriver): PrincipalStore {
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
        yield* recordAudit([audit]);
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
        yield* recordChange(audit, "principal", id);
        return after;
      }),

    deletePrincipal: (id, audit, require) =>
      change(function* () {
        const before = yield* requirePrincipal(id, tell);
        require?.(before);
        yield* requireAdminLeft(before, null);
        yield* tellOwned(id, memory.limits());
        // Keys, relay tokens, sessions, subjects and limits go with it: ON DELETE CASCADE.
        yield* run("DELETE FROM principals WHERE id = ?", [id]);
        yield* orphanResponses(id);
        yield* recordChange(audit, "principal", id);
      }),

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

/** Tells of what goes with a principal, which still is there. */
function* tellOwned(principalId: string, { limits }: LimitSet): Script<void> {
  const owners = new Set([principalId]);
  for (const [kind, table] of [
    ["key", "api_keys"],
    ["relay_token", "relay_tokens"],
  ] as const) {
    const rows = yield* all<{ readonly id: string }>(`SELECT id FROM ${table} WHERE principal_id = ?`, [
      principalId,
    ]);
    for (const { id } of rows) {
      owners.add(id);
      yield* changed(kind, id);
    }
  }
  for (const { id, subject } of limits)
    if ("id" in subject && owners.has(subject.id)) yield* changed("limit", id);
}

export function toPrincipalNotFound(): ProxyError {
  return new ProxyError("principal_not_found", "No principal has this id.");
}
