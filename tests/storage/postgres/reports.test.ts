import type { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { eventIdToUuid } from "#kernel/ids.ts";
import type { EncodedReport } from "#stats/store.ts";
import { sumLimits } from "#storage/reports/limit-sums.ts";
import { all, connection as connectionOf, each, type Script } from "#storage/sql/script.ts";
import { readBreakdown } from "#storage/reports/breakdown.ts";
import { readErrors } from "#storage/reports/errors.ts";
import { readMissingPrices } from "#storage/reports/missing-prices.ts";
import { listRecorded } from "#storage/reports/request-log.ts";
import { listRequests } from "#storage/reports/request-log.ts";
import { readFacets } from "#storage/reports/facets.ts";
import { readGroupedSeries, readSeries } from "#storage/reports/series.ts";

import { readSummary } from "#storage/reports/summary.ts";
import { readUpstreamDays } from "#storage/reports/reconcile.ts";
import { readFrom } from "#storage/postgres/connection/drive.ts";
import { readFrom as readFromSqlite } from "#storage/sqlite/drive.ts";
import { arbitraryCase, CONTEXT, openUsages } from "../../ledger/reports.ts";
import { ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "../../ledger/usage.ts";
import { createChance } from "../../support/chance.ts";
import { LIMIT_SAMPLES } from "../../support/limit-sums.ts";
import { postgresMissing } from "../../support/postgres.ts";
import { scale } from "../../support/scale.ts";
import { copyLedger } from "../../support/laned-ledger.ts";
import { createDatabase, failureOf, type TestDatabase } from "./support.ts";

const DAY_US = 86_400_000_000;
const CASES = 3 * scale;
const TEST_MS_MAX = 60_000;

let database: TestDatabase;
beforeAll(async () => {
  if (postgresMissing === null) database = await createDatabase();
}, TEST_MS_MAX);
afterAll(() => database?.[Symbol.asyncDispose]());

/** Copies a ledger, and asks both engines. */
async function onBoth(
  reader: Database,
  compare: (both: <Answer>(toReading: () => Script<Answer>) => Promise<void>) => Promise<void>,
): Promise<void> {
  await copyLedger(reader, database.postgres, createChance(7));
  await compare(async (toReading) => {
    const expected = readFromSqlite(reader, toReading());
    expect(decoded(await readFrom(database.postgres, toReading()))).toEqual(decoded(expected));
  });
}

function decoded(answer: unknown): unknown {
  return isEncoded(answer) ? { ...answer, chunks: Buffer.concat(answer.chunks).toString() } : answer;
}

function isEncoded(answer: unknown): answer is EncodedReport {
  return typeof answer === "object" && answer !== null && "chunks" in answer;
}

describe.skipIf(postgresMissing !== null)("reports on PostgreSQL", () => {
  test(
    "add up for limits what SQLite adds up, in every window, by every measure",
    async () => {
      for (const { queries: _, ...options } of fc.sample(arbitraryCase, { numRuns: CASES, seed: 17 })) {
        using ledger = openUsages(options.usages, options);
        const moments = [
          NEW_YEAR_US,
          ...options.usages.slice(0, 3).map((usage) => usage.subject.arrivedAtUs),
        ];
        await onBoth(ledger.reader, async (both) => {
          for (const nowUs of moments) {
            await both(function* sorted() {
              const sums = yield* sumLimits({ limits: LIMIT_SAMPLES, nowUs });
              return sums.toSorted((one, other) => (toName(one) < toName(other) ? -1 : 1));
            });
          }
        });
      }
    },
    TEST_MS_MAX,
  );

  test("tell events of one microsecond apart by their lanes, in the log and among those that were recorded", async () => {
    await using one = await createDatabase();
    using ledger = openUsages([{ subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US }, ending: ENDING }]);
    await copyLedger(ledger.reader, one.postgres, createChance(1));
    await one.postgres.run("UPDATE event SET lane = 2");
    await one.postgres.run("INSERT INTO event SELECT id, 1, combination, manner, duration_us FROM event");
    await one.postgres.run("UPDATE hour_total SET requests = requests * 2");
    const on = one.postgres;
    const page = { limit: 10, offset: 0 };
    const both = [eventIdToUuid(NEW_YEAR_US, 2), eventIdToUuid(NEW_YEAR_US, 1)];
    for (const order of ["newest", "cost", "duration"] as const) {
      const log = await readFrom(on, listRequests(EVERYTHING, { ...page, order }));
      expect({ order, total: log.total, ids: log.rows.map(({ id }) => id) }).toEqual({
        order,
        total: 2,
        ids: both,
      });
    }
    const oldest = await readFrom(on, listRequests(EVERYTHING, { ...page, order: "oldest" }));
    expect(oldest.rows.map(({ id }) => id)).toEqual(both.toReversed());
    const recorded = { query: EVERYTHING, ids: [NEW_YEAR_US], lanes: [1], page };
    const { rows, total } = await readFrom(on, listRecorded(recorded));
    expect({ total, ids: rows.map(({ id }) => id) }).toEqual({ total: 1, ids: [both[1]!] });
  });

  test("look into no day's events but those that they are asked about, and the two ends of the ledger", async () => {
    await using one = await createDatabase();
    const usages = Array.from({ length: 40 }, (_, day) => ({
      subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + day * DAY_US + 3_600_000_000 },
      ending: ENDING,
    }));
    using ledger = openUsages(usages, {
      sealBeforeUs: NEW_YEAR_US + 38 * DAY_US,
    });
    for (let day = 0; day < 40; day += 1) {
      const fromUs = NEW_YEAR_US + day * DAY_US;
      await one.postgres.run(
        `CREATE TABLE event_${day} PARTITION OF event FOR VALUES FROM (${fromUs}) TO (${fromUs + DAY_US})`,
      );
    }
    await copyLedger(ledger.reader, one.postgres, createChance(3));
    await one.postgres.run("ANALYZE");
    const on = one.postgres;
    // Ragged at both ends, and rows of two days in the middle.
    const window = {
      sinceUs: NEW_YEAR_US + 20 * DAY_US + 60_000_000,
      untilUs: NEW_YEAR_US + 21 * DAY_US + 7_200_000_000,
    };
    const query = { ...EVERYTHING, window };
    const failed = { ...query, filter: { ...query.filter, statuses: [{ from: 200, to: 300 }] } };
    const by = { field: "model" } as const;
    const grouping = { by, order: "cost", top: 3 } as const;
    const asked: Record<string, () => Script<unknown>> = {
      log: () => listRequests(query, { limit: 10, offset: 0 }),
      dearest: () => listRequests(query, { limit: 10, offset: 0, order: "cost" }),
      series: () => readSeries({ ...query, bucket: "hour", nowUs: CONTEXT.nowUs }),
      "hours of a status": () => readSeries({ ...failed, bucket: "hour", nowUs: CONTEXT.nowUs }),
      "hours by model": () => readGroupedSeries({ ...failed, bucket: "hour", grouping, context: CONTEXT }),
      breakdown: () => readBreakdown({ ...failed, by, sort: "cost", limit: 5, context: CONTEXT }),
      errors: () => readErrors({ ...failed, bucket: "day", context: CONTEXT }),
      summary: () => readSummary({ ...query, grouping: "team", format: "json", context: CONTEXT }),
      facets: () => readFacets({ ...failed, context: CONTEXT }),
      prices: () => readMissingPrices(query),
      "upstream days": () => readUpstreamDays(query),
    };
    for (const [name, toReading] of Object.entries(asked)) {
      const looked = new Set<string>();
      await readFrom(on, explained(toReading(), looked));
      const others = [...looked].filter(
        (table) => !["event_0", "event_20", "event_21", "event_39"].includes(table),
      );
      expect({ name, others }).toEqual({ name, others: [] });
      expect(looked.size).toBeGreaterThan(1);
    }
  });

  test("see one state of the ledger, of which nothing can be changed, and may read something else between the rows of a scan", async () => {
    await using one = await createDatabase();
    await one.postgres.run("INSERT INTO key_use SELECT n::text, n FROM generate_series(1, 10000) AS n");
    const on = one.postgres;
    const counts = await readFrom(on, countTwice(one));
    expect(counts).toEqual([10_000, 10_000]);
    const changed = await failureOf(readFrom(on, all("DELETE FROM key_use RETURNING key_id")));
    expect(changed).toMatchObject({ code: "25006" });
  });
});

