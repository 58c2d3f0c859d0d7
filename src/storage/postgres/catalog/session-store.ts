import { and, desc, eq, gt, lt, lte, ne } from "drizzle-orm";
import { type IdentityStore, type Session, SESSIONS_LISTED_MAX } from "#identity/store.ts";
import { type PrincipalRow, toPrincipal } from "#storage/catalog/principal-rows.ts";
import { toPrincipalNotFound } from "#storage/catalog/refusals.ts";
import { StatementError } from "#storage/postgres/connection/errors.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { loginLinks, principals, sessions } from "./identity-schema.ts";
import { requirePrincipal } from "./principal-store.ts";
import type { StoreSteps } from "./secret-store.ts";

type SessionStore = Pick<
  IdentityStore,
  | "createSession"
  | "findSession"
  | "deleteSession"
  | "advanceSession"
  | "createLoginLink"
  | "takeLoginLink"
  | "listSessions"
  | "revokeSessions"
>;

/** SQLSTATE foreign_key_violation. */
const REFERENCE_MISSING = "23503";

/**
 * Sessions and login links. No replica remembers them: each request that shows a cookie asks the database, so that one that
 * ends has ended everywhere, and no change of them waits for another replica.
 */
export function createSessionStore({ reads, freshness, recordAudit }: StoreSteps): SessionStore {
  return {
    createSession: (session, nowUs) =>
      reads
        .query(async (sql) => {
          const made = await sql.orm
            .insert(sessions)
            .values(session)
            .onConflictDoUpdate({
              target: sessions.tokenHash,
              set: session,
              setWhere: lte(sessions.expiresAtUs, nowUs),
            })
            .returning({ of: sessions.principalId });
          if (made.length === 0) {
            await requirePrincipal(sql, session.principalId);
            throw new Error("a session that has not ended has this token already");
          }
          await removeExpired(sql, "sessions", nowUs, session.tokenHash);
        })
        .catch(throwOwnerMissing),

    async findSession(tokenHash, nowUs) {
      // A server that was a primary and became a standby still tells of sessions that have ended.
      await reads.current();
      return reads.query(async ({ orm }) => {
        const [found] = await orm
          .select({ session: sessions, principal: principals })
          .from(sessions)
          .innerJoin(principals, eq(principals.id, sessions.principalId))
          .where(and(eq(sessions.tokenHash, tokenHash), gt(sessions.expiresAtUs, nowUs)));
        return found === undefined ? null : toSessionOfPrincipal(found);
      });
    },

    deleteSession: (tokenHash) =>
      reads.query(async ({ orm }) => {
        await orm.delete(sessions).where(eq(sessions.tokenHash, tokenHash));
      }),

    advanceSession: (tokenHash, cookieIssuedAtUs) =>
      reads.query(async ({ orm }) => {
        await orm
          .update(sessions)
          .set({ cookieIssuedAtUs })
          .where(and(eq(sessions.tokenHash, tokenHash), lt(sessions.cookieIssuedAtUs, cookieIssuedAtUs)));
      }),

    createLoginLink: (link, nowUs) =>
      reads
        .query(async (sql) => {
          await sql.orm.insert(loginLinks).values(link);
          await removeExpired(sql, "login_links", nowUs, link.tokenHash);
        })
        .catch(throwOwnerMissing),

    // One DELETE gets the row, also of two replicas: the other one waits for it and finds nothing.
    takeLoginLink: (tokenHash, nowUs) =>
      reads.query(async ({ orm }) => {
        const taken = orm
          .$with("taken")
          .as(orm.delete(loginLinks).where(eq(loginLinks.tokenHash, tokenHash)).returning());
        const [found] = await orm
          .with(taken)
          .select({ principal: principals })
          .from(taken)
          .innerJoin(principals, eq(principals.id, taken.principalId))
          .where(gt(taken.expiresAtUs, nowUs));
        return found === undefined ? null : toPrincipal(found.principal);
      }),

    listSessions: (principalId, nowUs) =>
      reads.query(async ({ orm }) => {
        const rows = await orm
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
          .limit(SESSIONS_LISTED_MAX);
        return rows.map(toSessionOfPrincipal);
      }),

    revokeSessions: (principalId, audit, keptTokenHash = null) =>
      freshness.mutate(async (tx) => {
        await requirePrincipal(tx, principalId);
        await tx.orm.delete(loginLinks).where(eq(loginLinks.principalId, principalId));
        const revoked = await tx.orm
          .delete(sessions)
          .where(
            and(
              eq(sessions.principalId, principalId),
              keptTokenHash === null ? undefined : ne(sessions.tokenHash, keptTokenHash),
            ),
          )
          .returning({ of: sessions.principalId });
        await recordAudit(tx, [audit]);
        return { result: revoked.length, changes: [] };
      }),
  };
}

function toSessionOfPrincipal({
  session,
  principal,
}: {
  readonly session: Session;
  readonly principal: PrincipalRow;
}) {
  return { session, principal: toPrincipal(principal) };
}

/**
 * Removes what has ended, except for the new row. In a commit of its own: within that of the new row, which waits for its
 * principal, it would meet in a circle a deletion of that principal, which waits for the rows that are removed. After the
 * new row, so that one that is refused removes nothing. Rows that another sign-in removes at this moment are left to it.
 */
async function removeExpired(
  sql: Sql,
  table: "sessions" | "login_links",
  nowUs: number,
  keptTokenHash: string,
): Promise<void> {
  await sql.run(
    `DELETE FROM ${table} WHERE token_hash IN
    (SELECT token_hash FROM ${table} WHERE expires_at_us <= $1 AND token_hash <> $2 FOR UPDATE SKIP LOCKED)`,
    [nowUs, keptTokenHash],
  );
}

function throwOwnerMissing(cause: unknown): never {
  if (cause instanceof StatementError && cause.code === REFERENCE_MISSING) throw toPrincipalNotFound();
  throw cause;
}
