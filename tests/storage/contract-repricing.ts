import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { ModelPrices } from "#kernel/price-variants.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import { NOTHING_USED, RELAY_PROVIDER } from "#usage/event.ts";
import { DAY_US, ENDING, EVERYTHING, NEW_YEAR_US } from "../ledger/usage.ts";
import { until } from "../support/waiting.ts";
import {
  expectFigures,
  HOUR_US,
  isUnpriced,
  listRows,
  openBench,
  record,
  recordBilled,
  recordDays,
  reprice,
  ROOT,
  sum,
  sumCost,
  TERMS,
  toCost,
  toUsed,
} from "./repricings.ts";
import { codeOf, type LedgerEngine, PAGE } from "./support.ts";

/** The promises of every engine's re-pricing (specification of money, section 3). */
export function testRepricingContract(engineName: string, createEngine: () => LedgerEngine): void {
  describe(`re-pricing on ${engineName}`, () => {
    test("a dry run changes nothing and has the figures that applying has, which are those of every row; a revert restores all of them", async () => {
      await using engine = createEngine();
      await using bench = await openBench(engine);
      const { storage, repricings } = bench;
      // Some days are sealed, one has a late row, and the last two are open.
      await recordDays(storage, 5);
      bench.clock.now = NEW_YEAR_US + 5 * DAY_US + HOUR_US;
      await storage.ledger.flush();
      await storage.maintain();
      await record(storage, { arrivedAtUs: NEW_YEAR_US + 17 });
      const before = await listRows(storage);

      const plan = await bench.planned(TERMS);
      expect(await listRows(storage)).toEqual(before);
      expectFigures(plan.figures, before);
      expect(plan.eventCount).toBe(before.filter(({ model }) => model !== "other").length);

      await repricings.apply(plan.id, ROOT);
      const applied = await bench.reached(plan.id, "applied");
      expect(applied.figures).toEqual(plan.figures);
      expect(applied.doneCount).toBe(plan.eventCount);
      const after = await listRows(storage);
      expect(after.map(toCost)).toEqual(before.map((row) => toCost(reprice(row))));
      expect(after.map(toUsed)).toEqual(before.map(toUsed));
      await engine.checkLedger();
      // What was added to open hours and to sealed ones stays the same when the rest is sealed.
      bench.clock.now += 10 * DAY_US;
      await storage.maintain();
      await engine.checkLedger();
      expect(await sumCost(storage)).toBe(sum(after));

      expect(await codeOf(repricings.apply(plan.id, ROOT))).toBe("repricing_outdated");
      await repricings.revert(plan.id, ROOT);
      await bench.reached(plan.id, "reverted");
      expect(await listRows(storage)).toEqual(before);
      const { rows } = await storage.audit.listEvents(PAGE);
      expect(rows.map(({ action, targetRef }) => `${action} ${targetRef}`)).toEqual([
        `repricing.revert ${plan.id}`,
        `repricing.apply ${plan.id}`,
      ]);
      await engine.checkLedger();
      expect(await sumCost(storage)).toBe(sum(before));
    });

    test("touches neither what ended after the plan was made, nor what its filters, its window and unpriced_only leave out", async () => {
      await using engine = createEngine();
      await using bench = await openBench(engine);
      const { storage, repricings } = bench;
      await recordDays(storage, 2);
      const long = { ...ENDING, durationUs: 40 * DAY_US };
      await record(storage, { arrivedAtUs: NEW_YEAR_US + 5 }, long);
      bench.clock.now = NEW_YEAR_US + 3 * DAY_US;
      const window = { sinceUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + DAY_US };
      const filter = { ...EVERYTHING.filter, models: ["fast"] };
      const query = { ...EVERYTHING, window, filter };
      const plan = await bench.planned({ ...TERMS, query, isUnpricedOnly: true });
      await record(storage, { arrivedAtUs: NEW_YEAR_US + 6 }, { ...ENDING, durationUs: 9 * DAY_US });
      const before = await listRows(storage);
      await repricings.apply(plan.id, ROOT);
      await bench.reached(plan.id, "applied");
      const after = await listRows(storage);
      const isTouched = (row: RequestLogRow) =>
        row.model === "fast" &&
        row.arrivedAtUs < NEW_YEAR_US + DAY_US &&
        isUnpriced(row) &&
        row.durationUs < DAY_US;
      expect(before.filter(isTouched).length).toBeGreaterThan(3);
      expect(after.map(toCost)).toEqual(before.map((row) => toCost(isTouched(row) ? reprice(row) : row)));
      await engine.checkLedger();
    });

    test("a price by the request that new prices no longer have costs nothing and leaves nothing unpriced, and is taken anew from later ones", async () => {
      await using engine = createEngine();
      await using bench = await openBench(engine);
      const { storage, repricings } = bench;
      const alone = { requests: 3_000_000 };
      const both = { requests: 3_000_000, input_tokens: 1 };
      await recordBilled(storage, 1, { quantities: { requests: 1 }, prices: alone });
      await recordBilled(storage, 2, { quantities: { requests: 1, input_tokens: 10 }, prices: both });
      bench.clock.now = NEW_YEAR_US + DAY_US;
      const before = await listRows(storage);
      const repriceAt = async (prices: ModelPrices["prices"]) => {
        bench.clock.now += 1;
        const terms = [["fast", [{ fromUs: 0, prices: { prices, variants: [] } }]]] as const;
        const { id } = await bench.planned({ ...TERMS, prices: terms });
        await repricings.apply(id, ROOT);
        await bench.reached(id, "applied");
        await engine.checkLedger();
        return id;
      };
      const dropped = await repriceAt({ input_tokens: 2 });
      const after = await listRows(storage);
      expect(after.map(({ costPico }) => costPico)).toEqual([20n, 0n]);
      expect(after.some(isUnpriced)).toBe(false);
      expect(after.map(toUsed)).toEqual(before.map(toUsed));
      const changed = await repriceAt({ input_tokens: 2, requests: 5 });
      expect((await listRows(storage)).map(({ costPico }) => costPico)).toEqual([25n, 5n]);
      for (const id of [changed, dropped]) {
        await repricings.revert(id, ROOT);
        await bench.reached(id, "reverted");
      }
      expect(await listRows(storage)).toEqual(before);
      await engine.checkLedger();
    });

    test("requests that ended before the plan and were recorded behind it, as another replica's are, are told beside it and taken back with the rest", async () => {
      await using engine = createEngine();
      await using bench = await openBench(engine);
      const { storage, repricings } = bench;
      await recordDays(storage, 2);
      bench.clock.now = NEW_YEAR_US + 3 * DAY_US;
      const plan = await bench.planned(TERMS);
      expect(plan.beyondPlan).toBeUndefined();
      for (const at of [5, 6]) await record(storage, { arrivedAtUs: NEW_YEAR_US + HOUR_US + at });
      // It ends after the plan was made.
      await record(storage, { arrivedAtUs: NEW_YEAR_US + 7 }, { ...ENDING, durationUs: 9 * DAY_US });
      const before = await listRows(storage);
      await repricings.apply(plan.id, ROOT);
      const applied = await bench.reached(plan.id, "applied");
      expect(applied.figures).toEqual(plan.figures);
      const after = await listRows(storage);
      const [changed, was] = [after, before].map((rows) =>
        rows.filter((_, row) => !Bun.deepEquals(toCost(after[row]!), toCost(before[row]!))),
      );
      const late = { requests: 2, costPico: 0n, unpriced: -2 };
      late.costPico =
        sum(changed ?? []) -
        sum(was ?? []) -
        ((plan.figures?.costAfterPico ?? 0n) - (plan.figures?.costBeforePico ?? 0n));
      expect(late.costPico).toBeGreaterThan(0n);
      expect(changed?.length).toBe((plan.figures?.requests ?? 0) + late.requests);
      expect(applied.beyondPlan).toEqual(late);
      const { rows } = await repricings.list(PAGE);
      expect(rows[0]?.beyondPlan).toEqual(late);
      await repricings.revert(plan.id, ROOT);
      const reverted = await bench.reached(plan.id, "reverted");
      expect(reverted.goneCount).toBe(0);
      expect(await listRows(storage)).toEqual(before);
      await engine.checkLedger();
    });

    test("a price by the request that comes late is given to what had none, unless it failed, used nothing or is free; a revert restores each row as it was", async () => {
      await using engine = createEngine();
      await using bench = await openBench(engine);
      const { storage, repricings } = bench;
      const tokens = { quantities: { input_tokens: 10 }, prices: { input_tokens: 1 } };
      const untold = { quantities: null, prices: {} };
      const nothing = { usage: NOTHING_USED, costPico: null, unpriced: false };
      const failed = { statusCode: 500, outcome: "upstream_error", errorKind: "http_500" } as const;
      await recordBilled(storage, 1, tokens);
      await recordBilled(storage, 2, { ...tokens, costReportedPico: 7n });
      await recordBilled(storage, 3, untold);
      await recordBilled(storage, 4, { ...untold, tier: "flex", prices: { lacks: "tier" } });
      await recordBilled(storage, 5, { ...untold, ...failed });
      await recordBilled(storage, 6, { ...untold, statusCode: 499, outcome: "cancelled" });
      await recordBilled(storage, 7, { quantities: { requests: 1 }, prices: { requests: 3 } });
      const at = (second: number) => ({ arrivedAtUs: NEW_YEAR_US + second * 1_000_000 });
      await record(storage, { ...at(8), endpoint: "moderations" }, { ...ENDING, ...nothing, prices: {} });
      await record(
        storage,
        { ...at(9), endpoint: "responses/input_tokens" },
        { ...ENDING, ...nothing, prices: {} },
      );
      const relayed = { ...at(10), providerId: RELAY_PROVIDER, endpoint: "/v1/messages/count_tokens" };
      await record(storage, relayed, { ...ENDING, ...nothing, prices: {} });
      bench.clock.now = NEW_YEAR_US + 2 * DAY_US;
      await storage.ledger.flush();
      await storage.maintain();
      const before = await listRows(storage);
      const stored = await engine.checkLedger();
      const repriceAt = async (prices: ModelPrices["prices"]) => {
        bench.clock.now += 1;
        const terms = [["fast", [{ fromUs: 0, prices: { prices, variants: [] } }]]] as const;
        const plan = await bench.planned({ ...TERMS, prices: terms });
        await repricings.apply(plan.id, ROOT);
        expect((await bench.reached(plan.id, "applied")).figures).toEqual(plan.figures);
        return plan;
      };
      const given = await repriceAt({ input_tokens: 2, requests: 5 });
      const after = await listRows(storage);
      // The newest first.
      expect(after.map(({ costPico }) => costPico)).toEqual([
        null,
        null,
        5n,
        5n,
        null,
        null,
        null,
        5n,
        25n,
        25n,
      ]);
      expect(after.map(isUnpriced).map(Number).join("")).toBe("0000001000");
      expect(after[7]?.usage).toEqual({ shape: "begun", quantities: { requests: 1 } });
      expect(after.map(({ costReportedPico }) => costReportedPico)).toEqual(
        before.map(({ costReportedPico }) => costReportedPico),
      );
      const counted = (await engine.checkLedger()).map(({ other_units }) => other_units);
      expect(counted.filter((units) => units?.endsWith('"r":1}') === true)).toHaveLength(6);
      const byRequest = given.figures?.units.filter(({ unit }) => unit === "requests") ?? [];
      expect(
        byRequest.map(({ tier, requests, unpricedBefore, unpricedAfter }) => ({
          tier,
          requests,
          unpricedBefore,
          unpricedAfter,
        })),
      ).toEqual([
        { tier: null, requests: 5, unpricedBefore: 0, unpricedAfter: 0 },
        { tier: "flex", requests: 1, unpricedBefore: 0, unpricedAfter: 1 },
      ]);
      // What was given one keeps it, for nothing, where no price is by the request any more.
      const dropped = await repriceAt({ input_tokens: 3 });
      expect((await listRows(storage)).map(({ costPico }) => costPico)).toEqual([
        null,
        null,
        0n,
        0n,
        null,
        null,
        0n,
        0n,
        30n,
        30n,
      ]);
      await engine.checkLedger();
      // A late one of a day that is sealed.
      await recordBilled(storage, 11, tokens);
      const late = await listRows(storage);
      for (const { id } of [dropped, given]) {
        await repricings.revert(id, ROOT);
        await bench.reached(id, "reverted");
        await engine.checkLedger();
      }
      expect(await listRows(storage)).toEqual([...late.slice(0, 1), ...before]);
      expect((await engine.checkLedger()).slice(0, -1)).toEqual([...stored]);
      await storage.maintain();
      await engine.checkLedger();
    });

    test("a revert after retention takes back what is left and tells how many requests were gone", async () => {
      await using engine = createEngine();
      await using bench = await openBench(engine, { serve: { usageRetentionDays: 30 } });
      const { storage, repricings } = bench;
      await recordDays(storage, 4);
      bench.clock.now = NEW_YEAR_US + 5 * DAY_US;
      await storage.ledger.flush();
      await storage.maintain();
      const before = await listRows(storage);
      const plan = await bench.planned(TERMS);
      await repricings.apply(plan.id, ROOT);
      await bench.reached(plan.id, "applied");
      const changed = await listRows(storage);
      // The rows of the first two days are removed.
      bench.clock.now = NEW_YEAR_US + 32 * DAY_US;
      await storage.maintain();
      await repricings.revert(plan.id, ROOT);
      const reverted = await bench.reached(plan.id, "reverted");
      const left = await listRows(storage);
      expect(left.length).toBeWithin(1, before.length);
      const isLeft = new Set(left.map(({ id }) => id));
      expect(left).toEqual(before.filter(({ id }) => isLeft.has(id)));
      const gone = before.filter(
        (row, index) => !isLeft.has(row.id) && !Bun.deepEquals(toCost(row), toCost(changed[index] ?? row)),
      );
      expect(gone.length).toBeGreaterThan(3);
      expect(reverted.goneCount).toBe(gone.length);
      const { rows } = await repricings.list(PAGE);
      expect(rows[0]).toMatchObject({ id: plan.id, goneCount: gone.length });
      // Lists carry neither prices nor figures by unit.
      expect(rows[0]?.terms.prices).toEqual([
        ["fast", []],
        ["slow", []],
      ]);
      expect(rows[0]?.figures?.units).toEqual([]);
      await engine.checkLedger();
    });

    test("runs one at a time, and an outdated plan or a revert out of order changes nothing", async () => {
      await using engine = createEngine();
      await using bench = await openBench(engine);
      const { storage, repricings } = bench;
      await recordDays(storage, 1);
      bench.clock.now = NEW_YEAR_US + 2 * DAY_US;
      const [one, other] = await Promise.all([
        codeOf(repricings.create({ ...TERMS, isDryRun: true, actor: ROOT })),
        codeOf(repricings.create({ ...TERMS, isDryRun: true, actor: ROOT })),
      ]);
      expect(new Set([one, other])).toEqual(new Set([null, "repricing_running"]));
      const { rows } = await repricings.list(PAGE);
      expect(rows.length).toBe(1);
      await bench.reached(rows[0]?.id ?? "", "planned");
      bench.clock.now += 1;
      const first = await bench.planned(TERMS);
      const second = await bench.planned(TERMS);
      await repricings.apply(first.id, ROOT);
      await bench.reached(first.id, "applied");
      const applied = await listRows(storage);
      expect(await codeOf(repricings.apply(second.id, ROOT))).toBe("repricing_outdated");
      expect(await codeOf(repricings.apply("none", ROOT))).toBe("repricing_not_found");
      bench.clock.now += 1;
      const cheap = [
        ["fast", [{ fromUs: 0, prices: { prices: { input_tokens: 1 }, variants: [] } }]],
      ] as const;
      const third = await bench.planned({ ...TERMS, prices: cheap });
      await repricings.apply(third.id, ROOT);
      await bench.reached(third.id, "applied");
      expect(await codeOf(repricings.revert(first.id, ROOT))).toBe("repricing_outdated");
      await repricings.revert(third.id, ROOT);
      await bench.reached(third.id, "reverted");
      expect(await listRows(storage)).toEqual(applied);
      await engine.checkLedger();
    });

    test("the next one begins when the one before has told limits, and its end leaves what is known of the next", async () => {
      await using engine = createEngine();
      const told: PromiseWithResolvers<void>[] = [];
      let going = 0;
      await using bench = await openBench(engine, {
        async onCosts(change) {
          if (change === "going") return;
          const held = Promise.withResolvers<void>();
          told.push(held);
          going += 1;
          await held.promise;
          going -= 1;
        },
      });
      const { storage, repricings } = bench;
      const untilTold = (count: number) =>
        until(
          () => told.length === count,
          () => `limits were told ${told.length} times`,
        );
      await recordDays(storage, 1);
      bench.clock.now = NEW_YEAR_US + 2 * DAY_US;
      const { id } = await repricings.create({ ...TERMS, isDryRun: false, actor: ROOT });
      await untilTold(1);
      expect((await repricings.get(id)).state).toBe("applied");
      await repricings.revert(id, ROOT);
      expect(going).toBe(1);
      told[0]?.resolve();
      await untilTold(2);
      expect(going).toBe(1);
      expect(repricings.changingId).toBe(id);
      // What is under way is waited for.
      const events: string[] = [];
      const closed = repricings.close().then(() => events.push("closed"));
      await repricings.get(id);
      events.push("told");
      told[1]?.resolve();
      await closed;
      expect(events).toEqual(["told", "closed"]);
      expect(repricings.changingId).toBeNull();
      await engine.checkLedger();
    });

    test("a step that gets no answer does not keep the process from ending", async () => {
      await using engine = createEngine();
      const asked = Promise.withResolvers<void>();
      await using bench = await openBench(engine, {
        toStore: (store) => ({
          ...store,
          applyStep: () => {
            asked.resolve();
            return new Promise<never>(() => {});
          },
        }),
      });
      await recordDays(bench.storage, 1);
      bench.clock.now = NEW_YEAR_US + 2 * DAY_US;
      const { id } = await bench.planned(TERMS);
      await bench.repricings.apply(id, ROOT);
      await asked.promise;
      await bench.repricings.close();
      expect((await bench.repricings.get(id)).state).toBe("running");
    });

    test("one that is being begun is not taken for one that was left behind, and done a second time", async () => {
      await using engine = createEngine();
      const begun: string[] = [];
      let claim = (): void => {};
      await using bench = await openBench(engine, {
        toStore: (store) => ({
          ...store,
          async begin(...asked) {
            const outcome = await store.begin(...asked);
            claim();
            // Answered behind the claim that was asked for before.
            await store.claim();
            return outcome;
          },
          applyStep(repricing, fromUs) {
            if (fromUs === null) begun.push(repricing.state);
            return store.applyStep(repricing, fromUs);
          },
          revertStep(repricing) {
            begun.push(repricing.state);
            return store.revertStep(repricing);
          },
        }),
      });
      const { storage, repricings } = bench;
      claim = () => repricings.start();
      await recordDays(storage, 1);
      bench.clock.now = NEW_YEAR_US + DAY_US;
      const { id } = await bench.planned(TERMS);
      await repricings.apply(id, ROOT);
      await bench.reached(id, "applied");
      expect(begun).toEqual(["running"]);
      await repricings.revert(id, ROOT);
      await bench.reached(id, "reverted");
      expect(begun.filter((state) => state === "running")).toHaveLength(1);
      await engine.checkLedger();
    });

    test("a plan whose failure cannot be saved is made again: it refuses no other one for ever", async () => {
      await using engine = createEngine();
      const failing = new Set(["plan", "save"]);
      await using bench = await openBench(engine, {
        toStore: (store) => ({
          ...store,
          plan: (...asked) => (failing.has("plan") ? Promise.reject(new Error("no")) : store.plan(...asked)),
          save: (saved, isActive) => {
            if (saved.state !== "failed" || !failing.has("save")) return store.save(saved, isActive);
            failing.clear();
            return Promise.reject(new Error("no"));
          },
        }),
      });
      const { storage, repricings } = bench;
      await recordDays(storage, 1);
      bench.clock.now = NEW_YEAR_US + 2 * DAY_US;
      const first = await repricings.create({ ...TERMS, isDryRun: true, actor: ROOT });
      expect(await codeOf(repricings.create({ ...TERMS, isDryRun: true, actor: ROOT }))).toBe(
        "repricing_running",
      );
      await bench.reached(first.id, "planned");
      const second = await bench.planned(TERMS);
      expect(second.figures).toEqual((await repricings.get(first.id)).figures);
    });

    test("a step that always fails ends it: what was applied is taken back, and it may be applied again", async () => {
      await using engine = createEngine();
      const failing = { apply: true };
      let steps = 0;
      await using bench = await openBench(engine, {
        toStore: (store) => ({
          ...store,
          applyStep: (...asked) =>
            failing.apply && (steps += 1) > 1 ? Promise.reject(new Error("no")) : store.applyStep(...asked),
        }),
      });
      const { storage, repricings } = bench;
      await recordDays(storage, 3);
      bench.clock.now = NEW_YEAR_US + 5 * DAY_US;
      const before = await listRows(storage);
      const plan = await bench.planned(TERMS);
      await repricings.apply(plan.id, ROOT);
      const failed = await bench.reached(plan.id, "failed");
      expect(steps).toBeGreaterThan(2);
      expect(failed).toMatchObject({ figures: plan.figures, changedAtUs: null, doneCount: 0 });
      expect(failed.failure).toContain("taken back");
      expect(await listRows(storage)).toEqual(before);
      expect(await sumCost(storage)).toBe(sum(before));
      expect(repricings.changingId).toBeNull();
      await engine.checkLedger();
      expect(await codeOf(repricings.revert(plan.id, ROOT))).toBe("repricing_outdated");
      failing.apply = false;
      await repricings.apply(plan.id, ROOT);
      const applied = await bench.reached(plan.id, "applied");
      expect(applied).toMatchObject({ figures: plan.figures, failure: null });
      expect((await listRows(storage)).map(toCost)).toEqual(before.map((row) => toCost(reprice(row))));
      await engine.checkLedger();
    });

    test("a revert whose step always fails leaves it applied as it was; where that fails as well it has failed, and can be taken back later", async () => {
      await using engine = createEngine();
      const failing = { apply: false, revert: false };
      let steps = 0;
      await using bench = await openBench(engine, {
        toStore: (store) => ({
          ...store,
          applyStep: (...asked) =>
            failing.apply ? Promise.reject(new Error("no")) : store.applyStep(...asked),
          revertStep: (...asked) =>
            failing.revert && (steps += 1) > 1 ? Promise.reject(new Error("no")) : store.revertStep(...asked),
        }),
      });
      const { storage, repricings } = bench;
      await recordDays(storage, 3);
      bench.clock.now = NEW_YEAR_US + 5 * DAY_US;
      const before = await listRows(storage);
      const plan = await bench.planned(TERMS);
      await repricings.apply(plan.id, ROOT);
      await bench.reached(plan.id, "applied");
      const after = await listRows(storage);
      failing.revert = true;
      await repricings.revert(plan.id, ROOT);
      const kept = await bench.reached(plan.id, "applied");
      expect(steps).toBeGreaterThan(2);
      expect(kept.failure).toContain("could not be taken back");
      expect(kept.doneCount).toBe(plan.eventCount);
      expect(await listRows(storage)).toEqual(after);
      await engine.checkLedger();

      failing.apply = true;
      steps = 0;
      await repricings.revert(plan.id, ROOT);
      const failed = await bench.reached(plan.id, "failed");
      expect(failed.failure).toContain("new cost");
      expect(failed.doneCount).toBeGreaterThan(0);
      expect(await sumCost(storage)).toBe(sum(await listRows(storage)));
      await engine.checkLedger();
      // It refuses no other one for ever.
      await bench.planned(TERMS);
      failing.apply = false;
      failing.revert = false;
      await repricings.revert(plan.id, ROOT);
      expect((await bench.reached(plan.id, "reverted")).failure).toBeNull();
      expect(await listRows(storage)).toEqual(before);
      await engine.checkLedger();
    });

    test.skipIf(engineName !== "SQLite")(
      "what cannot be written holds up nothing else that the writer does",
      async () => {
        await using engine = createEngine();
        await using bench = await openBench(engine);
        const { storage, repricings } = bench;
        await recordDays(storage, 3);
        bench.clock.now = NEW_YEAR_US + 5 * DAY_US;
        const before = await listRows(storage);
        const plan = await bench.planned(TERMS);
        using database = new Database(join(engine.dataDir, "usage.db"));
        database.run(
          `CREATE TRIGGER broken BEFORE UPDATE ON event WHEN OLD.id >= ${NEW_YEAR_US + DAY_US}
           BEGIN SELECT RAISE(ABORT, 'broken'); END`,
        );
        await repricings.apply(plan.id, ROOT);
        await until(
          async () => (await repricings.get(plan.id)).doneCount > 0,
          () => "a first day was applied",
        );
        await record(storage, { arrivedAtUs: NEW_YEAR_US + 4 * DAY_US });
        const during = await listRows(storage);
        expect(during).toHaveLength(before.length + 1);
        await bench.reached(plan.id, "failed");
        database.run("DROP TRIGGER broken");
        expect(await listRows(storage)).toEqual(expect.arrayContaining([...before]));
        await engine.checkLedger();
      },
    );

    // Two replicas of PostgreSQL take over from each other in tests/replicas.
    test.skipIf(engineName !== "SQLite")(
      "one whose server is of another database ends with its plan's figures, and refuses no other one for ever",
      async () => {
        await using engine = createEngine();
        await using bench = await openBench(engine);
        const { storage, repricings } = bench;
        await recordDays(storage, 1);
        bench.clock.now = NEW_YEAR_US + 2 * DAY_US;
        const before = await listRows(storage);
        const plan = await bench.planned(TERMS);
        await storage.repricings.begin(plan.id, { from: ["planned"], to: "running" });
        // A ledger that was moved here from PostgreSQL has the number of a replica that is none here.
        using database = new Database(join(engine.dataDir, "usage.db"));
        database.run("UPDATE repricing SET holder = 77 WHERE active = 1");
        expect(await codeOf(repricings.create({ ...TERMS, isDryRun: true, actor: ROOT }))).toBe(
          "repricing_running",
        );
        repricings.start();
        const applied = await bench.reached(plan.id, "applied");
        expect(applied.figures).toEqual(plan.figures);
        expect((await listRows(storage)).map(toCost)).toEqual(before.map((row) => toCost(reprice(row))));
        await engine.checkLedger();
      },
    );
  });
}
