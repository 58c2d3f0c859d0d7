import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Storage } from "#storage/engine.ts";
import type { UsageEvent } from "#usage/event.ts";
import type { OpenUsage } from "#usage/store.ts";
import { createManualClock, type ManualClock } from "../ledger/usage.ts";
import { startBench, type Bench } from "../oracle/bench.ts";
import { arbitraryEvent, DAY_US, DAYS, SCENES_US } from "../oracle/events.ts";
import { createOracle, type Answer, type Oracle, type Question } from "../oracle/oracle.ts";
import { arbitraryQuestion } from "../oracle/questions.ts";
import { readSettings } from "../oracle/settings.ts";
import { FLUSH_WAIT_MS_MAX, type LedgerEngine } from "./support.ts";

const TEST_MS_MAX = 300_000;
/** Ledgers that are recorded, sealed and closed. */
const LEDGERS = 1;
const EVENTS_MAX = 60;
/** Questions under way at a time. */
const ASKERS = 4;
/** Events that are written between two answers, and ahead of the first. */
const EVENTS_PER_ANSWER = 12;
const EVENTS_AHEAD = 200;
/** Requests that are under way while others end. */
const OPEN_MAX = 7;

interface Asked {
  readonly question: Question;
  /** Who asked: one after the other. */
  readonly asker: number;
  /** Events that had ended when it was asked, and those that had or were about to when it was answered. */
  readonly endedBefore: number;
  readonly endedAfter: number;
  /** The events that had been committed for certain when it was asked. */
  readonly committedBefore: number;
  readonly tookMs: number;
  readonly answer: Answer;
}

export interface ReportsContract {
  /** True where events of one microsecond get ids in the order in which they end; without it, each only has one of its own. */
  readonly ordersClashes: boolean;
  /** The number that is asked of each ledger, and while one is written. */
  readonly questions: number;
}

/** The promises of every engine's reports: the answers of the oracle, which adds up the raw events by brute force. */
export function testReportsContract(
  engineName: string,
  createEngine: () => LedgerEngine,
  { ordersClashes, questions: count }: ReportsContract,
): void {
  const { seed, scale } = readSettings(`reports of ${engineName}`);

  describe(`the reports of ${engineName}`, () => {
    test(
      "are what brute force over the recorded events says, before and after days are sealed and the server starts again",
      async () => {
        const bench = await startBench();
        try {
          const scenes = fc.sample(fc.constantFrom(...SCENES_US), { numRuns: LEDGERS * scale, seed });
          for (const [index, sceneUs] of scenes.entries()) {
            const chance = seed + index;
            const event = arbitraryEvent(bench.cast, sceneUs);
            const events =
              fc.sample(fc.array(event, { minLength: 5, maxLength: EVENTS_MAX }), {
                numRuns: 1,
                seed: chance,
              })[0] ?? [];
            const questions = fc.sample(arbitraryQuestion(bench.cast, sceneUs), {
              numRuns: count,
              seed: chance,
            });
            const apart = ordersClashes ? events : setApart(events);
            await expectBruteForce({ bench, createEngine, sceneUs, events: apart, questions });
          }
        } finally {
          await bench.stop();
        }
      },
      TEST_MS_MAX,
    );

    test(
      "while events are being written, every answer is that of one moment: all of the first so many events, none that had ended left out, and never fewer than the same asker saw before",
      async () => {
        await using engine = createEngine();
        const bench = await startBench();
        try {
          const clock = createManualClock(0);
          const storage = await engine.serve({ clock });
          const [sceneUs = 0] = fc.sample(fc.constantFrom(...SCENES_US), { numRuns: 1, seed });
          const asked = arbitraryQuestion(bench.cast, sceneUs);
          const questions = fc.sample(asked, { numRuns: count * scale, seed });
          const numRuns = EVENTS_AHEAD + EVENTS_PER_ANSWER * questions.length;
          const sampled = fc.sample(arbitraryEvent(bench.cast, sceneUs), { numRuns, seed });
          const events = ordersClashes ? sampled : setApart(sampled);
          const nowUs = sceneUs + 100 * DAY_US;
          bench.pointAt(storage.stats, nowUs);

          const written = await writeWhileAsking({ storage, clock, bench, sceneUs, events, questions });
          const oracle = createOracle({ events, nowUs, lane: storage.lane, ...bench.names });
          expectMoments(oracle, written);
          // Were nothing written in between, nothing would have been tried.
          const during = written.filter((one) => one.endedAfter > one.endedBefore);
          expect(during.length).toBeGreaterThan(count / 4);
          await storage.close();
          await engine.checkLedger({ eventCount: events.length, isAtRest: true });
        } finally {
          await bench.stop();
        }
      },
      TEST_MS_MAX,
    );
  });
}

/** The events, each at a microsecond of its own: its arrival, or the next that no event before it has. */
function setApart(events: readonly UsageEvent[]): readonly UsageEvent[] {
  const taken = new Set<number>();
  return events.map((event) => {
    let arrivedAtUs = event.arrivedAtUs;
    while (taken.has(arrivedAtUs)) arrivedAtUs += 1;
    taken.add(arrivedAtUs);
    return { ...event, arrivedAtUs };
  });
}

