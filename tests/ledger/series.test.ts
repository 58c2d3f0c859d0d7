import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProxyError } from "#kernel/errors.ts";
import type { ReportQuantities } from "#kernel/units.ts";
import { REPORT_UNITS } from "#kernel/units.ts";
import type { Bucket } from "#stats/bucket.ts";
import { BUCKETS, planBuckets } from "#stats/bucket.ts";
import type { ReportNotes, StatsQuery } from "#stats/store.ts";
import { Fold, type FoldSum } from "#storage/reports/fold.ts";
import { foldWindow, toKeys } from "#storage/reports/folded-window.ts";
import { groupLabelSets } from "#storage/reports/label-groups.ts";
import { readFrom, readTransaction } from "#storage/sqlite/drive.ts";
import { resolveFilter } from "#storage/reports/request-filter.ts";
import { cutFiltered } from "#storage/reports/row-window.ts";
import { readGroupedSeries, readSeries } from "#storage/reports/series.ts";
import { priceUsage } from "#usage/cost.ts";
import { normaliseUsage } from "#usage/normalise.ts";
import { scale } from "../support/scale.ts";
import type { RandomUsage, WriteOptions } from "./usage.ts";
import {
  arbitraryQuery,
  arbitraryUsage,
  DAY_US,
  ENDING,
  EVERYTHING,
  isPending,
  matchesFilter,
  NEW_YEAR_US,
  SUBJECT,
  writeUsages,
} from "./usage.ts";

const HOUR_US = DAY_US / 24;
const NOW_US = NEW_YEAR_US + 102 * DAY_US + 12 * HOUR_US;
const SERIES_RUNS = 4 * scale;

const folder = mkdtempSync(join(tmpdir(), "lockport-series-"));
afterAll(() => rmSync(folder, { recursive: true }));

let counter = 0;

function write(usages: readonly RandomUsage[], options: WriteOptions = {}) {
  counter += 1;
  return writeUsages(join(folder, String(counter)), usages, options);
}

/** An event and the microsecond under which it is kept. */
interface Kept {
  readonly atUs: number;
  readonly usage: RandomUsage;
}

/** An id is the arrival, or the next that is free; what was removed leaves its own to nobody but those of the past. */
function toKept(first: readonly RandomUsage[], late: readonly RandomUsage[], prunedBeforeUs: number): Kept[] {
  const taken = new Set<number>();
  const place = (usage: RandomUsage, isLate: boolean): Kept => {
    let atUs = usage.subject.arrivedAtUs;
    if (isLate && atUs < prunedBeforeUs && !isPending(usage.ending)) return { atUs, usage };
    while (taken.has(atUs)) atUs += 1;
    taken.add(atUs);
    return { atUs, usage };
  };
  return [...first.map((usage) => place(usage, false)), ...late.map((usage) => place(usage, true))];
}

function within({ sinceUs, untilUs }: StatsQuery["window"], atUs: number): boolean {
  return (sinceUs === null || atUs >= sinceUs) && (untilUs === null || atUs < untilUs);
}

function toSums(kept: readonly Kept[]) {
  const of = (outcome: string) => kept.filter(({ usage }) => usage.ending.outcome === outcome).length;
  const costs = kept.flatMap(({ usage }) => usage.ending.costPico ?? []);
  const units: { -readonly [unit in keyof ReportQuantities]: ReportQuantities[unit] } = {};
  for (const { ending } of kept.map(({ usage }) => usage)) {
    const quantities = ending.usage === null ? {} : normaliseUsage(ending.usage);
    for (const unit of REPORT_UNITS) {
      const quantity = quantities[unit];
      if (quantity === undefined) continue;
      units[unit] = (units[unit] ?? 0) + (unit === "audio_seconds" ? Math.round(quantity * 1e6) : quantity);
    }
  }
  if (units.audio_seconds !== undefined) units.audio_seconds /= 1e6;
  return {
    requests: kept.length,
    ok: of("ok"),
    cancelled: of("cancelled"),
    upstreamError: of("upstream_error"),
    unreachable: of("unreachable"),
    unpricedRequests: kept.filter(({ usage }) => usage.ending.unpriced).length,
    pendingRequests: kept.filter(({ usage }) => isPending(usage.ending)).length,
    costPico: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0n),
    units,
  };
}

