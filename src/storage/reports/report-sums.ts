import { all, type Binding, type Script } from "#storage/sql/script.ts";
/** Sums that one report may take into memory: about a kilobyte each until it is spelled. */
export const SUMS_MAX = 150_000;

/** A report would take more sums into memory than it may: it is read again, with the least used put together. */
class TooManySums extends Error {}

interface SumReader<Row> {
  readonly read: (sql: string, bindings: readonly Binding[]) => Script<readonly Row[]>;
  /** Counts sums that were made in another way. */
  readonly take: (count: number) => void;
}

/** What `read` returns, or when it needs more sums than it may, what `readFolded` does, which may put some together. */
export function* orFolded<Report>(
  read: () => Script<Report>,
  readFolded: () => Script<Report>,
): Script<Report> {
  try {
    return yield* read();
  } catch (cause) {
    if (cause instanceof TooManySums) return yield* readFolded();
    throw cause;
  }
}

/**
 * Reads the sums of one report, part by part, within `orFolded`: ends it as soon as there are more of them than `sumsMax`;
 * never more than that, and one, are in memory. Infinity for what is put together already.
 */
export function createSumReader<Row>(sumsMax: number): SumReader<Row> {
  let left = sumsMax;
  const take = (count: number) => {
    left -= count;
    if (left < 0) throw new TooManySums();
  };
  return {
    take,
    *read(sql, bindings) {
      const limit = Number.isFinite(left) ? left + 1 : Number.MAX_SAFE_INTEGER;
      const rows = yield* all<Row>(`${sql} LIMIT ?`, [...bindings, limit]);
      take(rows.length);
      return rows;
    },
  };
}
