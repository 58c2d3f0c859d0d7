import type { NoticeClaims, NoticeMark } from "#notices/store.ts";
import { type NoticeRow, toWaitingNotices } from "#storage/catalog/notice-rows.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import type { Reads } from "./reads.ts";

/** Every quarter of it each replica renews its claims, and looks for notices that no replica sends. */
const CLAIM_US = 60_000_000;
/** A claim is a mark of this name with the notice's sequence behind it. */
export const CLAIM = "sending ";

/** Claims in the order of the notices: replicas that claim the same ones at once do not wait for each other in a circle. */
const TAKE = `INSERT INTO notice_marks (name, until_us)
  SELECT $1 || sequence, $2 FROM notices WHERE sequence <> ALL($3::bigint[]) ORDER BY sequence
  ON CONFLICT (name) DO UPDATE SET until_us = excluded.until_us WHERE notice_marks.until_us <= $4
  RETURNING name`;
const RENEW = `INSERT INTO notice_marks (name, until_us)
  SELECT $1 || sequence, $2 FROM notices WHERE sequence = ANY($3::bigint[]) ORDER BY sequence
  ON CONFLICT (name) DO UPDATE SET until_us = excluded.until_us`;

/** That a notice has just been put by this replica. */
export function toClaim(sequence: number, nowUs: number): NoticeMark {
  return { name: CLAIM + sequence, untilUs: nowUs + CLAIM_US };
}

/** Ends the claims to notices that are gone, or that another replica may send. */
export async function dropClaims(sql: Sql, sequences: readonly number[]): Promise<void> {
  await sql.run("DELETE FROM notice_marks WHERE name = ANY($1::text[])", [
    sequences.map((sequence) => CLAIM + sequence),
  ]);
}

/** Claims among the marks in PostgreSQL: one statement decides between replicas. */
export function createNoticeClaims(reads: Reads): NoticeClaims {
  return {
    async take(own, nowUs) {
      const rows = await reads.query((sql) => sql.all("SELECT 1 FROM notices LIMIT 1"));
      if (rows.length === 0) return [];
      return reads.writeAside(async (tx) => {
        if (own.length > 0) await tx.run(RENEW, [CLAIM, nowUs + CLAIM_US, own]);
        const taken = await tx.all<{ name: string }>(TAKE, [CLAIM, nowUs + CLAIM_US, own, nowUs]);
        const waiting = await tx.all<NoticeRow>(
          "SELECT sequence, body FROM notices WHERE sequence = ANY($1::bigint[]) ORDER BY sequence",
          [taken.map(({ name }) => Number(name.slice(CLAIM.length)))],
        );
        return toWaitingNotices(waiting);
      });
    },
    release: (sequences) => reads.query((sql) => dropClaims(sql, sequences)),
  };
}
