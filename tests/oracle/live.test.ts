import { afterEach, beforeEach, expect, test } from "bun:test";
import * as fc from "fast-check";
import { openLedger, type OpenedLedger } from "#storage/sqlite/ledger/ledger.ts";
import type { UsageEvent } from "#usage/event.ts";
import type { OpenUsage } from "#usage/store.ts";
import { createManualClock, createTestLog, type ManualClock } from "../ledger/usage.ts";
import { makeFolder } from "../support/folder.ts";
import { checkLedger } from "../support/invariants.ts";
import type { Bench } from "./bench.ts";
import { startBench } from "./bench.ts";
import { arbitraryEvent, DAY_US, SCENES_US } from "./events.ts";
import { interruptReads, makeLedger } from "./ledger.ts";
import type { Answer, Oracle, Question } from "./oracle.ts";
import { createOracle } from "./oracle.ts";
import { arbitraryQuestion } from "./questions.ts";
import { readSettings } from "./settings.ts";

const TEST_MS_MAX = 300_000;
const QUESTIONS = 160;
/** Questions under way at a time. */
const ASKERS = 4;
/** What is written between two answers, and what is ahead of the first. */
const EVENTS_PER_ANSWER = 12;
const EVENTS_AHEAD = 200;
/** Requests that are under way while others end. */
const OPEN_MAX = 7;
/** How long a report waits for what has ended to be committed. */
const FLUSH_WAIT_MS_MAX = 500;
/** Questions that are interrupted by commits, and the most statements that one of them is expected to need. */
const CUT_QUESTIONS = 80;
const EVENTS_PER_QUESTION_MAX = 40;

const { seed, scale } = readSettings("live");
let folder: ReturnType<typeof makeFolder>;
let bench: Bench;
let opened: OpenedLedger;
let clock: ManualClock;
beforeEach(async () => {
  folder = makeFolder();
  bench = await startBench();
  clock = createManualClock(0);
  const { log } = createTestLog();
  opened = await openLedger({ dataDir: folder.path, clock, log, sync: "interval", retentionDays: null });
});
afterEach(async () => {
  await opened.close();
  await bench.stop();
  folder.remove();
});

interface Asked {
  readonly question: Question;
  /** Who asked: one after the other. */
  readonly asker: number;
  /** Events that had ended when it was asked, and those that had or were about to when it was answered. */
  readonly endedBefore: number;
  readonly endedAfter: number;
  /** What had been committed for certain when it was asked. */
  readonly committedBefore: number;
  readonly tookMs: number;
  readonly answer: Answer;
}

test(
  "while events are being written, every answer is that of one moment: all of the first so many events, none that had ended left out, and never fewer than the same asker saw before",
  async () => {
    const [sceneUs = 0] = fc.sample(fc.constantFrom(...SCENES_US), { numRuns: 1, seed });
    const asked = arbitraryQuestion(bench.cast, sceneUs);
    const questions = fc.sample(asked, { numRuns: QUESTIONS * scale, seed });
    const event = arbitraryEvent(bench.cast, sceneUs);
    const numRuns = EVENTS_AHEAD + EVENTS_PER_ANSWER * questions.length;
    const events = fc.sample(event, { numRuns, seed });
    const nowUs = sceneUs + 100 * DAY_US;
    bench.pointAt(opened.stats, nowUs);

    const written = await writeWhileAsking(events, questions, sceneUs);
    const oracle = createOracle({ events, nowUs, ...bench.names });
    expectMoments(oracle, written);
    // Were nothing written in between, nothing would have been tried.
    expect(written.filter((one) => one.endedAfter > one.endedBefore).length).toBeGreaterThan(QUESTIONS / 4);
    await opened.close();
    checkLedger(folder.path, { eventCount: events.length, isAtRest: true });
  },
  TEST_MS_MAX,
);

test(
  "a commit between any two statements of a report shows in all of it or in nothing of it",
  async () => {
    const [sceneUs = 0] = fc.sample(fc.constantFrom(...SCENES_US), { numRuns: 1, seed });
    const questions = fc.sample(arbitraryQuestion(bench.cast, sceneUs), {
      numRuns: CUT_QUESTIONS * scale,
      seed,
    });
    const numRuns = EVENTS_AHEAD + EVENTS_PER_QUESTION_MAX * questions.length;
    const events = fc.sample(arbitraryEvent(bench.cast, sceneUs), { numRuns, seed });
    const nowUs = sceneUs + 100 * DAY_US;
    const oracle = createOracle({ events, nowUs, ...bench.names });

    const ledger = makeLedger();
    let written = EVENTS_AHEAD;
    let sealed = 0;
    ledger.write(events.slice(0, written));
    const interrupt = () => {
      ledger.write(events.slice(written, written + 1));
      written = Math.min(written + 1, events.length);
      // Sealing moves what is being read from one table to another.
      if (written % 50 === 0) ledger.sealBefore(sceneUs + (sealed += 1) * DAY_US);
    };
    bench.pointAt(interruptReads(ledger.database, interrupt), nowUs);
    for (const question of questions) {
      const endedBefore = written;
      const { answer } = await bench.ask(question);
      const moments = Array.from(
        { length: written - endedBefore + 1 },
        (_none, index) => endedBefore + index,
      );
      const isOneMoment = moments.some((count) => Bun.deepEquals(answer, oracle(question, count)));
      if (!isOneMoment) expect({ question, answer }).toEqual({ question, answer: oracle(question, written) });
    }
    expect(written).toBeGreaterThan(EVENTS_AHEAD + CUT_QUESTIONS);
    ledger.close();
  },
  TEST_MS_MAX,
);

/** Events end in their order, while questions are asked and days are sealed. */
async function writeWhileAsking(
  events: readonly UsageEvent[],
  questions: readonly Question[],
  sceneUs: number,
): Promise<readonly Asked[]> {
  const answered: Asked[] = [];
  const open: { readonly usage: OpenUsage; readonly event: UsageEvent }[] = [];
  let [next, ended, ending] = [0, 0, 0];
  let onAnswer = Promise.withResolvers<void>();

  const ask = async (_: unknown, asker: number) => {
    for (let question = questions[next++]; question !== undefined; question = questions[next++]) {
      const [endedBefore, committedBefore] = [ended, opened.gauges().writerEvents];
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
      open.push({ usage: opened.ledger.open(event), event });
      if (open.length > OPEN_MAX) await endOldest();
      if (index % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    while (open.length > 0) await endOldest();
  };
  const seal = async () => {
    for (const days of [3, 9, 34, 40]) {
      clock.now = sceneUs + days * DAY_US;
      await opened.maintain();
      await onAnswer.promise;
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
    seenBy.set(asker, count);
  }
}
