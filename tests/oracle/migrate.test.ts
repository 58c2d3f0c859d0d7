import { afterAll, beforeAll, expect, test } from "bun:test";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import type { StatsStore } from "#stats/store.ts";
import { toScript } from "#storage/reports/reports.ts";
import { createStats } from "#storage/threads/stats.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import { readFrom } from "#storage/postgres/report-connection.ts";
import { takeInstallation } from "#storage/postgres/move/target.ts";
import { openCatalogDatabase } from "#storage/sqlite/catalog/catalog-database.ts";
import { openInstallationSource } from "#storage/sqlite/move/source.ts";
import type { UsageEvent } from "#usage/event.ts";
import { createFakeClock, silentLog, toSecrets } from "../storage/support.ts";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { readNumber } from "../support/scale.ts";
import { type Bench, startBench } from "./bench.ts";
import { arbitraryEvent, DAY_US } from "./events.ts";
import { writeLedger } from "./ledger.ts";
import { arbitraryQuestion } from "./questions.ts";
import { readSettings } from "./settings.ts";

const TEST_MS_MAX = 3_600_000;
const SCENE_US = Date.parse("2026-01-29") * 1000;
const EVENTS = readNumber("LOCKPORT_MOVED_EVENTS") ?? 1_000;
/** So many differ; others repeat them some microseconds later. */
const EVENTS_DIFFERENT_MAX = 5_000;
const QUESTIONS = 30;

const { seed, scale } = readSettings("reports of an installation that moved");
let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.stop());

test.skipIf(postgresMissing !== null)(
  "every report answers byte for byte the same before and after an installation has moved to PostgreSQL",
  async () => {
    const ledger = writeLedger(makeEvents(), {
      sealing: [
        { beforeUs: SCENE_US + 3 * DAY_US, afterShare: 0.8 },
        { beforeUs: SCENE_US + 34 * DAY_US, afterShare: 1 },
      ],
    });
    const dataDir = dirname(ledger.database.filename);
    const path = join(dataDir, "catalog.db");
    const clock = createFakeClock();
    await (await openCatalogDatabase({ path, secrets: toSecrets(), clock, log: silentLog })).close();
    await using place = (await sharedPostgres()).schema();
    const target = { kind: "postgres", graceMs: 0, ...place } as const;
    const source = openInstallationSource({ dataDir, database: { kind: "sqlite", path } });
    const startedMs = performance.now();
    const progress = { step: () => undefined, signal: new AbortController().signal };
    const moved = await takeInstallation(source, { target, log: silentLog, progress });
    const rows = [...moved.values()].reduce((sum, count) => sum + count, 0);
    console.log(`moved ${rows} rows in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
    source.close();
    expect(moved.get("event")).toBe(EVENTS);

    const options = { target, purpose: "test", connectionsMax: 1, callMsMax: 60_000, log: silentLog };
    const postgres = await openPostgres(options);
    const stats = toStats(postgres);
    const questions = fc.sample(arbitraryQuestion(bench.cast, SCENE_US), {
      numRuns: QUESTIONS * scale,
      seed,
    });
    const nowUs = SCENE_US + 65 * DAY_US;
    let answered = 0;
    for (const question of questions) {
      bench.pointAt(ledger.database, nowUs);
      const before = await bench.ask(question);
      bench.pointAt(stats, nowUs);
      const after = await bench.ask(question);
      expect({ path: question.path, text: after.text, counted: after.counted }).toEqual({
        path: question.path,
        text: before.text,
        counted: before.counted,
      });
      if (before.answer.status === 200) answered += 1;
    }
    // Some questions are refused; a test of refusals alone would hold on any two ledgers.
    expect(answered).toBeGreaterThan(questions.length / 2);
    await postgres.close();
    ledger.close();
  },
  TEST_MS_MAX,
);

function makeEvents(): readonly UsageEvent[] {
  const numRuns = Math.min(EVENTS, EVENTS_DIFFERENT_MAX);
  const sample = fc.sample(arbitraryEvent(bench.cast, SCENE_US), { numRuns, seed });
  return Array.from({ length: EVENTS }, (_, index) => {
    const event = sample[index % sample.length]!;
    return { ...event, arrivedAtUs: event.arrivedAtUs + Math.floor(index / sample.length) * 1_003 };
  });
}

function toStats(postgres: Postgres): StatsStore {
  return createStats((name, question) => readFrom(postgres, toScript(name, question)), null);
}
