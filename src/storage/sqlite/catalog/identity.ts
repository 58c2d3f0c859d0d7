import { and, asc, count, desc, eq, gt, inArray, lt, lte, ne, sql } from "drizzle-orm";
import { type IdentityStore, type OidcSubject, SESSIONS_LISTED_MAX } from "#identity/store.ts";
import type { Principal } from "#identity/principal.ts";
import {
  KEY_REFUSALS,
  losesAdmin,
  RELAY_TOKEN_REFUSALS,
  toLastAdmin,
  toPrincipalExists,
  toPrincipalNotFound,
} from "#storage/catalog/refusals.ts";
import {
  applyPrincipalChange,
  type PrincipalRow,
  toPrincipal,
  toPrincipalRow,
} from "#storage/catalog/principal-rows.ts";
import type { TellUnreadable } from "#storage/catalog/unreadable.ts";
import type { RecordAudit } from "./audit.ts";
import type { Connection, Orm } from "./connection.ts";
import { apiKeys, loginLinks, oidcSubjects, principals, relayTokens, sessions } from "./identity-schema.ts";
import { orphanResponses } from "#storage/catalog/responses.ts";
import { drive } from "#storage/sqlite/drive.ts";
import { createSecretStore } from "./secret-store.ts";

/** Principals, keys, relay tokens, sessions and login links in catalog.db. Every uniqueness rule is asked under the write lock, so none can be raced. */
export function createIdentityStore(
  connection: Connection,
  recordAudit: RecordAudit,
  tell: TellUnreadable,
): IdentityStore {
  const { orm } = connection;
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
  const findBySubject = orm
    .select({ principal: principals })
    .from(oidcSubjects)
    .innerJoin(principals, eq(principals.id, oidcSubjects.principalId))
    .where(
      and(
        eq(oidcSubjects.issuer, sql.placeholder("issuer")),
        eq(oidcSubjects.subject, sql.placeholder("subject")),
      ),
    )
    .prepare();
  const findSession = orm
    .select({ session: sessions, principal: principals })
    .from(sessions)
    .innerJoin(principals, eq(principals.id, sessions.principalId))
    .where(eq(sessions.tokenHash, sql.placeholder("tokenHash")))
    .prepare();

  const write = <Result>(step: () => Result) =>
    connection.write(step, () => {
      keys.forget();
      tokens.forget();
    });
  const read = (row: PrincipalRow): Principal => toPrincipal(row, tell);
  const requireRow = (id: string): PrincipalRow => {
    const row = findById.get({ id });
    if (row === undefined) throw toPrincipalNotFound();
    return row;
  };
  const requirePrincipal = (id: string): Principal => read(requireRow(id));
  const findNamed = (name: string): Principal | null => {
    const row = findByName.get({ name });
    return row === undefined ? null : read(row);
  };
  const findSubject = (subject: OidcSubject): Principal | null => {
    const found = findBySubject.get({ ...subject });
    return found === undefined ? null : read(found.principal);
  };
  const insertPrincipal = (principal: Principal): void => {
    if (findByName.get({ name: principal.name }) !== undefined) throw toPrincipalExists();
    orm.insert(principals).values(toPrincipalRow(principal)).run();
  };
  const requireAdminLeft = (before: Principal, after: Principal | null): void => {
    if (losesAdmin(before, after) && countOtherAdmins(orm, before.id) === 0) throw toLastAdmin(before);
  };

  const steps = { write, requirePrincipal, recordAudit, tell };
  const keys = createSecretStore(connection, apiKeys, steps, KEY_REFUSALS);
  const tokens = createSecretStore(connection, relayTokens, steps, RELAY_TOKEN_REFUSALS);

  return {
    createPrincipal: (principal, audit) =>
      write(() => {
        insertPrincipal(principal);
        recordAudit(audit);
      }),

    async ensurePrincipal(principal) {
      const found = await connection.query(() => findNamed(principal.name));
      if (found !== null) return found;
      return write(() => {
        const madeMeanwhile = findNamed(principal.name);
        if (madeMeanwhile !== null) return madeMeanwhile;
        orm.insert(principals).values(toPrincipalRow(principal)).run();
        return requirePrincipal(principal.id);
      });
    },

    findPrincipalByName: (name) => connection.query(() => findNamed(name)),

    listPrincipals: (page) =>
      connection.read(() => ({
        rows: orm
          .select()
          .from(principals)
          .orderBy(asc(principals.name))
          .limit(page.limit)
          .offset(page.offset)
          .all()
          .map(read),
        total: countPrincipals(orm),
      })),

    countPrincipals: () => connection.query(() => countPrincipals(orm)),

    updatePrincipal: (id, change, audit, require) =>
      write(() => {
        const row = requireRow(id);
        const before = read(row);
        require?.(before);
        const changed = applyPrincipalChange(row, change);
        const after = read(changed);
        requireAdminLeft(before, after);
        const { role, enabled, tags } = changed;
        orm.update(principals).set({ role, enabled, tags }).where(eq(principals.id, id)).run();
        recordAudit(audit);
        return after;
      }),

    deletePrincipal: (id, audit, require) =>
      write(() => {
        const before = requirePrincipal(id);
        require?.(before);
        requireAdminLeft(before, null);
        // Keys, relay tokens, sessions and subjects go with it: ON DELETE CASCADE.
        orm.delete(principals).where(eq(principals.id, id)).run();
        drive(orm.$client, orphanResponses(id));
        recordAudit(audit);
      }),

    findPrincipalBySubject: (issuer, subject) => connection.query(() => findSubject({ issuer, subject })),

    createPrincipalForSubject: (principal, { issuer, subject }) =>
      write(() => {
        // Another sign-in of the same person may have been first.
        const found = findSubject({ issuer, subject });
        if (found !== null) return found;
        insertPrincipal(principal);
        orm.insert(oidcSubjects).values({ issuer, subject, principalId: principal.id }).run();
        return principal;
      }),

    keys: {
      ...keys,
      findNames: (ids) =>
        connection.query(() => {
          // One value in the statement for all of them: SQLite limits how many it binds.
          const wanted = sql`(SELECT value FROM json_each(${JSON.stringify(ids)}))`;
          const rows = orm
            .select({ id: apiKeys.id, label: apiKeys.label, suffix: apiKeys.suffix })
            .from(apiKeys)
            .where(inArray(apiKeys.id, wanted))
            .all();
          return new Map(rows.map(({ id, ...name }) => [id, name]));
        }),
    },

    relayTokens: tokens,

    createSession: (session, nowUs) =>
      write(() => {
        requirePrincipal(session.principalId);
        orm.delete(sessions).where(lte(sessions.expiresAtUs, nowUs)).run();
        orm.insert(sessions).values(session).run();
      }),

    findSession: (tokenHash, nowUs) =>
      connection.query(() => {
        const found = findSession.get({ tokenHash });
        if (found === undefined || found.session.expiresAtUs <= nowUs) return null;
        return { session: found.session, principal: read(found.principal) };
      }),

    deleteSession: (tokenHash) =>
      write(() => {
        orm.delete(sessions).where(eq(sessions.tokenHash, tokenHash)).run();
      }),

    advanceSession: (tokenHash, cookieIssuedAtUs) =>
      write(() => {
        orm
          .update(sessions)
          .set({ cookieIssuedAtUs })
          .where(and(eq(sessions.tokenHash, tokenHash), lt(sessions.cookieIssuedAtUs, cookieIssuedAtUs)))
          .run();
      }),

    createLoginLink: (link, nowUs) =>
      write(() => {
        requirePrincipal(link.principalId);
        orm.delete(loginLinks).where(lte(loginLinks.expiresAtUs, nowUs)).run();
        orm.insert(loginLinks).values(link).run();
      }),

    async takeLoginLink(tokenHash, nowUs) {
      const ofHash = eq(loginLinks.tokenHash, tokenHash);
      // A guess is answered without the write lock.
      const known = await connection.query(() => orm.select().from(loginLinks).where(ofHash).get());
      if (known === undefined) return null;
      return write(() => {
        const [taken] = orm.delete(loginLinks).where(ofHash).returning().all();
        return taken !== undefined && taken.expiresAtUs > nowUs ? requirePrincipal(taken.principalId) : null;
      });
    },

    listSessions: (principalId, nowUs) =>
      connection.query(() =>
        orm
          .select({ session: sessions, principal: principals })
          .from(sessions)
          .innerJoin(principals, eq(principals.id, sessions.principalId))
          .where(
            and(
              gt(sessions.expiresAtUs, nowUs),
              principalId === null ? undefined : eq(sessions.principalId, principalId),
            ),
          )
          .orderBy(desc(sessions.cookieIssuedAtUs), sessions.tokenHash)
          .limit(SESSIONS_LISTED_MAX)
          .all()
          .map(({ session, principal }) => ({ session, principal: read(principal) })),
      ),

    revokeSessions: (principalId, audit, keptTokenHash = null) =>
      write(() => {
        requirePrincipal(principalId);
        orm.delete(loginLinks).where(eq(loginLinks.principalId, principalId)).run();
        const revoked = orm
          .delete(sessions)
          .where(
            and(
              eq(sessions.principalId, principalId),
              keptTokenHash === null ? undefined : ne(sessions.tokenHash, keptTokenHash),
            ),
          )
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