/** What a series must be, over the window that was counted. */
function toExpected(
  { query, bucket, snapped }: { query: StatsQuery; bucket: Bucket; snapped: ReportNotes["snapped"] },
  all: readonly Kept[],
) {
  const window = snapped ?? query.window;
  const kept = all.filter(({ atUs, usage }) => within(window, atUs) && matchesFilter(query, usage));
  const isHourOfRows = isReadByRow(query, bucket);
  const firstUs = Math.min(...kept.map(({ atUs }) => atUs));
  const sinceUs = query.window.sinceUs ?? (isHourOfRows && snapped !== null ? snapped.sinceUs : firstUs);
  if (sinceUs === Number.POSITIVE_INFINITY) return [];
  // The first event may stand behind an end that was asked for and snapped: then it is counted, and has a bucket.
  const untilUs = query.window.untilUs === null ? null : window.untilUs;
  const startUs = isHourOfRows && snapped !== null ? snapped.sinceUs : sinceUs;
  const { starts, endUs } = planBuckets({ bucket, sinceUs: startUs, untilUs, nowUs: NOW_US });
  return starts.map((start, index) => {
    const inBucket = kept.filter(({ atUs }) => atUs >= start && atUs < (starts[index + 1] ?? endUs));
    return Object.assign({ startUs: start }, toSums(inBucket));
  });
}

function isReadByRow(query: StatsQuery, bucket: Bucket): boolean {
  return query.filter.rows !== null || (bucket === "hour" && !isByOutcome(query));
}

function isByOutcome({ filter, providers, principalId }: StatsQuery): boolean {
  const { outcomes: _, tags, ...texts } = filter;
  return (
    principalId === null &&
    tags.length === 0 &&
    providers.include === null &&
    providers.exclude.length === 0 &&
    Object.values(texts).every((text) => text === null)
  );
}

const instant = fc
  .tuple(
    fc.constantFrom(-1, 0, 1, 3, 4, 29, 30, 31, 32, 58, 59, 60, 61, 100, 101, 130),
    fc.constantFrom(0, 1, HOUR_US - 1, HOUR_US, HOUR_US + 1, 12 * HOUR_US, 12 * HOUR_US + 1, DAY_US - 1),
  )
  .map(([days, micros]) => NEW_YEAR_US + days * DAY_US + micros);

/** Half of them unfiltered but for the outcome. */
const arbitraryAsked = fc
  .tuple(arbitraryQuery(instant), fc.boolean(), fc.constantFrom(...BUCKETS))
  .map(([query, isWide, bucket]) => ({
    bucket,
    query: isWide
      ? {
          ...EVERYTHING,
          window: query.window,
          filter: { ...EVERYTHING.filter, outcomes: query.filter.outcomes },
        }
      : query,
  }));

const events = fc.array(arbitraryUsage, { maxLength: 50 });
const sealing = fc.constantFrom(0, 3, 32, 59, 61, 90, 120).map((days) => NEW_YEAR_US + days * DAY_US);
const pruning = fc.oneof(
  fc.constant(0),
  fc
    .tuple(
      fc.constantFrom(0, 1, 2, 29, 31, 58, 60, 100, 101, 150),
      fc.constantFrom(0, 1, HOUR_US, HOUR_US + 1, 12 * HOUR_US, 12 * HOUR_US + 1),
    )
    .map(([days, micros]) => NEW_YEAR_US + days * DAY_US + micros),
);

