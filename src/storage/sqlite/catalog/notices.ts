import { and, asc, count, eq, gt, inArray, isNull, lte, sql } from "drizzle-orm";
import type { Notice } from "#notices/notice.ts";
import {
  type ExpiringSecret,
  type ExpiryRange,
  NOTICE_MARKS_MAX,
  type NoticeMark,
  type NoticeStore,
  type WaitingNotice,
} from "#notices/store.ts";
import { toExpiringSecret, toWaitingNotices } from "#storage/catalog/notice-rows.ts";
import type { Connection } from "./connection.ts";
import { apiKeys, principals, relayTokens } from "./identity-schema.ts";
import { noticeMarks, notices } from "./limit-schema.ts";
import type { SecretTable } from "./secret-lookup.ts";

/** The notices in catalog.db. */
export function createNoticeStore(connection: Connection): NoticeStore {
  const { orm } = connection;

  /** False while it is set already. */
  const setMark = ({ name, untilUs }: NoticeMark, nowUs: number): boolean =>
    orm
      .insert(noticeMarks)
      .values({ name, untilUs })
      .onConflictDoUpdate({
        target: noticeMarks.name,
        set: { untilUs },
        setWhere: lte(noticeMarks.untilUs, nowUs),
      })
      .returning({ name: noticeMarks.name })
      .all().length > 0;
  /** False while it is not set. */
  const clearMark = (name: string): boolean =>
    orm.delete(noticeMarks).where(eq(noticeMarks.name, name)).returning({ name: noticeMarks.name }).all()
      .length > 0;
  const append = (notice: Notice): WaitingNotice => {
    const row = orm
      .insert(notices)
      .values({ body: JSON.stringify(notice) })
      .returning({ sequence: notices.sequence })
      .get();
    return { sequence: row.sequence, notice };
  };
  const listOf = (kind: ExpiringSecret["kind"], table: SecretTable, range: ExpiryRange) =>
    orm
      .select({ secret: table, principalName: principals.name })
      .from(table)
      .innerJoin(principals, eq(principals.id, table.principalId))
      .where(
        and(
          gt(table.expiresAtUs, range.afterUs),
          lte(table.expiresAtUs, range.untilUs),
          isNull(table.pausedBy),
          eq(principals.enabled, true),
        ),
      )
      .orderBy(asc(table.expiresAtUs), asc(table.id))
      .limit(range.rowsMax)
      .all()
      .map((row) => toExpiringSecret(kind, row));

  return {
    put: (tellings, nowUs) =>
      connection.writeAside(() => {
        const waiting: WaitingNotice[] = [];
        for (const { notice, mark, alsoMarks = [], clears } of tellings) {
          if (clears !== undefined && !clearMark(clears)) continue;
          if (mark !== null && !setMark(mark, nowUs)) continue;
          for (const also of alsoMarks) setMark(also, nowUs);
          waiting.push(append(notice));
        }
        return waiting;
      }),

    list: () =>
      connection.query(() =>
        toWaitingNotices(orm.select().from(notices).orderBy(asc(notices.sequence)).all()),
      ),

    remove: (sequences) =>
      connection.writeAside(() => {
        orm
          .delete(notices)
          .where(inArray(notices.sequence, [...sequences]))
          .run();
      }),

    listMarks: (prefix) =>
      connection.query(() =>
        orm
          .select({ name: noticeMarks.name })
          .from(noticeMarks)
          .where(sql`substr(${noticeMarks.name}, 1, ${prefix.length}) = ${prefix}`)
          .all()
          .map(({ name }) => name),
      ),

    sweepMarks: (nowUs) =>
      connection.writeAside(() => {
        orm.delete(noticeMarks).where(lte(noticeMarks.untilUs, nowUs)).run();
        const { total } = orm.select({ total: count() }).from(noticeMarks).get() ?? { total: 0 };
        if (total <= NOTICE_MARKS_MAX) return;
        const first = orm
          .select({ name: noticeMarks.name })
          .from(noticeMarks)
          .orderBy(asc(noticeMarks.untilUs))
          .limit(total - NOTICE_MARKS_MAX);
        orm.delete(noticeMarks).where(inArray(noticeMarks.name, first)).run();
      }),

    listExpiring: (range) =>
      connection.read(() => [
        ...listOf("api_key", apiKeys, range),
        ...listOf("relay_token", relayTokens, range),
      ]),
  };
}
