import { and, asc, eq, gt, inArray, isNull, lte, sql } from "drizzle-orm";
import {
  type ExpiringSecret,
  type ExpiryRange,
  NOTICE_MARKS_MAX,
  type NoticeMark,
  type NoticeStore,
  type Telling,
  type WaitingNotice,
} from "#notices/store.ts";
import { toExpiringSecret, toWaitingNotices } from "#storage/catalog/notice-rows.ts";
import type { Sql, SqlWithOrm } from "#storage/postgres/connection/sql.ts";
import { apiKeys, principals, relayTokens } from "./identity-schema.ts";
import { noticeMarks, notices } from "./limit-schema.ts";
import { CLAIM, createNoticeClaims, dropClaims, toClaim } from "./notice-claims.ts";
import type { Reads } from "./reads.ts";
import { createRowWriter } from "./rows.ts";
import type { SecretTable } from "./secret-memory.ts";

/** Replicas put one after the other: a mark is set by one of them, and notices are numbered in the order of their commits. */
const LOCK_NOTICES = "LOCK TABLE notices IN SHARE ROW EXCLUSIVE MODE";
const APPEND = `INSERT INTO notices (body)
  SELECT body FROM unnest($1::text[]) WITH ORDINALITY AS told (body, place) ORDER BY place RETURNING sequence`;
const putMarks = createRowWriter(noticeMarks, { key: ["name"] });

/** The notices in PostgreSQL. No replica remembers them. */
export function createNoticeStore(reads: Reads): NoticeStore {
  return {
    put: (tellings, nowUs) =>
      reads.writeAside(async (tx) => {
        await tx.run(LOCK_NOTICES);
        const marks = await readMarks(tx, tellings);
        const told = tellings.filter((telling) => isTold(telling, marks, nowUs)).map(({ notice }) => notice);
        await writeMarks(tx, marks);
        const rows = await tx.all<{ sequence: number }>(APPEND, [
          told.map((notice) => JSON.stringify(notice)),
        ]);
        const claims = rows.map(({ sequence }) => toClaim(sequence, nowUs));
        await putMarks(tx, claims);
        return told.flatMap((notice, at): readonly WaitingNotice[] => {
          const row = rows[at];
          return row === undefined ? [] : [{ sequence: row.sequence, notice }];
        });
      }),

    list: () =>
      reads.query(async ({ orm }) =>
        toWaitingNotices(await orm.select().from(notices).orderBy(asc(notices.sequence))),
      ),

    remove: (sequences) =>
      reads.query(async (tx) => {
        await tx.run("DELETE FROM notices WHERE sequence = ANY($1::bigint[])", [sequences]);
        await dropClaims(tx, sequences);
      }),

    claims: createNoticeClaims(reads),

    listMarks: (prefix) =>
      reads.query(async ({ orm }) => {
        const rows = await orm
          .select({ name: noticeMarks.name })
          .from(noticeMarks)
          .where(
            sql`starts_with(${noticeMarks.name}, ${prefix}) AND NOT starts_with(${noticeMarks.name}, ${CLAIM})`,
          );
        return rows.map(({ name }) => name);
      }),

    sweepMarks: (nowUs) =>
      reads.writeAside(async (tx) => {
        await tx.run(LOCK_NOTICES);
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

/** Marks by name, until when each is set; null is none. */
type Marks = Map<string, number | null>;

async function readMarks(tx: Sql, tellings: readonly Telling[]): Promise<Marks> {
  const named = tellings.flatMap(({ mark, alsoMarks = [], clears }) => [
    ...(mark === null ? [] : [mark.name]),
    ...alsoMarks.map(({ name }) => name),
    ...(clears === undefined ? [] : [clears]),
  ]);
  const rows = await tx.all<NoticeMark>(
    `SELECT name, until_us AS "untilUs" FROM notice_marks WHERE name = ANY($1::text[])`,
    [named],
  );
  return new Map(rows.map(({ name, untilUs }) => [name, untilUs]));
}

/** Whether it was not told already; then `marks` are as they are afterwards. */
function isTold({ mark, alsoMarks = [], clears }: Telling, marks: Marks, nowUs: number): boolean {
  const isSet = ({ name }: NoticeMark) => (marks.get(name) ?? -Infinity) > nowUs;
  if (mark !== null && isSet(mark)) return false;
  if (clears !== undefined && (marks.get(clears) ?? null) === null) return false;
  for (const one of mark === null ? alsoMarks : [mark, ...alsoMarks])
    if (!isSet(one)) marks.set(one.name, one.untilUs);
  if (clears !== undefined) marks.set(clears, null);
  return true;
}

async function writeMarks(tx: Sql, marks: Marks): Promise<void> {
  const cleared = [...marks].filter(([, untilUs]) => untilUs === null).map(([name]) => name);
  if (cleared.length > 0) await tx.run("DELETE FROM notice_marks WHERE name = ANY($1::text[])", [cleared]);
  await putMarks(
    tx,
    [...marks].flatMap(([name, untilUs]) => (untilUs === null ? [] : [{ name, untilUs }])),
  );
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
  return rows.map((row) => toExpiringSecret(kind, row));
}
