import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { InstantUs } from "#kernel/clock.ts";
import type { Repricing } from "#stats/repricing.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import { type Chance, createChance } from "../support/chance.ts";
import { readNumber, scale } from "../support/scale.ts";
import { DAY_US, NEW_YEAR_US } from "../ledger/usage.ts";
import {
  type Bench,
  expectFigures,
  listRows,
  openBench,
  recordDays,
  reprice,
  ROOT,
  sum,
  sumCost,
  TERMS,
  toCost,
  toUsed,
} from "./repricings.ts";
import { codeOf, createTempDir, type LedgerEngine } from "./support.ts";

const KILLS = readNumber("LOCKPORT_REPRICING_KILLS") ?? 4 * scale;
const TEST_MS_MAX = 60_000 + KILLS * 15_000;
/** A stretch a day; a page of the log has all rows. */
const DAYS = 20;
const STEPS_MAX = 1_000;
const CHANGES = ["apply", "revert"] as const;
/** The time in which a child changes all of them, at most. */
const CHANGE_MS_MAX = 150;

setDefaultTimeout(TEST_MS_MAX);

/** Re-pricings of every engine whose server is killed (specification of money, section 3). */
export function testRepricingKills(engineName: string, createEngine: () => LedgerEngine): void {
  describe(`a re-pricing on ${engineName}`, () => {
    test("that a kill ends goes on at the next start: applied it has the figures of its plan, and taken back every row is what it was", async () => {
      await using engine = createEngine();
      const chance = createChance(readNumber("LOCKPORT_SEED"));
      const clock: { nowUs: InstantUs } = { nowUs: NEW_YEAR_US + (DAYS + 1) * DAY_US };
      let events: Awaited<ReturnType<LedgerEngine["checkLedger"]>>;
      {
        await using bench = await openBench(engine);
        await recordDays(bench.storage, DAYS);
        // Sealed days and open ones.
        bench.clock.now = NEW_YEAR_US + (DAYS / 2) * DAY_US;
        await bench.storage.ledger.flush();
        await bench.storage.maintain();
        await bench.storage.close();
        events = await engine.checkLedger();
      }
      let [kills, killedWithin, rounds] = [0, 0, 0];
      while (kills < KILLS) {
        rounds += 1;
        const { before, plan } = await makePlan(engine, (clock.nowUs += 1_000));
        for (const change of CHANGES) {
          clock.nowUs += 1_000;
          // Every other one is killed at a step that is known: in the middle, however quick the machine is.
          const isKnown = (rounds % 2 === 1) === (change === "apply");
          const stepsMax = isKnown ? 1 + chance.below(DAYS - 2) : null;
          await killChild(engine, { nowUs: clock.nowUs, task: change, id: plan.id, stepsMax, chance });
          kills += 1;
          // What goes on is killed as well, now and then.
          const again = isKnown ? 0 : chance.below(3);
          for (let count = 0; count < again; count += 1) {
            await killChild(engine, {
              nowUs: clock.nowUs,
              task: "go on",
              id: plan.id,
              stepsMax: null,
              chance,
            });
            kills += 1;
          }
          await using bench = await openBench(engine, { nowUs: clock.nowUs });
          const left = await bench.repricings.get(plan.id);
          if (left.doneCount > 0 && left.doneCount < left.eventCount) killedWithin += 1;
          // Reports are right also where half is done.
          expect(await sumCost(bench.storage)).toBe(sum(await listRows(bench.storage)));
          bench.repricings.start();
          await expectEnded(bench, { change, plan, before });
          await bench.repricings.close();
          await bench.storage.close();
          const checked = await engine.checkLedger();
          if (change === "revert") expect(checked).toEqual(events);
        }
      }
      expect(killedWithin).toBeGreaterThan(0);
      console.log(
        `re-pricings on ${engineName}: ${kills} kills in ${rounds} rounds of apply and revert, ${killedWithin} resumed in the middle, seed ${chance.seed}`,
      );
    });

    // One folder has one server: SQLite has no other that takes over.
    test.skipIf(engineName === "SQLite")(
      "whose replica is killed is taken over by another one, which ends with the figures of the plan",
      async () => {
        await using engine = createEngine();
        const nowUs = NEW_YEAR_US + (DAYS + 1) * DAY_US;
        {
          await using bench = await openBench(engine);
          await recordDays(bench.storage, DAYS);
          await bench.repricings.close();
          await bench.storage.close();
        }
        const { before, plan } = await makePlan(engine, nowUs);
        using folder = createTempDir();
        await using other = await openBench(engine, { nowUs, serve: { dataDir: folder.path } });
        other.repricings.start();
        const chance = createChance(readNumber("LOCKPORT_SEED"));
        await killChild(engine, { nowUs, task: "apply", id: plan.id, stepsMax: DAYS / 2, chance });
        const { state, doneCount, eventCount } = await other.repricings.get(plan.id);
        expect(state).toBe("running");
        expect(doneCount).toBeWithin(1, eventCount);
        expect(await codeOf(other.repricings.create({ ...TERMS, isDryRun: true, actor: ROOT }))).toBe(
          "repricing_running",
        );
        await expectEnded(other, { change: "apply", plan, before });
        await engine.checkLedger();
        await other.repricings.revert(plan.id, ROOT);
        await expectEnded(other, { change: "revert", plan, before });
        await engine.checkLedger();
      },
    );
  });
}

async function makePlan(engine: LedgerEngine, nowUs: InstantUs) {
  await using bench = await openBench(engine, { nowUs });
  const before = await listRows(bench.storage);
  const plan = await bench.planned(TERMS);
  expectFigures(plan.figures, before);
  await bench.repricings.close();
  await bench.storage.close();
  return { before, plan };
}

interface EndedChange {
  readonly change: "apply" | "revert";
  readonly plan: Repricing;
  readonly before: readonly RequestLogRow[];
}

async function expectEnded(
  { repricings, reached, storage }: Bench,
  { change, plan, before }: EndedChange,
): Promise<void> {
  const ended = await reached(plan.id, change === "apply" ? "applied" : "reverted");
  expect(repricings.changingId).toBeNull();
  expect(ended.figures).toEqual(plan.figures);
  expect(ended.doneCount).toBe(change === "apply" ? plan.eventCount : 0);
  const after = await listRows(storage);
  if (change === "revert") expect(after).toEqual(before);
  else expect(after.map(toCost)).toEqual(before.map((row) => toCost(reprice(row))));
  expect(after.map(toUsed)).toEqual(before.map(toUsed));
  expect(await sumCost(storage)).toBe(sum(after));
}

interface KilledChange {
  readonly nowUs: InstantUs;
  readonly task: "apply" | "revert" | "go on";
  readonly id: string;
  /** Killed before the step behind so many; null: at a moment that is not known. */
  readonly stepsMax: number | null;
  readonly chance: Chance;
}

async function killChild(
  engine: LedgerEngine,
  { nowUs, task, id, stepsMax, chance }: KilledChange,
): Promise<void> {
  const child = await engine.spawn("reprice", nowUs, stepsMax ?? STEPS_MAX, task, id);
  const wanted = stepsMax === null ? "begun" : "held";
  let said = "";
  for await (const chunk of child.stdout) {
    said += new TextDecoder().decode(chunk);
    if (said.split("\n").includes(wanted)) break;
  }
  expect(said).toContain(wanted);
  if (stepsMax === null) await Bun.sleep(chance.below(CHANGE_MS_MAX));
  child.kill("SIGKILL");
  await child.exited;
}
