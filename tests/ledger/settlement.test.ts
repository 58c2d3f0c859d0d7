import { describe, expect, test } from "bun:test";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import { type BackgroundEnd, Settlements } from "#forward/settlements.ts";
import { NO_LIMITS } from "#limits/limit-gate.ts";
import { PENDING_USAGE, type UsageEnding } from "#usage/event.ts";
import { createUsageMetrics } from "#usage/metrics.ts";
import {
  createManualClock,
  createTestLog,
  ENDING,
  EVERYTHING,
  NEW_YEAR_US,
  PENDING,
  SUBJECT,
} from "./usage.ts";
import { serveLedger } from "../support/ledger.ts";

async function createBench() {
  const clock = createManualClock();
  const { log } = createTestLog();
  const opened = await serveLedger({ clock });
  const { ledger } = opened;
  const metrics = createUsageMetrics();
  const heard: { readonly before: UsageEnding; readonly after: UsageEnding }[] = [];
  const limits = {
    ...NO_LIMITS,
    settled: (_: unknown, before: UsageEnding, after: UsageEnding) => void heard.push({ before, after }),
  };
  const snapshot = {} as CatalogSnapshot;
  const catalog = { peek: () => snapshot, snapshot: async () => snapshot };
  const settlements = new Settlements({ catalog, ledger, limits, clock, log });
  const ask = async () => {
    // A settlement is a transaction of its own, behind the batch that its event was recorded with.
    await ledger.flush();
    return (await opened.stats.listRequests(EVERYTHING, { limit: 10, offset: 0 })).rows;
  };
  return { ...opened, clock, metrics, heard, settlements, ask };
}

function toEnd({ metrics }: Pick<Awaited<ReturnType<typeof createBench>>, "metrics">): BackgroundEnd {
  return {
    event: { eventId: SUBJECT.arrivedAtUs, lane: 0 },
    outcome: "ok",
    errorKind: null,
    usage: ENDING.usage,
    providerName: "openai",
    findPrices: () => ({ prices: ENDING.prices, variants: [] }),
    counter: metrics.open({ endpoint: "responses", provider: "openai", model: "fast" }),
  };
}

describe("an answer in the background", () => {
  test("is settled once, at the prices of then, however many polls tell its end, and at once", async () => {
    await using bench = await createBench();
    const { ledger, clock, heard, settlements, metrics, ask } = bench;
    await ledger.open(SUBJECT).end(PENDING);
    expect(await ask()).toMatchObject([{ outcome: "ok", costPico: null, usage: PENDING_USAGE }]);

    clock.now += 60_000_000;
    const end = toEnd(bench);
    await Promise.all([settlements.settle(end), settlements.settle(end)]);
    clock.now += 60_000_000;
    await settlements.settle({
      ...end,
      findPrices: () => ({ prices: { input_tokens: 9, output_tokens: 9 }, variants: [] }),
    });
    expect(await ask()).toMatchObject([
      {
        arrivedAtUs: SUBJECT.arrivedAtUs,
        durationUs: 60_000_000,
        costPico: ENDING.costPico,
        usage: ENDING.usage,
      },
    ]);
    expect(heard).toHaveLength(1);
    expect(heard[0]).toMatchObject({
      before: { durationUs: PENDING.durationUs, usage: PENDING_USAGE },
      after: { durationUs: 60_000_000, costPico: ENDING.costPico },
    });
    // Its request was counted when it ended, and is not counted again.
    expect(metrics.units()).toMatchObject([{ quantities: { input_tokens: 70, output_tokens: 20 } }]);
    expect(metrics.requests()).toMatchObject([{ requests: { ok: 0 }, unmeteredCount: 0 }]);
  });

  test.each(["ends as pending", "ends with its usage"] as const)(
    "that is told while its request is open counts once that %s",
    async (how) => {
      await using bench = await createBench();
      const { ledger, clock, heard, settlements, metrics, ask } = bench;
      const open = ledger.open(SUBJECT);
      settlements.began(SUBJECT);
      clock.now += 60_000_000;
      await settlements.settle(toEnd(bench));
      expect(heard).toEqual([]);
      expect(metrics.units()).toEqual([]);
      const ending = how === "ends as pending" ? PENDING : { ...ENDING, costPico: 5n };
      const written = open.end(ending);
      settlements.ended(SUBJECT, ending);
      await written;
      const rows = await ask();
      if (how === "ends as pending") {
        expect(rows).toMatchObject([{ durationUs: 60_000_000, costPico: ENDING.costPico }]);
        expect(heard).toMatchObject([{ before: PENDING, after: { durationUs: 60_000_000 } }]);
        expect(metrics.units()).toMatchObject([{ quantities: { input_tokens: 70, output_tokens: 20 } }]);
      } else {
        expect(rows).toMatchObject([{ costPico: 5n }]);
        expect(heard).toEqual([]);
        expect(metrics.units()).toEqual([]);
      }
    },
  );

  test("of a model that is gone is unpriced, and one that was not reported is unmetered", async () => {
    await using bench = await createBench();
    const { ledger, settlements, ask } = bench;
    for (const index of [0, 1])
      await ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index }).end(PENDING);
    const end = toEnd(bench);
    await settlements.settle({ ...end, findPrices: () => null });
    await settlements.settle({ ...end, event: { eventId: NEW_YEAR_US + 1, lane: 0 }, usage: null });
    expect(await ask()).toMatchObject([
      { usage: null, costPico: null },
      { usage: ENDING.usage, costPico: null },
    ]);
  });
});
