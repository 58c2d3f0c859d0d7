import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { dirname, join } from "node:path";
import type { StatsStore } from "#stats/store.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import { takeInstallation } from "#storage/postgres/move/target.ts";
import { readFrom } from "#storage/postgres/connection/drive.ts";
import { toScript } from "#storage/reports/reports.ts";
import { openCatalogDatabase } from "#storage/sqlite/catalog/catalog-database.ts";
import { openInstallationSource } from "#storage/sqlite/move/source.ts";
import { createStats } from "#storage/threads/stats.ts";
import type { UsageEvent } from "#usage/event.ts";
import { createDatabase } from "../storage/postgres/support.ts";
import { createFakeClock, silentLog, toSecrets } from "../storage/support.ts";
import { createChance } from "../support/chance.ts";
import { copyLedger } from "../support/laned-ledger.ts";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { readNumber } from "../support/scale.ts";
import { type Bench, startBench } from "./bench.ts";
import { arbitraryEvent, DAY_US, DAYS, SCENES_US } from "./events.ts";
import { arbitrarySealing, type TestLedger, writeLedger } from "./ledger.ts";
import type { Question } from "./oracle.ts";
import { arbitraryQuestion } from "./questions.ts";
import { readSettings } from "./settings.ts";

const TEST_MS_MAX = 3_600_000;
const LEDGERS = 3;
const QUESTIONS = 40;
const MOVED_SCENE_US = Date.parse("2026-01-29") * 1000;
const MOVED_EVENTS = readNumber("LOCKPORT_MOVED_EVENTS") ?? 1_000;
/** So many differ; others repeat them some microseconds later. */
const EVENTS_DIFFERENT_MAX = 5_000;

const { seed, scale } = readSettings("oracle on PostgreSQL");
let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.stop());

/** Asks both ledgers. Returns how many questions were not refused: refusals alone would be alike on any two ledgers. */
async function expectAlike(
  questions: readonly Question[],
  {
    ledger,
    postgres,
    nowUs,
  }: { readonly ledger: TestLedger; readonly postgres: Postgres; readonly nowUs: number },
): Promise<number> {
  const stats: StatsStore = createStats((name, asked) => readFrom(postgres, toScript(name, asked)), null);
  let answered = 0;
  for (const question of questions) {
    bench.pointAt(ledger.database, nowUs);
    const expected = await bench.ask(question);
    bench.pointAt(stats, nowUs);
    const given = await bench.ask(question);
    const { path } = question;
    expect({ path, counted: given.counted, text: withoutLanes(given.text) }).toEqual({
      path,
      counted: expected.counted,
      text: withoutLanes(expected.text),
    });
    if (expected.answer.status === 200) answered += 1;
  }
  return answered;
}

/** An event's id ends with its lane. */
function withoutLanes(text: string): string {
  return text.replaceAll(/("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-)[0-9a-f]{12}"/g, '$1"');
}

describe.skipIf(postgresMissing !== null)(
  "every report on PostgreSQL is byte for byte that on SQLite",
  () => {
    test(
      "of three lanes, sealed or not, also where rows were removed",
      async () => {
        await using database = await createDatabase();
        const scene = fc.constantFrom(...SCENES_US).chain((sceneUs) =>
          fc.record({
            events: fc.array(arbitraryEvent(bench.cast, sceneUs), { minLength: 5, maxLength: 60 }),
            questions: fc.array(arbitraryQuestion(bench.cast, sceneUs), {
              minLength: QUESTIONS,
              maxLength: QUESTIONS,
            }),
            sealing: arbitrarySealing(sceneUs),
            pruneBeforeUs: fc.constantFrom(0, ...DAYS).map((day) => sceneUs + (day + 1 / 8) * DAY_US),
            laterUs: fc.constantFrom(0, DAY_US, 40 * DAY_US),
          }),
        );
        await fc.assert(
          fc.asyncProperty(scene, async ({ events, questions, laterUs, ...writing }) => {
            const ledger = writeLedger(events, writing);
            try {
              await copyLedger(ledger.database, database.postgres, createChance(seed));
              const lastUs = Math.max(...events.map(({ arrivedAtUs }) => arrivedAtUs));
              const nowUs = lastUs + events.length + laterUs;
              await expectAlike(questions, { ledger, postgres: database.postgres, nowUs });
            } finally {
              ledger.close();
            }
          }),
          { numRuns: LEDGERS * scale, seed, endOnFailure: true },
        );
      },
      TEST_MS_MAX,
    );

    test(
      "once an installation has moved",
      async () => {
        const sealing = [
          { beforeUs: MOVED_SCENE_US + 3 * DAY_US, afterShare: 0.8 },
          { beforeUs: MOVED_SCENE_US + 34 * DAY_US, afterShare: 1 },
        ];
        const ledger = writeLedger(makeMovedEvents(), { sealing });
        const dataDir = dirname(ledger.database.filename);
        const path = join(dataDir, "catalog.db");
        const clock = createFakeClock();
        await (await openCatalogDatabase({ path, secrets: toSecrets(), clock, log: silentLog })).close();
        await using place = (await sharedPostgres()).schema();
        const target = { kind: "postgres", graceMs: 0, ...place } as const;
        const source = openInstallationSource({ dataDir, database: { kind: "sqlite", path } });
        const progress = { step: () => undefined, signal: new AbortController().signal };
        const moved = await takeInstallation(source, { target, log: silentLog, progress });
        source.close();
        expect(moved.get("event")).toBe(MOVED_EVENTS);

        const options = { target, purpose: "test", connectionsMax: 1, callMsMax: 60_000, log: silentLog };
        await using postgres = await openPostgres(options);
        const numRuns = QUESTIONS * scale;
        const questions = fc.sample(arbitraryQuestion(bench.cast, MOVED_SCENE_US), { numRuns, seed });
        const nowUs = MOVED_SCENE_US + 65 * DAY_US;
        expect(await expectAlike(questions, { ledger, postgres, nowUs })).toBeGreaterThan(numRuns / 2);
        ledger.close();
      },
      TEST_MS_MAX,
    );
  },
);

function makeMovedEvents(): readonly UsageEvent[] {
  const numRuns = Math.min(MOVED_EVENTS, EVENTS_DIFFERENT_MAX);
  const sample = fc.sample(arbitraryEvent(bench.cast, MOVED_SCENE_US), { numRuns, seed });
  return Array.from({ length: MOVED_EVENTS }, (_, index) => {
    const event = sample[index % sample.length]!;
    return { ...event, arrivedAtUs: event.arrivedAtUs + Math.floor(index / sample.length) * 1_003 };
  });
}
