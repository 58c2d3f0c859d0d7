import type { Database } from "bun:sqlite";
import { ProxyError } from "#kernel/errors.ts";

/** Sums that one report may take into memory: about a kilobyte each until it is spelled. */
export const SUMS_MAX = 150_000;

interface SumReader<Row> {
  readonly read: (sql: string, bindings: readonly (string | number)[]) => readonly Row[];
  /** Counts sums that were made in another way. */
  readonly take: (count: number) => void;
}

/**
 * Reads the sums of one report, part by part. Throws `range_too_large` as soon as there are more of them than `sumsMax`;
 * never more than that, and one, are in memory.
 */
export function createSumReader<Row>(database: Database, sumsMax: number): SumReader<Row> {
  let left = sumsMax;
  const take = (count: number) => {
    left -= count;
    if (left >= 0) return;
    throw new ProxyError(
      "range_too_large",
      `This report would be made of more than ${sumsMax} different combinations of tags, clients and the like: choose a shorter window or filter it.`,
    );
  };
  return {
    take,
    read(sql, bindings) {
      const rows = database.query<Row, (string | number)[]>(`${sql} LIMIT ?`).all(...bindings, left + 1);
      take(rows.length);
      return rows;
    },
  };
}