describe("a series", () => {
  test("counts exactly what is in the window, for every filter, bucket and ragged end, with late events and shared instants", () => {
    fc.assert(
      fc.property(
        events,
        events,
        fc.array(arbitraryAsked, { minLength: 15, maxLength: 15 }),
        sealing,
        (first, late, questions, sealBeforeUs) => {
          const { reader, writer } = write(first, { sealBeforeUs, late });
          const all = toKept(first, late, 0);
          for (const { query, bucket } of questions) {
            const expected = orRefused(() => toExpected({ query, bucket, snapped: null }, all));
            const series = orRefused(() => ask(reader, query, bucket));
            if (series === REFUSED || expected === REFUSED) {
              expect(series === REFUSED).toBe(expected === REFUSED);
              continue;
            }
            const { buckets, snapped, truncated } = series;
            if (!Bun.deepEquals(buckets, expected))
              expect({ query, buckets }).toEqual({ query, buckets: expected });
            expect({ snapped, truncated }).toEqual({ snapped: null, truncated: false });
          }
          reader.close();
          writer.close();
        },
      ),
      { numRuns: SERIES_RUNS },
    );
  }, 30_000);

  test("over rows that retention removed counts whole periods, and says which", () => {
    fc.assert(
      fc.property(
        events,
        events,
        fc.array(arbitraryAsked, { minLength: 15, maxLength: 15 }),
        sealing,
        pruning,
        (first, late, questions, sealBeforeUs, pruneBeforeUs) => {
          const { reader, writer } = write(first, { sealBeforeUs, pruneBeforeUs, late });
          const all = toKept(first, late, pruneBeforeUs);
          for (const { query, bucket } of questions) {
            const series = orRefused(() => ask(reader, query, bucket));
            if (series === REFUSED) {
              // Of the buckets there are, only hours can be too many here.
              expect(bucket).toBe("hour");
              continue;
            }
            const { buckets, snapped } = series;
            const expected = toExpected({ query, bucket, snapped }, all);
            if (!Bun.deepEquals(buckets, expected)) {
              expect({ query, bucket, pruneBeforeUs, snapped, buckets }).toEqual({
                query,
                bucket,
                pruneBeforeUs,
                snapped,
                buckets: expected,
              });
            }
            if (snapped !== null) expectOutward({ query, bucket, snapped, pruneBeforeUs });
          }
          reader.close();
          writer.close();
        },
      ),
      { numRuns: SERIES_RUNS },
    );
  }, 30_000);

  test("of an empty ledger is empty without since and filled with zeros with one", () => {
    const { reader, writer } = write([]);
    expect(ask(reader, EVERYTHING, "day").buckets).toEqual([]);
    const window = { sinceUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + 2 * DAY_US };
    for (const model of [null, "fast"]) {
      const query = {
        ...EVERYTHING,
        window,
        filter: { ...EVERYTHING.filter, models: model === null ? null : [model] },
      };
      expect(ask(reader, query, "hour").buckets).toHaveLength(48);
      expect(ask(reader, query, "day").buckets).toEqual([
        { startUs: NEW_YEAR_US, ...toSums([]) },
        { startUs: NEW_YEAR_US + DAY_US, ...toSums([]) },
      ]);
    }
    reader.close();
    writer.close();
  });

  test("that would begin with the first event too long ago is refused, not cut", () => {
    const { reader, writer } = write([usageAt(NEW_YEAR_US), usageAt(NOW_US)]);
    for (const model of [null, "fast"]) {
      const query = {
        ...EVERYTHING,
        filter: { ...EVERYTHING.filter, models: model === null ? null : [model] },
      };
      expect(() => ask(reader, query, "hour")).toThrow("buckets");
      expect(ask(reader, query, "day").buckets).toHaveLength(103);
    }
    expect(reader.inTransaction).toBe(false);
    reader.close();
    writer.close();
  });

  test("is of one moment: what is committed while it is read is not in a part of it", () => {
    const { reader, writer, append } = write([usageAt(NEW_YEAR_US)]);
    readTransaction(reader, () => {
      const before = ask(reader, EVERYTHING, "day");
      append([usageAt(NEW_YEAR_US), usageAt(NOW_US)]);
      expect(ask(reader, EVERYTHING, "day")).toEqual(before);
    });
    expect(ask(reader, EVERYTHING, "month").buckets.map(({ requests }) => requests)).toEqual([2, 0, 0, 1]);
    reader.close();
    writer.close();
  });

  test("of filtered hours begins after the hour that lost rows, unless nothing that matches came before", () => {
    const askHours = (hours: readonly number[], sinceUs: number | null) => {
      const usages = hours.map((hour) => usageAt(NEW_YEAR_US + hour * HOUR_US));
      const other = { ...usageAt(NEW_YEAR_US), subject: { ...SUBJECT, model: "slow" } };
      const { reader, writer } = write([other, ...usages], {
        pruneBeforeUs: NEW_YEAR_US + 12 * HOUR_US + HOUR_US / 4,
      });
      const filter = { ...EVERYTHING.filter, models: ["fast"] };
      const window = { sinceUs, untilUs: NEW_YEAR_US + 15 * HOUR_US };
      const { buckets, snapped } = ask(reader, { ...EVERYTHING, window, filter }, "hour");
      reader.close();
      writer.close();
      return {
        firstHour: ((buckets[0]?.startUs ?? 0) - NEW_YEAR_US) / HOUR_US,
        counts: buckets.map(({ requests }) => requests),
        isSnapped: snapped !== null,
      };
    };
    expect(askHours([12, 12.5, 13], null)).toEqual({ firstHour: 13, counts: [1, 0], isSnapped: true });
    expect(askHours([12, 14], null)).toEqual({ firstHour: 13, counts: [0, 1], isSnapped: true });
    expect(askHours([14], null)).toEqual({ firstHour: 14, counts: [1], isSnapped: false });
    expect(askHours([12.5, 14], NEW_YEAR_US)).toEqual({ firstHour: 13, counts: [0, 1], isSnapped: true });
    const quarterPastUs = NEW_YEAR_US + 12 * HOUR_US + HOUR_US / 4;
    expect(askHours([12.5, 14], quarterPastUs)).toEqual({
      firstHour: 12,
      counts: [1, 0, 1],
      isSnapped: false,
    });
  });

  test("that ends among removed rows has the whole period of its end, though the first event came after the end", () => {
    const { reader, writer } = write([usageAt(NEW_YEAR_US + 2.5 * HOUR_US)], {
      sealBeforeUs: NEW_YEAR_US + 2 * DAY_US,
      pruneBeforeUs: NEW_YEAR_US + 50 * DAY_US,
    });
    const count = (untilUs: number, model: string | null, bucket: Bucket) => {
      const query = { ...EVERYTHING, window: { sinceUs: null, untilUs } };
      const { buckets, snapped } = ask(
        reader,
        { ...query, filter: { ...query.filter, models: model === null ? null : [model] } },
        bucket,
      );
      return { counts: buckets.map(({ requests }) => requests), snapped };
    };
    const hour = { sinceUs: NEW_YEAR_US + 2 * HOUR_US, untilUs: NEW_YEAR_US + 3 * HOUR_US };
    const day = { sinceUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + DAY_US };
    const raggedUs = NEW_YEAR_US + 2.25 * HOUR_US;
    for (const bucket of BUCKETS)
      expect(count(raggedUs, null, bucket)).toEqual({ counts: [1], snapped: hour });
    expect(count(raggedUs, "fast", "day")).toEqual({ counts: [1], snapped: day });
    // Whole hours need no rows: nothing is counted that was not asked for.
    expect(count(hour.sinceUs, null, "hour")).toEqual({ counts: [], snapped: null });
    reader.close();
    writer.close();
  });

  test("whose rows are all gone still has its totals", () => {
    const usages = [usageAt(NEW_YEAR_US + 10 * HOUR_US), usageAt(NEW_YEAR_US + 3 * DAY_US)];
    const { reader, writer } = write(usages, {
      sealBeforeUs: NEW_YEAR_US + 2 * DAY_US,
      pruneBeforeUs: NEW_YEAR_US + 50 * DAY_US,
    });
    const window = { sinceUs: NEW_YEAR_US + 11 * HOUR_US, untilUs: NEW_YEAR_US + 4 * DAY_US };
    const count = (model: string | null, bucket: Bucket) => {
      const query = {
        ...EVERYTHING,
        window,
        filter: { ...EVERYTHING.filter, models: model === null ? null : [model] },
      };
      const { buckets, snapped } = ask(reader, query, bucket);
      return { counts: buckets.map(({ requests }) => requests), sinceUs: snapped?.sinceUs ?? null };
    };
    // Hours can tell that the first event lies outside; days cannot.
    expect(count(null, "day")).toEqual({ counts: [0, 0, 0, 1], sinceUs: null });
    expect(count("fast", "day")).toEqual({ counts: [1, 0, 0, 1], sinceUs: NEW_YEAR_US });
    expect(count("fast", "hour")).toMatchObject({ sinceUs: NEW_YEAR_US + 3 * DAY_US + HOUR_US });
    reader.close();
    writer.close();
  });
});