interface BruteForce {
  readonly bench: Bench;
  readonly createEngine: () => LedgerEngine;
  readonly sceneUs: number;
  readonly events: readonly UsageEvent[];
  readonly questions: readonly Question[];
}

async function expectBruteForce({
  bench,
  createEngine,
  sceneUs,
  events,
  questions,
}: BruteForce): Promise<void> {
  await using engine = createEngine();
  const clock = createManualClock(sceneUs);
  const nowUs = sceneUs + (DAYS.at(-1) ?? 0) * DAY_US + 3 * DAY_US;
  const storage = await engine.serve({ clock });
  const oracle = createOracle({ events, nowUs, lane: storage.lane, ...bench.names });
  const expectAnswers = async ({ stats }: Pick<Storage, "stats">) => {
    bench.pointAt(stats, nowUs);
    for (const question of questions) {
      const { answer } = await bench.ask(question);
      const expected = oracle(question);
      // Compared first: a report of what differs takes its time.
      if (!Bun.deepEquals(answer, expected))
        expect({ question, answer }).toEqual({ question, answer: expected });
    }
  };
  const half = Math.ceil(events.length / 2);
  for (const event of events.slice(0, half)) await storage.ledger.open(event).end(event);
  await storage.ledger.flush();
  // Events of days that are sealed by now come late.
  clock.now = sceneUs + 9 * DAY_US;
  await storage.maintain();
  for (const event of events.slice(half)) await storage.ledger.open(event).end(event);
  await expectAnswers(storage);
  clock.now = nowUs;
  await storage.maintain();
  await expectAnswers(storage);
  await storage.close();
  await expectAnswers(await engine.serve({ clock }));
}

interface Writing extends Pick<BruteForce, "bench" | "sceneUs" | "events" | "questions"> {
  readonly storage: Storage;
  readonly clock: ManualClock;
}

/** Events end in their order, while questions are asked and days are sealed. */
async function writeWhileAsking({
  storage,
  clock,
  bench,
  sceneUs,
  events,
  questions,
}: Writing): Promise<readonly Asked[]> {
  const answered: Asked[] = [];
  const open: { readonly usage: OpenUsage; readonly event: UsageEvent }[] = [];
  let [next, ended, ending] = [0, 0, 0];
  let onAnswer = Promise.withResolvers<void>();

  const ask = async (_: unknown, asker: number) => {
    for (let question = questions[next++]; question !== undefined; question = questions[next++]) {
      const [endedBefore, committedBefore] = [ended, storage.ledgerGauges().writerEvents];
      const startedMs = performance.now();
      const { answer } = await bench.ask(question, next % 2 === 0);
      const tookMs = performance.now() - startedMs;
      answered.push({ question, asker, endedBefore, endedAfter: ending, committedBefore, tookMs, answer });
      onAnswer.resolve();
      onAnswer = Promise.withResolvers();
    }
  };
  const endOldest = async () => {
    const oldest = open.shift();
    if (oldest === undefined) return;
    ending += 1;
    await oldest.usage.end(oldest.event);
    ended += 1;
  };
  const write = async () => {
    for (const [index, event] of events.entries()) {
      while (index >= EVENTS_AHEAD + EVENTS_PER_ANSWER * answered.length) await onAnswer.promise;
      open.push({ usage: storage.ledger.open(event), event });
      if (open.length > OPEN_MAX) await endOldest();
      if (index % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    while (open.length > 0) await endOldest();
  };
  const seal = async () => {
    for (const days of [3, 9, 34, 40]) {
      clock.now = sceneUs + days * DAY_US;
      await storage.maintain();
      // After the last answer no other comes, however slowly days are sealed.
      if (answered.length < questions.length) await onAnswer.promise;
    }
  };
  await Promise.all([write(), seal(), ...Array.from({ length: ASKERS }, ask)]);
  return answered;
}

/** In the order of the answers. The fewest events that explain an answer leave the most to those after it. */
function expectMoments(oracle: Oracle, answers: readonly Asked[]): void {
  const seenBy = new Map<number, number>();
  for (const { question, asker, answer, endedAfter, ...before } of answers) {
    // A slow disk may hold up what has ended: an answer does not wait for it any longer than this.
    const had = before.tookMs < FLUSH_WAIT_MS_MAX ? before.endedBefore : before.committedBefore;
    const first = Math.max(had, seenBy.get(asker) ?? 0);
    let count = first;
    while (count < endedAfter && !Bun.deepEquals(answer, oracle(question, count))) count += 1;
    if (!Bun.deepEquals(answer, oracle(question, count)))
      expect({ question, answer }).toEqual({ question, answer: oracle(question, first) });
    // A refusal has read nothing.
    if (answer.status === 200) seenBy.set(asker, count);
  }
}
