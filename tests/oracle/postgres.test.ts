import { afterAll, beforeAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { StatsStore } from "#stats/store.ts";
import { toScript } from "#storage/reports/reports.ts";
import { createStats } from "#storage/threads/stats.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { readFrom } from "#storage/postgres/report-connection.ts";
import { createDatabase, type TestDatabase } from "../storage/postgres/support.ts";
import { createChance } from "../support/chance.ts";
import { postgresMissing } from "../support/postgres.ts";
import { copyLedger } from "../support/laned-ledger.ts";
import { type Bench, startBench } from "./bench.ts";
import { arbitraryEvent, DAY_US, DAYS, SCENES_US } from "./events.ts";
import { writeLedger } from "./ledger.ts";
import { arbitraryQuestion } from "./questions.ts";
import { readSettings } from "./settings.ts";

const TEST_MS_MAX = 300_000;
const LEDGERS = 3;
const QUESTIONS_PER_LEDGER = 40;
const HOUR_US = DAY_US / 24;

const { seed, scale } = readSettings("oracle on PostgreSQL");
let bench: Bench;
let database: TestDatabase;
beforeAll(async () => {
  if (postgresMissing !== null) return;
  [bench, database] = await Promise.all([startBench(), createDatabase()]);
}, TEST_MS_MAX);
afterAll(async () => {
  await bench?.stop();
  await database?.[Symbol.asyncDispose]();
});

test.skipIf(postgresMissing !== null)(
  "every report on PostgreSQL, of three lanes, is byte for byte that of the same ledger on SQLite, sealed or not, also where rows were removed",
  async () => {
    const scene = fc.constantFrom(...SCENES_US).chain((sceneUs) =>
      fc.record({
        events: fc.array(arbitraryEvent(bench.cast, sceneUs), { minLength: 5, maxLength: 60 }),
        questions: fc.array(arbitraryQuestion(bench.cast, sceneUs), {
          minLength: QUESTIONS_PER_LEDGER,
          maxLength: QUESTIONS_PER_LEDGER,
        }),
        sealing: fc.array(
          fc.record({
            beforeUs: fc.constantFrom(...DAYS).map((day) => sceneUs + (day + 1) * DAY_US),
            afterShare: fc.constantFrom(0.3, 0.8, 1),
          }),
          { maxLength: 3 },
        ),
        pruneBeforeUs: fc.constantFrom(0, ...DAYS).map((day) => sceneUs + day * DAY_US + 3 * HOUR_US),
        laterUs: fc.constantFrom(0, DAY_US, 40 * DAY_US),
      }),
    );
    await fc.assert(
      fc.asyncProperty(scene, async ({ events, questions, laterUs, ...writing }) => {
        const ledger = writeLedger(events, writing);
        const stats = toStats(database.postgres);
        try {
          await copyLedger(ledger.database, database.postgres, createChance(seed));
          const nowUs = Math.max(...events.map(({ arrivedAtUs }) => arrivedAtUs)) + events.length + laterUs;
          for (const question of questions) {
            bench.pointAt(ledger.database, nowUs);
            const expected = await bench.ask(question);
            bench.pointAt(stats, nowUs);
            const given = await bench.ask(question);
            expect({ ...given, text: withoutLanes(given.text), path: question.path }).toEqual({
              ...expected,
              answer: given.answer,
              text: withoutLanes(expected.text),
              path: question.path,
            });
          }
        } finally {
          ledger.close();
        }
      }),
      { numRuns: LEDGERS * scale, seed, endOnFailure: true },
    );
  },
  TEST_MS_MAX,
);

function toStats(postgres: Postgres): StatsStore {
  return createStats((name, question) => readFrom(postgres, toScript(name, question)), null);
}

/** An event's id ends with its lane. */
function withoutLanes(text: string): string {
  return text.replaceAll(/("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-)[0-9a-f]{12}"/g, '$1"');
}
