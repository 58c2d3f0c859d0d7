import { describe, expect, test } from "bun:test";
import type { StatsQuery } from "#stats/store.ts";
import { PENDING_USAGE } from "#usage/event.ts";
import { readFacets } from "#storage/reports/facets.ts";
import { listRequests } from "#storage/reports/request-log.ts";
import { CONTEXT, openUsages } from "./reports.ts";
import type { RandomUsage } from "./usage.ts";
import { DAY_US, ENDING, EVERYTHING, isPending, NEW_YEAR_US, SUBJECT } from "./usage.ts";

const OPEN_ROWS = {
  isUnpriced: false,
  minCostPico: null,
  maxCostPico: null,
  minDurationUs: null,
  maxDurationUs: null,
};

const NO_ROWS = { rows: [], total: 0, snapped: null, truncated: false };

describe("the request log", () => {
  test("is a page of all in each order: what has no cost last, and of equals the newest first", () => {
    const usages = [5, null, 7, 7, 1].map((cost, index): RandomUsage => ({
      subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index * DAY_US },
      ending: { ...ENDING, costPico: cost === null ? null : BigInt(cost), durationUs: 10 - (index % 4) },
    }));
    using ledger = openUsages(usages, { sealBeforeUs: NEW_YEAR_US + 3 * DAY_US });
    const orders = {
      newest: [4, 3, 2, 1, 0],
      oldest: [0, 1, 2, 3, 4],
      cost: [3, 2, 0, 4, 1],
      duration: [4, 0, 1, 2, 3],
    } as const;
    for (const order of ["newest", "oldest", "cost", "duration"] as const)
      for (const offset of [0, 1, 3, 5]) {
        const { rows, total } = ledger.read(listRequests(EVERYTHING, { limit: 2, offset, order }));
        const days = rows.map(({ arrivedAtUs }) => (arrivedAtUs - NEW_YEAR_US) / DAY_US);
        const expected = orders[order].slice(offset, offset + 2);
        expect({ order, offset, total, days }).toEqual({ order, offset, total: 5, days: expected });
      }
  });

  test("by size or under a filter on single requests is refused as range_too_large before it looks at too many rows, and only then", () => {
    using ledger = openUsages([{ subject: SUBJECT, ending: ENDING }]);
    ledger.change("UPDATE hour_total SET requests = 25000001");
    const page = { limit: 1, offset: 0 };
    const rows = { ...EVERYTHING.filter, rows: { ...OPEN_ROWS, minDurationUs: 1 } };
    const refused = [
      () => ledger.read(listRequests({ ...EVERYTHING, filter: rows }, page)),
      () => ledger.read(listRequests(EVERYTHING, { ...page, order: "cost" })),
      () => ledger.read(listRequests(EVERYTHING, { ...page, order: "duration" })),
      () => ledger.read(readFacets({ ...EVERYTHING, filter: rows, context: CONTEXT })),
    ];
    for (const ask of refused) {
      expect(ask).toThrow(expect.objectContaining({ code: "range_too_large", param: "since" }));
      expect(ledger.reader.inTransaction).toBe(false);
    }
    const { total } = ledger.read(listRequests(EVERYTHING, { ...page, order: "oldest" }));
    expect(total).toBe(25_000_001);
    const elsewhere = { sinceUs: SUBJECT.arrivedAtUs + 3_600_000_000, untilUs: null };
    expect(ledger.read(listRequests({ ...EVERYTHING, window: elsewhere, filter: rows }, page))).toEqual(
      NO_ROWS,
    );
  });

  test("a filter value full of SQL is only a value", () => {
    using ledger = openUsages([{ subject: SUBJECT, ending: ENDING }]);
    const nasty = "x' OR 1=1; DROP TABLE event; --";
    const asked: StatsQuery = {
      ...EVERYTHING,
      filter: {
        ...EVERYTHING.filter,
        principals: [nasty],
        clientPrefixes: [nasty],
        tags: [nasty],
        errorKinds: [nasty],
      },
      providers: { include: [nasty, '"]'], exclude: [nasty] },
    };
    expect(ledger.read(listRequests(asked, { limit: 10, offset: 0 }))).toEqual(NO_ROWS);
    expect(ledger.read(listRequests(EVERYTHING, { limit: 10, offset: 0 })).total).toBe(1);
  });
});

test("a clock that was ahead and made retention run early leaves a log whose total is the number of its rows", () => {
  const days = Array.from({ length: 60 }, (_, day): RandomUsage => ({
    subject: { ...SUBJECT, model: `m${day % 3}`, arrivedAtUs: NEW_YEAR_US + day * DAY_US },
    ending: day % 20 === 7 ? { ...ENDING, usage: PENDING_USAGE, costPico: null } : ENDING,
  }));
  const [before, after] = [days.filter((_, day) => day % 2 === 0), days.filter((_, day) => day % 2 === 1)];
  const aheadUs = NEW_YEAR_US + 31 * DAY_US;
  using ledger = openUsages(before, {
    sealBeforeUs: NEW_YEAR_US + 32 * DAY_US,
    pruneBeforeUs: aheadUs,
  });
  // The clock is set back, and what comes from now on is kept.
  const presentUs = NEW_YEAR_US + 10 * DAY_US;
  ledger.writer.boundRetention({ nowUs: presentUs, ageUsMax: null });
  ledger.append(after);
  const isLeft = (fromUs: number) => (usage: RandomUsage) =>
    usage.subject.arrivedAtUs >= fromUs || isPending(usage.ending);
  const left = [...before.filter(isLeft(aheadUs)), ...after.filter(isLeft(presentUs))];
  for (const models of [null, ["m0"], ["m1", "m2"]])
    for (const sinceUs of [null, NEW_YEAR_US + 5 * DAY_US, aheadUs + 1]) {
      const filter = { ...EVERYTHING.filter, models };
      const asked = { ...EVERYTHING, filter, window: { sinceUs, untilUs: null } };
      const { rows, total } = ledger.read(listRequests(asked, { limit: 500, offset: 0 }));
      const found = left.filter(
        ({ subject }) =>
          subject.arrivedAtUs >= (sinceUs ?? 0) && (models?.includes(subject.model ?? "") ?? true),
      );
      expect({ models, sinceUs, total, rows: rows.length }).toEqual({
        models,
        sinceUs,
        total: found.length,
        rows: found.length,
      });
      const page = { limit: 1, offset: total - 1 };
      expect(ledger.read(listRequests(asked, page)).rows).toEqual(rows.slice(-1));
      // Where nobody wants the total, the rows are the same.
      const untold = { limit: 500, offset: 0, isTotalWanted: false };
      expect(ledger.read(listRequests(asked, untold))).toEqual({ ...NO_ROWS, rows });
    }
});
