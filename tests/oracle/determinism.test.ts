import { afterEach, beforeEach, expect, test } from "bun:test";
import * as fc from "fast-check";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  openForReading,
  openForWriting,
  prepareUsageDatabase,
} from "#storage/sqlite/ledger/file/database.ts";
import { createChance, type Chance } from "../support/chance.ts";
import { makeFolder } from "../support/folder.ts";
import { checkLedger } from "../support/invariants.ts";
import { readNumber } from "../support/scale.ts";
import type { Bench } from "./bench.ts";
import { startBench } from "./bench.ts";
import { DAY_US, SCENES_US } from "./events.ts";
import { createOracle } from "./oracle.ts";
import { arbitraryQuestion } from "./questions.ts";
import { readSettings } from "./settings.ts";
import type { Traffic } from "./traffic.ts";
import { createTraffic, toShuffled, TRAFFIC_DAYS, writeJournal } from "./traffic.ts";
import { openSqliteWriter } from "../support/sqlite-writer.ts";

const TEST_MS_MAX = 1_800_000;
const { seed, scale } = readSettings("determinism");
/** With a million the proof takes minutes. */
const EVENTS = readNumber("LOCKPORT_EVENTS") ?? 4_000 * scale;
/** The most events that the oracle, which looks at each for every question, is asked about. */
const ORACLE_EVENTS_MAX = 50_000;
const ORACLE_QUESTIONS = 10;
const QUESTIONS = 40;
const KILLS = 3;

let folder: ReturnType<typeof makeFolder>;
let bench: Bench;
beforeEach(async () => {
  folder = makeFolder();
  bench = await startBench();
});
afterEach(async () => {
  await bench.stop();
  folder.remove();
});

function prepare(name: string): string {
  const directory = join(folder.path, name);
  mkdirSync(join(directory, "journal"), { recursive: true });
  prepareUsageDatabase(join(directory, "usage.db"));
  return directory;
}

/** In the order of arrival, in one go, in large batches, sealed at the end. */
function writeInOrder(traffic: Traffic, sealBeforeDay: number): string {
  const directory = prepare("in-order");
  writeJournal(join(directory, "journal"), traffic, { toIndex: (index) => index, short: false });
  const writer = openSqliteWriter({
    database: openForWriting(join(directory, "usage.db")),
    journalDirectory: join(directory, "journal"),
    onDamage: () => {
      throw new Error("a line of the journal was skipped");
    },
  });
  while (writer.writeBatch());
  while (writer.seal(sealBeforeDay));
  writer.close();
  return directory;
}

interface Killing {
  readonly chance: Chance;
  readonly firstDay: number;
  readonly endDay: number;
}

/** Shuffled, in small batches, sealed on the way, by processes that are killed until one comes to the end. */
async function writeShuffled(traffic: Traffic, { chance, firstDay, endDay }: Killing): Promise<string> {
  const directory = prepare("shuffled");
  writeJournal(join(directory, "journal"), traffic, { toIndex: toShuffled(traffic.count), short: true });
  const batchBytes = Math.max(8_000, Math.round(traffic.count * 1.5));
  const args = [directory, batchBytes, 3, firstDay, endDay].map(String);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const child = Bun.spawn({
      cmd: [process.execPath, join(import.meta.dir, "child.ts"), ...args],
      stdout: "pipe",
      stderr: "inherit",
    });
    const target = 1 + chance.below(20);
    let lines = 0;
    for await (const chunk of child.stdout) {
      lines += Buffer.from(chunk).toString().split("\n").length - 1;
      if (lines >= target) child.kill("SIGKILL");
    }
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
    expect(countEvents(directory)).toBeLessThan(traffic.count);
  }
  const last = Bun.spawn({
    cmd: [process.execPath, join(import.meta.dir, "child.ts"), ...args],
    stdout: "ignore",
    stderr: "inherit",
  });
  expect(await last.exited).toBe(0);
  return directory;
}

function countEvents(directory: string): number {
  const database = openForReading(join(directory, "usage.db"));
  const row = database.query<{ events: number }, []>("SELECT count(*) AS events FROM event").get();
  database.close();
  return row?.events ?? 0;
}

test(
  "the same events in another order, in other batches, sealed at other times and with kills in between give the same bytes in every report",
  async () => {
    const chance = createChance(seed);
    const sceneUs = chance.pick(SCENES_US);
    const traffic = createTraffic(bench.cast, { count: EVENTS, sceneUs, seed });
    const firstDay = sceneUs / DAY_US;
    const ledgers = [
      writeInOrder(traffic, firstDay + 20),
      await writeShuffled(traffic, { chance, firstDay, endDay: firstDay + 45 }),
    ];
    const questions = fc.sample(arbitraryQuestion(bench.cast, sceneUs), { numRuns: QUESTIONS, seed });
    const nowUs = sceneUs + TRAFFIC_DAYS * DAY_US;

    const answers: string[][] = [];
    for (const ledger of ledgers) {
      const database = openForReading(join(ledger, "usage.db"));
      bench.pointAt(database, nowUs);
      const texts: string[] = [];
      for (const question of questions) texts.push((await bench.ask(question)).text);
      answers.push(texts);
      database.close();
      if (traffic.count <= ORACLE_EVENTS_MAX) checkLedger(ledger, { eventCount: traffic.count });
    }
    const [inOrder = [], shuffled = []] = answers;
    const differing = questions.flatMap(({ path }, index) =>
      inOrder[index] === shuffled[index]
        ? []
        : [{ path, inOrder: inOrder[index], shuffled: shuffled[index] }],
    );
    expect(differing).toEqual([]);

    if (traffic.count > ORACLE_EVENTS_MAX) return;
    const events = Array.from({ length: traffic.count }, (_, index) => traffic.at(index));
    const answer = createOracle({ events, nowUs, ...bench.names });
    for (const [index, question] of questions.slice(0, ORACLE_QUESTIONS).entries()) {
      const expected = answer(question);
      if (expected.status === 200) expect(JSON.parse(inOrder[index]!)).toEqual(expected.body);
    }
  },
  TEST_MS_MAX,
);