/** Adds the tables of days that the plan of each statement names. */
function* explained<Answer>(reading: Script<Answer>, looked: Set<string>): Script<Answer> {
  const known = yield* connectionOf();
  for (;;) {
    const step = reading.next(known);
    if (step.done === true) return step.value;
    const query = step.value;
    if (query.kind === "all" || query.kind === "scan") {
      const lines = yield* all<Record<string, string>>(`EXPLAIN ${query.sql}`, query.bindings);
      // Behind the name a plan has an alias of the same form.
      for (const line of lines) {
        const name = / on (event_\d+)/.exec(Object.values(line).join(" "))?.[1];
        if (name !== undefined) looked.add(name);
      }
    }
    yield query;
  }
}

/** Counts the same twice: what is committed between the two is in neither. */
function* countTwice({ postgres }: TestDatabase): Script<readonly number[]> {
  let count = 0;
  let written: Promise<number> | null = null;
  yield* each<{ at: number }>("SELECT last_used_us AS at FROM key_use WHERE last_used_us > ?", [0], () => {
    count += 1;
    written ??= postgres.run("DELETE FROM key_use");
  });
  yield* all("SELECT pg_sleep(0.2)");
  const rows = yield* all<{ count: number }>("SELECT count(*) AS count FROM key_use");
  return [count, rows[0]?.count ?? 0];
}

function toName({ limitId, value }: { readonly limitId: string; readonly value: string }): string {
  return `${limitId} ${value}`;
}
