import { Database } from "bun:sqlite";
import * as fc from "fast-check";
import type { EncodedReport, ReportContext, StatsQuery } from "#stats/store.ts";
import type { Script } from "#storage/sql/script.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { makeDirectory } from "./journal-bench.ts";
import type { RandomUsage, WriteOptions } from "./usage.ts";
import { arbitraryQuery, arbitraryUsage, DAY_US, NEW_YEAR_US, writeUsages } from "./usage.ts";

/** `provider-1` was renamed; `provider-2` and `provider-3` no longer exist. */
export const CONTEXT: ReportContext = {
  nowUs: NEW_YEAR_US + 102 * DAY_US,
  providerNames: new Map([
    ["provider-1", "renamed"],
    ["provider-9", "never-used"],
  ]),
};

/** One event per microsecond, so that which lies in a window is beyond question. */
const arbitraryUsages = fc.uniqueArray(
  fc
    .tuple(arbitraryUsage, fc.boolean(), fc.constantFrom("fast-2026", "fast-2027"))
    .map(([{ subject, ending }, isThird, upstreamName]): RandomUsage => ({
      subject: {
        ...subject,
        providerId: isThird && subject.providerId === "provider-2" ? "provider-3" : subject.providerId,
        upstreamName: subject.model === null ? null : upstreamName,
      },
      ending,
    })),
  { maxLength: 60, selector: ({ subject }) => subject.arrivedAtUs },
);

const instant = fc
  .tuple(
    fc.constantFrom(-1, 0, 1, 3, 30, 31, 32, 59, 61, 101, 200),
    fc.constantFrom(0, 0, 1, 43_200_000_000, 43_200_000_001, DAY_US - 1),
  )
  .map(([days, micros]) => NEW_YEAR_US + days * DAY_US + micros);

interface Case {
  readonly usages: readonly RandomUsage[];
  readonly sealBeforeUs: number;
  readonly pruneBeforeUs: number;
  readonly queries: readonly StatsQuery[];
}

/** Events, how far their days are sealed and their rows removed, and what is asked of them. */
export const arbitraryCase: fc.Arbitrary<Case> = fc.record({
  usages: arbitraryUsages,
  sealBeforeUs: fc.constantFrom(0, 3, 32, 61, 120).map((days) => NEW_YEAR_US + days * DAY_US),
  pruneBeforeUs: fc
    .constantFrom(0, 0, 1, 31, 60)
    .map((days) => (days === 0 ? 0 : NEW_YEAR_US + days * DAY_US + 43_200_000_000)),
  queries: fc.array(arbitraryQuery(instant), { minLength: 8, maxLength: 8 }),
});

/** A usage.db in a folder of its own, written as the ledger does, until the end of the block. */
export function openUsages(usages: readonly RandomUsage[], options: WriteOptions = {}) {
  const written = writeUsages(makeDirectory(), usages, options);
  return {
    ...written,
    /** By hand, as no writer does. */
    change(sql: string) {
      using database = new Database(written.databasePath);
      database.run(sql);
    },
    read: <Answer>(script: Script<Answer>) => readFrom(written.reader, script),
    [Symbol.dispose]() {
      written.reader.close();
      written.writer.close();
    },
  };
}

/** Orders rows by these fields: null first, texts by code unit, lists member by member. */
export function byFields(fields: readonly string[]) {
  return (left: any, right: any): number => {
    for (const field of fields) {
      const order = compare(left[field] ?? null, right[field] ?? null);
      if (order !== 0) return order;
    }
    return 0;
  };
}

function compare(left: any, right: any): number {
  if (Array.isArray(left)) {
    for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
      const order = compare(left[index] ?? null, right[index] ?? null);
      if (order !== 0) return order;
    }
    return 0;
  }
  if (left === right) return 0;
  if (left === null) return -1;
  if (right === null) return 1;
  return left < right ? -1 : 1;
}

export function decode({ chunks }: Pick<EncodedReport, "chunks">): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
}
