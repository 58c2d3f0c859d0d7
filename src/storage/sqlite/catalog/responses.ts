import { and, eq, inArray, lte, sql } from "drizzle-orm";
import { ORPHANED_AT_US, type ResponseKey, type ResponseStore } from "#catalog/kept-response.ts";
import type { Connection, Orm } from "./connection.ts";
import { keptResponses } from "./response-schema.ts";

/** The kept responses in catalog.db. Nothing remembers them, so that a write leaves what is remembered of the catalog alone. */
export function createResponseStore(connection: Connection): ResponseStore {
  const { orm } = connection;
  const { idHash, principalId, isSettled, expiresAtUs } = keptResponses;
  // Prepared: a response to a caller waits for it.
  const insert = orm
    .insert(keptResponses)
    .values({
      idHash: sql.placeholder("idHash"),
      principalId: sql.placeholder("principalId"),
      modelId: sql.placeholder("modelId"),
      providerId: sql.placeholder("providerId"),
      eventId: sql.placeholder("eventId"),
      lane: sql.placeholder("lane"),
      isSettled: sql.placeholder("isSettled"),
      // A principal may be deleted while it is answered.
      expiresAtUs: sql`iif(${sql.placeholder("isSettled")} OR EXISTS (SELECT 1 FROM principals WHERE id = ${sql.placeholder("principalId")}), ${sql.placeholder("expiresAtUs")}, ${sql.raw(String(ORPHANED_AT_US))})`,
    })
    .onConflictDoUpdate({
      target: [idHash, principalId],
      set: {
        modelId: sql`excluded.model_id`,
        providerId: sql`excluded.provider_id`,
        eventId: sql`excluded.event_id`,
        lane: sql`excluded.event_lane`,
        isSettled: sql`excluded.is_settled`,
        expiresAtUs: sql`excluded.expires_at_us`,
      },
      setWhere: sql`${isSettled} = 1`,
    })
    .returning({ idHash })
    .prepare();
  const isOf = (key: ResponseKey) => and(eq(idHash, key.idHash), eq(principalId, key.principalId));

  return {
    keep: (responses) =>
      connection.writeAside(() =>
        responses.filter(
          (response) => insert.get({ ...response, isSettled: response.isSettled ? 1 : 0 }) === undefined,
        ),
      ),

    find: (idHashes, owner) =>
      connection.query(
        () =>
          orm
            .select()
            .from(keptResponses)
            .where(and(inArray(idHash, [...idHashes]), eq(principalId, owner)))
            .get() ?? null,
      ),

    markSettled: (key) =>
      connection.writeAside(() => {
        orm.update(keptResponses).set({ isSettled: true }).where(isOf(key)).run();
      }),

    remove: (key) =>
      connection.writeAside(() => {
        orm.delete(keptResponses).where(isOf(key)).run();
      }),

    async removeExpired(nowUs, rowsMax) {
      const expired = and(eq(isSettled, true), lte(expiresAtUs, nowUs));
      // Nearly always there is none: then nothing is written.
      const first = await connection.query(() =>
        orm.select({ idHash }).from(keptResponses).where(expired).limit(1).get(),
      );
      if (first === undefined) return 0;
      return connection.writeAside(() => {
        const rows = orm
          .select({ rowid: sql`rowid` })
          .from(keptResponses)
          .where(expired)
          .limit(rowsMax);
        return orm
          .delete(keptResponses)
          .where(sql`rowid IN ${rows}`)
          .returning({ idHash })
          .all().length;
      });
    },

    listOrphans: (rowsMax) =>
      connection.query(() =>
        orm
          .select()
          .from(keptResponses)
          .where(and(eq(isSettled, false), eq(expiresAtUs, ORPHANED_AT_US)))
          .limit(rowsMax)
          .all(),
      ),
  };
}

/** Within the deletion of a principal: what it has of pending events is found no more, and waits for a server to settle it. */
export function orphanResponses(orm: Orm, owner: string): void {
  const { principalId, isSettled } = keptResponses;
  orm
    .update(keptResponses)
    .set({ expiresAtUs: ORPHANED_AT_US })
    .where(and(eq(principalId, owner), sql`${isSettled} = 0`))
    .run();
}
