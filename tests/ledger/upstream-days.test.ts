import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { UpstreamDay } from "#bills/compared-cell.ts";
import { readUpstreamDays } from "#storage/reports/reconcile.ts";
import { normaliseUsage } from "#usage/cost.ts";
import { scale } from "../support/scale.ts";
import { arbitraryCase, openUsages } from "./reports.ts";
import { DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, type RandomUsage, SUBJECT } from "./usage.ts";

const WINDOW = { sinceUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + 102 * DAY_US };

const toKey = ({ dayUs, model, tier }: Pick<UpstreamDay, "dayUs" | "model" | "tier">) =>
  JSON.stringify([dayUs, model, tier]);

/** By brute force: every event that names a model, by its day. Fractions are rounded, since their sums depend on the order. */
function toExpected(usages: readonly RandomUsage[]) {
  const days: Record<string, any> = {};
  for (const { subject, ending } of usages) {
    if (subject.model === null) continue;
    const { usage, tier = null, outcome, costPico, unpriced } = ending;
    const dayUs = Math.floor(subject.arrivedAtUs / DAY_US) * DAY_US;
    const key = toKey({ dayUs, model: subject.upstreamName ?? subject.model, tier });
    const day = (days[key] ??= { requests: 0, unmetered: 0, unpriced: 0, cost: null, told: null, units: {} });
    const isUntold = usage === null || usage.shape === "begun";
    if (!isUntold || outcome === "ok") day.requests += 1;
    if (isUntold) day.unmetered += 1;
    if (unpriced) day.unpriced += 1;
    if (costPico !== null) day.cost = (day.cost ?? 0n) + costPico;
    const { costReportedPico: told } = ending;
    if (told !== undefined)
      day.told = { requests: (day.told?.requests ?? 0) + 1, pico: (day.told?.pico ?? 0n) + told };
    for (const [unit, quantity] of Object.entries(usage === null ? {} : normaliseUsage(usage)))
      day.units[unit] = (day.units[unit] ?? 0) + quantity;
  }
  return rounded(days);
}

function toFound(days: readonly UpstreamDay[]) {
  const found = days.map((day) => [
    toKey(day),
    {
      requests: day.requests,
      unmetered: day.unmeteredRequests,
      unpriced: day.unpricedRequests,
      cost: day.costPico,
      told: day.costReported,
      units: { ...day.units },
    },
  ]);
  return rounded(Object.fromEntries(found));
}

function rounded(days: Record<string, any>) {
  for (const { units } of Object.values(days))
    for (const unit of Object.keys(units)) units[unit] = Math.round(units[unit] * 1e3);
  return days;
}

describe("what was used by day, upstream model and tier", () => {
  test("is the sum of the events, sealed or not, and after their rows were removed", () => {
    fc.assert(
      fc.property(arbitraryCase, ({ usages, ...options }) => {
        using ledger = openUsages(usages, options);
        const { days } = ledger.read(readUpstreamDays({ ...EVERYTHING, window: WINDOW }));
        expect(toFound(days)).toEqual(toExpected(usages));
      }),
      { numRuns: 30 * scale },
    );
  }, 30_000);

  test("counts what told no usage apart, whatever its end, and an answer of success as a request all the same", () => {
    const ends = [
      { outcome: "ok", usage: null },
      { outcome: "cancelled", usage: null },
      { outcome: "cancelled", usage: { shape: "begun", quantities: { input_tokens: 7 } } },
      { outcome: "unreachable", usage: null },
      { outcome: "upstream_error", usage: null },
      { outcome: "cancelled", usage: ENDING.usage },
      { outcome: "ok", usage: { shape: "pending", quantities: {} } },
    ] as const;
    const usages = ends.map((end, index) => ({
      subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index },
      ending: { ...ENDING, ...end },
    }));
    using ledger = openUsages(usages);
    const { days } = ledger.read(readUpstreamDays({ ...EVERYTHING, window: WINDOW }));
    expect(days).toHaveLength(1);
    expect(days[0]).toMatchObject({ requests: 3, unmeteredRequests: 5 });
  });

  test("leaves out what names no model, and what only asks or counts; the relay's model is the one its caller named", () => {
    const subjects = [
      { ...SUBJECT, model: null, upstreamName: null },
      { ...SUBJECT, endpoint: "messages/count_tokens" },
      { ...SUBJECT, model: "claude-opus-4-6", upstreamName: null },
    ];
    using ledger = openUsages(
      subjects.map((subject, index) => ({
        subject: { ...subject, arrivedAtUs: NEW_YEAR_US + index },
        ending: ENDING,
      })),
    );
    const { days } = ledger.read(readUpstreamDays({ ...EVERYTHING, window: WINDOW }));
    expect(days.map(({ model }) => model)).toEqual(["claude-opus-4-6"]);
  });

  test("tells what tools cost from rows, once whatever the requests' ends, and not where rows are too many", () => {
    const usage = { shape: "exclusive", quantities: { input_tokens: 7, web_searches: 3 } } as const;
    const prices = { input_tokens: 1, web_searches: 10_000_000_000 };
    const ends = [
      { outcome: "ok", usage, prices },
      { outcome: "cancelled", usage, prices },
      { outcome: "ok", usage, prices: { input_tokens: 1 }, unpriced: true },
      { outcome: "ok" },
    ] as const;
    using ledger = openUsages(
      ends.map((end, index) => ({
        subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index },
        ending: { ...ENDING, ...end },
      })),
    );
    const ask = (rowsMax?: number) =>
      ledger.read(readUpstreamDays({ ...EVERYTHING, window: WINDOW }, { rowsMax })).days;
    const sorted = ask().flatMap(({ tools }) => tools?.toSorted((a, b) => b.requests - a.requests));
    expect(sorted).toEqual([
      { unit: "web_searches", requests: 2, unpricedRequests: 0, costPico: 60_000_000_000n },
      { unit: "web_searches", requests: 1, unpricedRequests: 1, costPico: 0n },
    ]);
    expect(ask(3).map(({ tools }) => tools)).toEqual([null]);
  });

  test("is refused for more days than a series may have, and for more sums than memory takes", () => {
    using ledger = openUsages([{ subject: SUBJECT, ending: ENDING }]);
    const refusal = expect.objectContaining({ code: "range_too_large", param: "since" });
    const ask = (window: { sinceUs: number; untilUs: number }, sumsMax?: number) =>
      ledger.read(readUpstreamDays({ ...EVERYTHING, window }, { sumsMax }));
    expect(() => ask({ sinceUs: 0, untilUs: NEW_YEAR_US })).toThrow(refusal);
    expect(() => ask(WINDOW, 0)).toThrow(refusal);
    expect(ask(WINDOW, 1).days).toHaveLength(1);
  });
});
