import { toAuditChange } from "#audit/change.ts";
import type { Principal } from "#identity/principal.ts";
import { type Session, SESSIONS_LISTED_MAX, type SessionStore } from "#identity/store.ts";
import { columnsOf, decode, insert, selectOne } from "#storage/sql/rows.ts";
import { all, type Binding, dialectOf, one, run, type Script } from "#storage/sql/script.ts";
import { toPrincipal } from "./catalog-rows.ts";
import { requirePrincipal, toPrincipalNotFound } from "./principals.ts";
import { recordOne } from "./audit.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { loginLinks, principals, type PrincipalRow, sessions } from "./tables.ts";
import type { TellUnreadable } from "./unreadable.ts";

/**
 * Sessions and login links. No process remembers them: each request that shows a cookie asks the database, so that one that
 * ends has ended everywhere, and no change of them waits for a replica.
 */
export function createSessionStore(driver: CatalogDriver): SessionStore {
  const { ask, change, aside, put, current } = driver;
  const { tell } = driver.memory;
  return {
    createSession: (session, nowUs) =>
      aside(function* () {
        yield* requireOwner(session.principalId);
        yield* run("DELETE FROM sessions WHERE token_hash = ? AND expires_at_us <= ?", [
          session.tokenHash,
          nowUs,
        ]);
        yield* insert(sessions, [session]);
        yield* removeExpired("sessions", nowUs, session.tokenHash);
      }),

    async findSession(tokenHash, nowUs) {
      // A server that was a primary and became a standby still tells of sessions that have ended.
      await current();
      const found = await ask(() =>
        selectSessions("WHERE token_hash = ? AND expires_at_us > ?", [tokenHash, nowUs], tell),
      );
      return found[0] ?? null;
    },

    deleteSession: (tokenHash) =>
      put(function* () {
        yield* run("DELETE FROM sessions WHERE token_hash = ?", [tokenHash]);
      }),

    advanceSession: (tokenHash, cookieIssuedAtUs) =>
      put(function* () {
        yield* run("UPDATE sessions SET created_at_us = ?1 WHERE token_hash = ?2 AND created_at_us < ?1", [
          cookieIssuedAtUs,
          tokenHash,
        ]);
      }),

    createLoginLink: (link, nowUs) =>
      aside(function* () {
        yield* requireOwner(link.principalId);
        yield* insert(loginLinks, [link]);
        yield* removeExpired("login_links", nowUs, link.tokenHash);
      }),

    async takeLoginLink(tokenHash, nowUs) {
      // A guess is answered without a lock.
      const known = await ask(() => selectOne(loginLinks, "WHERE token_hash = ?", [tokenHash]));
      if (known === null) return null;
      return aside(function* () {
        // One DELETE gets the row, also of two processes: the other one waits for it and finds nothing.
        const taken = yield* one<{ readonly owner: string }>(
          `DELETE FROM login_links WHERE token_hash = ? RETURNING principal_id AS owner`,
          [tokenHash],
        );
        if (taken === null || known.expiresAtUs <= nowUs) return null;
        const owner = yield* selectOne(principals, "WHERE id = ?", [taken.owner]);
        return owner === null ? null : toPrincipal(owner, tell);
      });
    },

    listSessions: (principalId, nowUs) =>
      ask(() =>
        selectSessions(
          `WHERE expires_at_us > ? ${principalId === null ? "" : "AND principal_id = ?"}
           ORDER BY sessions.created_at_us DESC, token_hash LIMIT ${SESSIONS_LISTED_MAX}`,
          principalId === null ? [nowUs] : [nowUs, principalId],
          tell,
        ),
      ),

    revokeSessions: (principalId, audit, keptTokenHash = null) =>
      change(function* () {
        const { name } = yield* requirePrincipal(principalId, tell);
        yield* run("DELETE FROM login_links WHERE principal_id = ?", [principalId]);
        const revoked = yield* run("DELETE FROM sessions WHERE principal_id = ? AND token_hash <> ?", [
          principalId,
          keptTokenHash ?? "",
        ]);
        yield* recordOne(audit, toAuditChange(name, { sessions: revoked }, { sessions: 0 }));
        return revoked;
      }),
  };
}

function* selectSessions(
  rest: string,
  bindings: readonly Binding[],
  tell: TellUnreadable,
): Script<readonly { readonly session: Session; readonly principal: Principal }[]> {
  const rows = yield* all<Session & PrincipalRow>(
    `SELECT ${yield* columnsOf(sessions)}, ${yield* columnsOf(principals)}
     FROM sessions JOIN principals ON principals.id = sessions.principal_id ${rest}`,
    bindings,
  );
  return decode(principals, rows).map((row) => {
    const { tokenHash, principalId, cookieIssuedAtUs, expiresAtUs, ...owner } = row;
    const session = { tokenHash, principalId, cookieIssuedAtUs, expiresAtUs };
    return { session, principal: toPrincipal(owner, tell) };
  });
}

/** The owner stays until the new row is committed, with which it goes. Throws `principal_not_found`. */
function* requireOwner(principalId: string): Script<void> {
  const { hasLocks } = yield* dialectOf();
  const lock = hasLocks ? "FOR KEY SHARE" : "";
  const found = yield* one(`SELECT id FROM principals WHERE id = ? ${lock}`, [principalId]);
  if (found === null) throw toPrincipalNotFound();
}

/**
 * Removes what has ended, but for the new row, as the last step of a transaction: one that waits afterwards, for a principal, would meet in a circle a
 * deletion of that principal, which waits for the rows that are removed. Rows that another sign-in removes at this moment are
 * left to it.
 */
function* removeExpired(
  table: "sessions" | "login_links",
  nowUs: number,
  keptTokenHash: string,
): Script<void> {
  const { hasLocks } = yield* dialectOf();
  yield* run(
    `DELETE FROM ${table} WHERE token_hash IN
     (SELECT token_hash FROM ${table} WHERE expires_at_us <= ? AND token_hash <> ?
      ${hasLocks ? "FOR UPDATE SKIP LOCKED" : ""})`,
    [nowUs, keptTokenHash],
  );
}
