import { and, asc, eq, gt, inArray, isNull, lte, sql } from "drizzle-orm";
import { type Notice, parseNotice } from "#notices/notice.ts";
import {
  type ExpiringSecret,
  type ExpiryRange,
  NOTICE_MARKS_MAX,
  type NoticeMark,
  type NoticeStore,
  type WaitingNotice,
} from "#notices/store.ts";
import type { SqlWithOrm } from "#storage/postgres/connection/sql.ts";
import { apiKeys, principals, relayTokens } from "./identity-schema.ts";
import { noticeMarks, notices } from "./limit-schema.ts";
import type { Reads } from "./reads.ts";
import type { SecretTable } from "./secret-memory.ts";

/** The notices in PostgreSQL. No replica remembers them. */
export function createNoticeStore(reads: Reads): NoticeStore {
  return {
    put: (tellings, nowUs) =>
      reads.writeAside(async (tx) => {
        // Replicas put one after the other: marks are set in one order, and notices are numbered as they are committed.
        await tx.run("LOCK TABLE notices IN SHARE ROW EXCLUSIVE MODE");
        const waiting: WaitingNotice[] = [];
        for (const { notice, mark, alsoMarks = [], clears } of tellings) {
          if (mark !== null && !(await setMark(tx, mark, nowUs))) continue;
          for (const also of alsoMarks) await setMark(tx, also, nowUs);
          if (clears !== undefined) await tx.orm.delete(noticeMarks).where(eq(noticeMarks.name, clears));
          waiting.push(await append(tx, notice));
        }
        return waiting;
      }),

    list: () =>
      reads.query(async ({ orm }) => {
        const rows = await orm.select().from(notices).orderBy(asc(notices.sequence));
        return rows.flatMap(({ sequence, body }) => {
          const notice = parseNotice(body);
          return notice === null ? [] : [{ sequence, notice }];
        });
      }),

    remove: (sequences) =>
      reads.query(async (tx) => {
        await tx.run("DELETE FROM notices WHERE sequence = ANY($1::bigint[])", [sequences]);
      }),

    listMarks: (prefix) =>
      reads.query(async ({ orm }) => {
        const rows = await orm
          .select({ name: noticeMarks.name })
          .from(noticeMarks)
          .where(sql`starts_with(${noticeMarks.name}, ${prefix})`);
        return rows.map(({ name }) => name);
      }),

    sweepMarks: (nowUs) =>
      reads.writeAside(async (tx) => {
        await tx.run("LOCK TABLE notices IN SHARE ROW EXCLUSIVE MODE");
        await tx.orm.delete(noticeMarks).where(lte(noticeMarks.untilUs, nowUs));
        const beyond = tx.orm
          .select({ name: noticeMarks.name })
          .from(noticeMarks)
          .orderBy(sql`${noticeMarks.untilUs} DESC`)
          .offset(NOTICE_MARKS_MAX);
        await tx.orm.delete(noticeMarks).where(inArray(noticeMarks.name, beyond));
      }),

    listExpiring: (range) =>
      reads.snapshot(async (read) => [
        ...(await listOf(read, "api_key", apiKeys, range)),
        ...(await listOf(read, "relay_token", relayTokens, range)),
      ]),
  };
}

/** False while it is set already. */
async function setMark({ orm }: SqlWithOrm, { name, untilUs }: NoticeMark, nowUs: number): Promise<boolean> {
  const set = await orm
    .insert(noticeMarks)
    .values({ name, untilUs })
    .onConflictDoUpdate({
      target: noticeMarks.name,
      set: { untilUs },
      setWhere: lte(noticeMarks.untilUs, nowUs),
    })
    .returning({ name: noticeMarks.name });
  return set.length > 0;
}

async function append({ orm }: SqlWithOrm, notice: Notice): Promise<WaitingNotice> {
  const [row] = await orm
    .insert(notices)
    .values({ body: JSON.stringify(notice) })
    .returning({ sequence: notices.sequence });
  if (row === undefined) throw new Error("a notice got no sequence");
  return { sequence: row.sequence, notice };
}

async function listOf(
  { orm }: SqlWithOrm,
  kind: ExpiringSecret["kind"],
  table: SecretTable,
  range: ExpiryRange,
): Promise<readonly ExpiringSecret[]> {
  const rows = await orm
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
    .limit(range.rowsMax);
  return rows.map(({ secret: { id, label, createdAtUs, expiresAtUs }, principalName }) => {
    return { kind, id, label, principalName, createdAtUs, expiresAtUs: expiresAtUs ?? 0 };
  });
}
