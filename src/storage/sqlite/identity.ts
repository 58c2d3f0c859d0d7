import { and, asc, count, eq, inArray, lte, ne, sql } from "drizzle-orm";
import type { IdentityStore } from "#identity/store.ts";
import type { Principal } from "#identity/principal.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { RecordAudit } from "./audit.ts";
import type { Connection, Orm } from "./connection.ts";
import { API_KEY_COLUMNS, createKeyLookup } from "./key-lookup.ts";
import { apiKeys, principals, sessions } from "./schema.ts";

/** Principals, keys and sessions in catalog.db. Every uniqueness rule is asked under the write lock, so none can be raced. */
export function createIdentityStore(connection: Connection, recordAudit: RecordAudit): IdentityStore {
  const { orm } = connection;
  const keyLookup = createKeyLookup(connection);
  const findById = orm
    .select()
    .from(principals)
    .where(eq(principals.id, sql.placeholder("id")))
    .prepare();
  const findByName = orm
    .select()
    .from(principals)
    .where(eq(principals.name, sql.placeholder("name")))
    .prepare();
  const findSession = orm
    .select({ session: sessions, principal: principals })
    .from(sessions)
    .innerJoin(principals, eq(principals.id, sessions.principalId))
    .where(eq(sessions.tokenHash, sql.placeholder("tokenHash")))
    .prepare();

  const write = <Result>(step: () => Result) => connection.write(step, () => keyLookup.forget());
  const requirePrincipal = (id: string): Principal => {
    const principal = findById.get({ id });
    if (principal === undefined) throw new ProxyError("principal_not_found", "No principal has this id.");
    return principal;
  };
  const requireOtherAdmin = (leaving: Principal): void => {
    if (leaving.role === "admin" && leaving.enabled && countOtherAdmins(orm, leaving.id) === 0) {
      throw new ProxyError(
        "last_admin",
        `"${leaving.name}" is the last enabled admin: make another one first.`,
      );
    }
  };

  return {
    createPrincipal: (principal, audit) =>
      write(() => {
        if (findByName.get({ name: principal.name }) !== undefined) {
          throw new ProxyError("principal_exists", "A principal of this name exists already.", {
            param: "name",
          });
        }
        orm.insert(principals).values(principal).run();
        recordAudit(audit);
      }),

    async ensurePrincipal(principal) {
      const found = await connection.query(() => findByName.get({ name: principal.name }));
      if (found !== undefined) return found;
      return write(() => {
        const madeMeanwhile = findByName.get({ name: principal.name });
        if (madeMeanwhile !== undefined) return madeMeanwhile;
        orm.insert(principals).values(principal).run();
        return requirePrincipal(principal.id);
      });
    },

    findPrincipalByName: (name) => connection.query(() => findByName.get({ name }) ?? null),

    listPrincipals: (page) =>
      connection.read(() => ({
        rows: orm
          .select()
          .from(principals)
          .orderBy(asc(principals.name))
          .limit(page.limit)
          .offset(page.offset)
          .all(),
        total: countPrincipals(orm),
      })),

    countPrincipals: () => connection.query(() => countPrincipals(orm)),

    updatePrincipal: (id, change, audit) =>
      write(() => {
        const before = requirePrincipal(id);
        const after = { ...before, ...change };
        if (after.role !== "admin" || !after.enabled) requireOtherAdmin(before);
        orm
          .update(principals)
          .set({ role: after.role, enabled: after.enabled })
          .where(eq(principals.id, id))
          .run();
        recordAudit(audit);
        return after;
      }),

    deletePrincipal: (id, audit) =>
      write(() => {
        requireOtherAdmin(requirePrincipal(id));
        // Keys and sessions go with it: ON DELETE CASCADE.
        orm.delete(principals).where(eq(principals.id, id)).run();
        recordAudit(audit);
      }),

    createKey: (key, audit) =>
      write(() => {
        requirePrincipal(key.principalId);
        orm.insert(apiKeys).values(key).run();
        recordAudit(audit);
      }),

    findKeyByHash: (hash) => keyLookup.find(hash),

    listKeys: ({ principalId }, page) =>
      connection.read(() => {
        const owned = principalId === undefined ? undefined : eq(apiKeys.principalId, principalId);
        const rows = orm
          .select({ ...API_KEY_COLUMNS, principalName: principals.name })
          .from(apiKeys)
          .innerJoin(principals, eq(principals.id, apiKeys.principalId))
          .where(owned)
          .orderBy(asc(apiKeys.createdAtUs), asc(apiKeys.id))
          .limit(page.limit)
          .offset(page.offset)
          .all();
        return { rows, total: orm.select({ total: count() }).from(apiKeys).where(owned).get()?.total ?? 0 };
      }),

    findKeyLabels: (ids) =>
      connection.query(() => {
        // One value in the statement for all of them: SQLite limits how many it binds.
        const wanted = sql`(SELECT value FROM json_each(${JSON.stringify(ids)}))`;
        const rows = orm
          .select({ id: apiKeys.id, label: apiKeys.label })
          .from(apiKeys)
          .where(inArray(apiKeys.id, wanted))
          .all();
        return new Map(rows.map(({ id, label }) => [id, label]));
      }),

    deleteKey: ({ id, principalId }, audit) =>
      write(() => {
        const owned = principalId === undefined ? undefined : eq(apiKeys.principalId, principalId);
        const deleted = orm
          .delete(apiKeys)
          .where(and(eq(apiKeys.id, id), owned))
          .returning({ id: apiKeys.id })
          .all();
        if (deleted.length === 0) throw new ProxyError("key_not_found", "No key has this id.");
        recordAudit(audit);
      }),

    createSession: (session, nowUs) =>
      write(() => {
        requirePrincipal(session.principalId);
        orm.delete(sessions).where(lte(sessions.expiresAtUs, nowUs)).run();
        orm.insert(sessions).values(session).run();
      }),

    findSession: (tokenHash, nowUs) =>
      connection.query(() => {
        const found = findSession.get({ tokenHash });
        return found !== undefined && found.session.expiresAtUs > nowUs ? found : null;
      }),

    deleteSession: (tokenHash) =>
      write(() => {
        orm.delete(sessions).where(eq(sessions.tokenHash, tokenHash)).run();
      }),

    revokeSessions: (principalId, audit) =>
      write(() => {
        requirePrincipal(principalId);
        const revoked = orm
          .delete(sessions)
          .where(eq(sessions.principalId, principalId))
          .returning({ of: sessions.principalId })
          .all();
        recordAudit(audit);
        return revoked.length;
      }),
  };
}

function countPrincipals(orm: Orm): number {
  return orm.select({ total: count() }).from(principals).get()?.total ?? 0;
}

function countOtherAdmins(orm: Orm, id: string): number {
  const others = and(eq(principals.role, "admin"), eq(principals.enabled, true), ne(principals.id, id));
  return orm.select({ total: count() }).from(principals).where(others).get()?.total ?? 0;
}
