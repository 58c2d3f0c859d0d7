import { describe, expect, test } from "bun:test";
import { ProxyError } from "#kernel/errors.ts";
import { BUCKETS, type Bucket } from "#stats/bucket.ts";
import type { StatsQuery } from "#stats/store.ts";
import { CELL_MEASURES } from "#storage/cells/measures.ts";
import { readTransaction } from "#storage/sqlite/drive.ts";
import { readGroupedSeries, readSeries } from "#storage/reports/series.ts";
import { priceUsage } from "#usage/cost.ts";
import { openUsages } from "./reports.ts";
import type { RandomUsage } from "./usage.ts";
import { DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

const HOUR_US = DAY_US / 24;
const NOW_US = NEW_YEAR_US + 102 * DAY_US + 12 * HOUR_US;

describe("a series", () => {
  test("that would begin with the first event too long ago is refused, not cut", () => {
    using ledger = openUsages([usageAt(NEW_YEAR_US), usageAt(NOW_US)]);
    for (const model of [null, "fast"]) {
      const query = {
        ...EVERYTHING,
        filter: { ...EVERYTHING.filter, models: model === null ? null : [model] },
      };
      expect(() => ask(ledger, query, "hour")).toThrow("buckets");
      expect(ask(ledger, query, "day").buckets).toHaveLength(103);
    }
    expect(ledger.reader.inTransaction).toBe(false);
  });

  test("is of one moment: what is committed while it is read is not in a part of it", () => {
    using ledger = openUsages([usageAt(NEW_YEAR_US)]);
    readTransaction(ledger.reader, () => {
      const before = ask(ledger, EVERYTHING, "day");
      ledger.append([usageAt(NEW_YEAR_US), usageAt(NOW_US)]);
      expect(ask(ledger, EVERYTHING, "day")).toEqual(before);
    });
    expect(ask(ledger, EVERYTHING, "month").buckets.map(({ requests }) => requests)).toEqual([2, 0, 0, 1]);
  });

  test("of filtered hours begins after the hour that lost rows, unless nothing that matches came before", () => {
    const askHours = (hours: readonly number[], sinceUs: number | null) => {
      const usages = hours.map((hour) => usageAt(NEW_YEAR_US + hour * HOUR_US));
      const other = { ...usageAt(NEW_YEAR_US), subject: { ...SUBJECT, model: "slow" } };
      using ledger = openUsages([other, ...usages], {
        pruneBeforeUs: NEW_YEAR_US + 12 * HOUR_US + HOUR_US / 4,
      });
      const filter = { ...EVERYTHING.filter, models: ["fast"] };
      const window = { sinceUs, untilUs: NEW_YEAR_US + 15 * HOUR_US };
      const { buckets, snapped } = ask(ledger, { ...EVERYTHING, window, filter }, "hour");
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
    using ledger = openUsages([usageAt(NEW_YEAR_US + 2.5 * HOUR_US)], {
      sealBeforeUs: NEW_YEAR_US + 2 * DAY_US,
      pruneBeforeUs: NEW_YEAR_US + 50 * DAY_US,
    });
    const count = (untilUs: number, model: string | null, bucket: Bucket) => {
      const query = { ...EVERYTHING, window: { sinceUs: null, untilUs } };
      const { buckets, snapped } = ask(
        ledger,
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
  });

  test("does not begin with what was sealed, and taken out again when it was settled", () => {
    using ledger = openUsages([usageAt(NEW_YEAR_US)], { sealBeforeUs: NEW_YEAR_US + DAY_US });
    const columns = CELL_MEASURES.filter(({ adds }) => adds !== "reported").map(({ name }) => name);
    const taken = columns.map((column) => (column === "requests" ? -1 : 0));
    ledger.change(
      `INSERT INTO open_cell (hour, combination, result, ${columns.join(", ")}) VALUES (${NEW_YEAR_US / HOUR_US}, 1, 1, ${taken.join(", ")})`,
    );
    const filter = { ...EVERYTHING.filter, models: ["fast"] };
    expect(ask(ledger, { ...EVERYTHING, filter }, "day").buckets).toEqual([]);
  });

  test("whose rows are all gone still has its totals", () => {
    const usages = [usageAt(NEW_YEAR_US + 10 * HOUR_US), usageAt(NEW_YEAR_US + 3 * DAY_US)];
    using ledger = openUsages(usages, {
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
      const { buckets, snapped } = ask(ledger, query, bucket);
      return { counts: buckets.map(({ requests }) => requests), sinceUs: snapped?.sinceUs ?? null };
    };
    // Hours can tell that the first event lies outside; days cannot.
    expect(count(null, "day")).toEqual({ counts: [0, 0, 0, 1], sinceUs: null });
    expect(count("fast", "day")).toEqual({ counts: [1, 0, 0, 1], sinceUs: NEW_YEAR_US });
    expect(count("fast", "hour")).toMatchObject({ sinceUs: NEW_YEAR_US + 3 * DAY_US + HOUR_US });
  });
});

describe("a window that was cut", () => {
  test("counts a quantity above zero without a price as unpriced, in rows as in totals, even if it rounds to nothing", () => {
    const toUsage = (audioSeconds: number): RandomUsage => {
      const usage = { shape: "inclusive", quantities: { audio_seconds: audioSeconds } } as const;
      const ending = { ...ENDING, usage, prices: {}, ...priceUsage(usage, {}) };
      return { subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 1.5 * HOUR_US }, ending };
    };
    using ledger = openUsages([5e-324, 4.999e-7, 5e-7, 1].map(toUsage));
    const count = (sinceUs: number) => {
      const query = { ...EVERYTHING, window: { sinceUs, untilUs: NEW_YEAR_US + DAY_US } };
      return ask(ledger, query, "day").buckets.map(({ unpricedRequests }) => unpricedRequests);
    };
    expect(count(NEW_YEAR_US)).toEqual([4]);
    // A ragged beginning is counted from rows.
    expect(count(NEW_YEAR_US + 1.25 * HOUR_US)).toEqual([4]);
  });

  test("by the hour, under a filter or by group, is refused for rows that it looks at, and never for hours that have cells", () => {
    const usages = [usageAt(NEW_YEAR_US + HOUR_US), usageAt(NEW_YEAR_US + 2 * DAY_US)];
    using ledger = openUsages(usages, { sealBeforeUs: NEW_YEAR_US + DAY_US });
    ledger.change("UPDATE hour_total SET requests = 25000001");
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
      ask(ledger, { ...EVERYTHING, filter, window: { ...window, sinceUs } }, "hour").buckets.reduce(
        (sum, { requests }) => sum + requests,
        0,
      );
    expect(count(models)).toBe(2);
    const grouping = { by: { field: "model" }, order: "requests", top: 3 } as const;
    const context = { nowUs: NOW_US, providerNames: new Map<string, string>() };
    const grouped = readGroupedSeries({ ...EVERYTHING, window, bucket: "hour", grouping, context });
    expect(ledger.read(grouped).chunks.length).toBeGreaterThan(0);
    expect(orRefused(() => count({ ...models, rows }))).toBe(REFUSED);
    // The ragged beginning is looked at row by row.
    expect(orRefused(() => count(models, NEW_YEAR_US + HOUR_US + 1))).toBe(REFUSED);
  });

  test("leaves to rows what only rows tell: no total of a day or month answers for a price, a duration or a missing price", () => {
    using ledger = openUsages([usageAt(NEW_YEAR_US), usageAt(NEW_YEAR_US + 40 * DAY_US)], {
      sealBeforeUs: NEW_YEAR_US + 41 * DAY_US,
    });
    const count = (rows: StatsQuery["filter"]["rows"]) => {
      const query = { ...EVERYTHING, filter: { ...EVERYTHING.filter, rows } };
      return ask(ledger, query, "month").buckets.map(({ requests }) => requests);
    };
    const bounds = { minCostPico: null, maxCostPico: null, minDurationUs: null, maxDurationUs: null };
    const durationUs = ENDING.durationUs ?? 0;
    expect(count(null)).toEqual([1, 1, 0, 0]);
    expect(count({ ...bounds, isUnpriced: true })).toEqual([1, 1, 0, 0]);
    expect(count({ ...bounds, isUnpriced: false, maxCostPico: 0n })).toEqual([]);
    expect(count({ ...bounds, isUnpriced: false, minDurationUs: durationUs + 1 })).toEqual([]);
  });
});

function ask(ledger: Pick<ReturnType<typeof openUsages>, "read">, query: StatsQuery, bucket: Bucket) {
  return ledger.read(readSeries({ ...query, bucket, nowUs: NOW_US }));
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