describe("a window that was cut", () => {
  test("counts a quantity above zero without a price as unpriced, in rows as in totals, even if it rounds to nothing", () => {
    const toUsage = (audioSeconds: number): RandomUsage => {
      const usage = { shape: "inclusive", quantities: { audio_seconds: audioSeconds } } as const;
      const ending = { ...ENDING, usage, prices: {}, ...priceUsage(usage, {}) };
      return { subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 1.5 * HOUR_US }, ending };
    };
    const { reader, writer } = write([5e-324, 4.999e-7, 5e-7, 1].map(toUsage));
    const count = (sinceUs: number) => {
      const query = { ...EVERYTHING, window: { sinceUs, untilUs: NEW_YEAR_US + DAY_US } };
      return ask(reader, query, "day").buckets.map(({ unpricedRequests }) => unpricedRequests);
    };
    expect(count(NEW_YEAR_US)).toEqual([4]);
    // A ragged beginning is counted from rows.
    expect(count(NEW_YEAR_US + 1.25 * HOUR_US)).toEqual([4]);
    reader.close();
    writer.close();
  });

  test("by the hour, under a filter or by group, is refused for rows that it looks at, and never for hours that have cells", () => {
    const { databasePath, ...written } = write(
      [usageAt(NEW_YEAR_US + HOUR_US), usageAt(NEW_YEAR_US + 2 * DAY_US)],
      {
        sealBeforeUs: NEW_YEAR_US + DAY_US,
      },
    );
    const database = new Database(databasePath);
    database.run("UPDATE hour_total SET requests = 25000001");
    const window = { sinceUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + 3 * DAY_US };
    const models = { ...EVERYTHING.filter, models: [SUBJECT.model ?? ""] };
    const rows = {
      isUnpriced: false,
      minCostPico: null,
      maxCostPico: null,
      minDurationUs: 1,
      maxDurationUs: null,
    };
    const count = (filter: StatsQuery["filter"], sinceUs = window.sinceUs) =>
      ask(database, { ...EVERYTHING, filter, window: { ...window, sinceUs } }, "hour").buckets.reduce(
        (sum, { requests }) => sum + requests,
        0,
      );
    expect(count(models)).toBe(2);
    const grouping = { by: { field: "model" }, order: "requests", top: 3 } as const;
    const context = { nowUs: NOW_US, providerNames: new Map<string, string>() };
    const grouped = readGroupedSeries({ ...EVERYTHING, window, bucket: "hour", grouping, context });
    expect(readFrom(database, grouped).chunks.length).toBeGreaterThan(0);
    expect(orRefused(() => count({ ...models, rows }))).toBe(REFUSED);
    // The ragged beginning is looked at row by row.
    expect(orRefused(() => count(models, NEW_YEAR_US + HOUR_US + 1))).toBe(REFUSED);
    database.close();
    written.reader.close();
    written.writer.close();
  });

  test("leaves to rows what only rows tell: no total of a day or month answers for a price, a duration or a missing price", () => {
    const { reader, writer } = write([usageAt(NEW_YEAR_US), usageAt(NEW_YEAR_US + 40 * DAY_US)], {
      sealBeforeUs: NEW_YEAR_US + 41 * DAY_US,
    });
    const count = (rows: StatsQuery["filter"]["rows"]) => {
      const query = { ...EVERYTHING, filter: { ...EVERYTHING.filter, rows } };
      return ask(reader, query, "month").buckets.map(({ requests }) => requests);
    };
    const bounds = { minCostPico: null, maxCostPico: null, minDurationUs: null, maxDurationUs: null };
    const durationUs = ENDING.durationUs ?? 0;
    expect(count(null)).toEqual([1, 1, 0, 0]);
    expect(count({ ...bounds, isUnpriced: true })).toEqual([1, 1, 0, 0]);
    expect(count({ ...bounds, isUnpriced: false, maxCostPico: 0n })).toEqual([]);
    expect(count({ ...bounds, isUnpriced: false, minDurationUs: durationUs + 1 })).toEqual([]);
    reader.close();
    writer.close();
  });

  test("holds each matching event once, with the measures of its row, wherever it is counted", () => {
    fc.assert(
      fc.property(
        events,
        fc.array(fc.tuple(arbitraryAsked, fc.constantFrom("day" as const, "month" as const)), {
          minLength: 10,
          maxLength: 10,
        }),
        sealing,
        pruning,
        (usages, questions, sealBeforeUs, pruneBeforeUs) => {
          const { reader, writer } = write(usages, { sealBeforeUs, pruneBeforeUs });
          const all = toKept(usages, [], pruneBeforeUs);
          for (const [{ query }, longest] of questions) {
            readTransaction(reader, () => {
              const { cut, sums } = readFrom(reader, foldAll(query, longest));
              const kept = all.filter(
                ({ atUs, usage }) => within(cut.snapped ?? query.window, atUs) && matchesFilter(query, usage),
              );
              const addUp = (of: (one: FoldSum) => number) => sums.reduce((total, one) => total + of(one), 0);
              const found = {
                requests: addUp(({ requests }) => requests),
                unpriced: addUp((one) => one.unpriced_requests),
                duration: addUp((one) => one.duration_us),
                last: Math.max(...sums.map((one) => one.last_seen_us)),
                band_1: addUp(({ bands }) => bands[0] ?? 0),
                band_120: addUp(({ bands }) => bands[5] ?? 0),
                band_over: addUp(({ bands }) => bands[6] ?? 0),
                rest: addUp(({ requests, bands }) => bands.reduce((left, band) => left - band, requests)),
              };
              const durations = kept.map(({ usage }) => usage.ending.durationUs);
              const among = (from: number, to: number) =>
                durations.filter((us) => us >= from && us < to).length;
              const expected = {
                requests: kept.length,
                unpriced: kept.filter(({ usage }) => usage.ending.unpriced).length,
                duration: durations.reduce((sum, us) => sum + us, 0),
                last: Math.max(...kept.map(({ atUs }) => atUs)),
                band_1: among(0, 1e6),
                band_120: among(60e6, 120e6),
                band_over: among(120e6, Number.POSITIVE_INFINITY),
                rest: 0,
              };
              expect(found).toEqual(expected);
            });
          }
          reader.close();
          writer.close();
        },
      ),
      { numRuns: SERIES_RUNS },
    );
  }, 30_000);
});

