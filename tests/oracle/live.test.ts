import { afterEach, beforeEach, expect, test } from "bun:test";
import * as fc from "fast-check";
import { startBench, type Bench } from "./bench.ts";
import { arbitraryEvent, DAY_US, SCENES_US } from "./events.ts";
import { interruptReads, makeLedger } from "./ledger.ts";
import { createOracle } from "./oracle.ts";
import { arbitraryQuestion } from "./questions.ts";
import { readSettings } from "./settings.ts";

const TEST_MS_MAX = 300_000;
const EVENTS_AHEAD = 200;
/** Questions that are interrupted by commits, and the most statements that one of them is expected to need. */
const CUT_QUESTIONS = 30;
const EVENTS_PER_QUESTION_MAX = 40;

const { seed, scale } = readSettings("interrupted");
let bench: Bench;
beforeEach(async () => {
  bench = await startBench();
});
afterEach(() => bench.stop());

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