function* foldAll(query: StatsQuery, longest: "day" | "month") {
  const filter = yield* resolveFilter(query);
  const groups = yield* groupLabelSets(filter, []);
  const cut = yield* cutFiltered({ window: query.window, longest }, { filter, groups });
  const fold = new Fold(toKeys(groups, filter));
  yield* foldWindow(fold, { cut, filter, groups });
  return { cut, sums: [...fold.sums()] };
}

function ask(reader: ReturnType<typeof write>["reader"], query: StatsQuery, bucket: Bucket) {
  return readFrom(reader, readSeries({ ...query, bucket, nowUs: NOW_US }));
}

const REFUSED = "range_too_large";

function orRefused<Value>(step: () => Value): Value | typeof REFUSED {
  try {
    return step();
  } catch (cause) {
    if (cause instanceof ProxyError && cause.code === REFUSED) return REFUSED;
    throw cause;
  }
}

function usageAt(arrivedAtUs: number): RandomUsage {
  return { subject: { ...SUBJECT, arrivedAtUs }, ending: ENDING };
}

function expectOutward({
  query,
  bucket,
  snapped,
  pruneBeforeUs,
}: {
  query: StatsQuery;
  bucket: Bucket;
  snapped: NonNullable<ReportNotes["snapped"]>;
  pruneBeforeUs: number;
}): void {
  const { sinceUs, untilUs } = query.window;
  if (isReadByRow(query, bucket)) {
    // Not outward: hours that lost rows are left out.
    expect(sinceUs ?? 0).toBeLessThan(pruneBeforeUs);
    // At most the end that was asked for, which then leaves nothing.
    if (snapped.sinceUs !== untilUs) expect(snapped.sinceUs % HOUR_US).toBe(0);
    if (untilUs !== null) expect(snapped.untilUs).toBe(untilUs);
    expect(snapped.sinceUs).toBeLessThanOrEqual(snapped.untilUs);
    return;
  }
  const periodUs = isByOutcome(query) ? HOUR_US : DAY_US;
  if (sinceUs !== null) {
    expect(snapped.sinceUs).toBeLessThanOrEqual(sinceUs);
    expect(sinceUs - snapped.sinceUs).toBeLessThan(periodUs);
    if (snapped.sinceUs !== sinceUs) expect(sinceUs).toBeLessThan(pruneBeforeUs);
  }
  if (untilUs !== null) {
    expect(snapped.untilUs).toBeGreaterThanOrEqual(untilUs);
    expect(snapped.untilUs - untilUs).toBeLessThan(periodUs);
    if (snapped.untilUs !== untilUs) expect(untilUs).toBeLessThan(pruneBeforeUs + periodUs);
  }
}
