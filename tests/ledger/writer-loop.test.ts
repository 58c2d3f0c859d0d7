import { afterAll, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { segmentPath } from "#storage/journal/segments.ts";
import {
  beginServerRun,
  openForReading,
  openForWriting,
  prepareUsageDatabase,
} from "#storage/sqlite/ledger/file/database.ts";
import { SqliteWriter } from "#storage/sqlite/ledger/sqlite-writer.ts";
import { WriterLoop } from "#storage/writer/writer-loop.ts";
import { WATERMARKS_MAX } from "#storage/threads/writer-tasks.ts";
import { encodeJournalLine } from "#usage/journal-line.ts";
import { LIMIT } from "../limits/limit.ts";
import { makeFolder } from "../support/folder.ts";
import { toLines } from "./contract-writer.ts";
import { createTestLog, DAY_US, ENDING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

const DAYS = 5;

const folder = makeFolder();
afterAll(() => folder.remove());

/** The loop of a writer whose maintenance has a step for each of some days. */
async function openLoop(name: string) {
  const directory = join(folder.path, name);
  const journalDirectory = join(directory, "journal");
  mkdirSync(journalDirectory, { recursive: true });
  const path = join(directory, "usage.db");
  prepareUsageDatabase(path);
  const { number: serverRun } = beginServerRun(path, "lock");
  const events = Array.from({ length: DAYS }, (_, day) => ({
    subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + day * DAY_US },
    ending: ENDING,
  }));
  appendFileSync(segmentPath(journalDirectory, 1), Buffer.concat(toLines(events)));
  const { log, lines } = createTestLog();
  const loop = new WriterLoop({
    start: { journalDirectory, serverRun, firstSegment: 1, earlierLiveMs: 0 },
    channel: { log, tell: () => {} },
    open: () => new SqliteWriter({ database: openForWriting(path), serverRun }),
  });
  await loop.tasks.flush();
  return {
    tasks: loop.tasks,
    serverRun,
    append: (line: string) => appendFileSync(segmentPath(journalDirectory, 1), line),
    path,
    lines,
    maintain: () => loop.tasks.maintain({ nowUs: NEW_YEAR_US + 30 * DAY_US, ageUsMax: null }),
    sealedDays() {
      const database = openForReading(path);
      const rows = database.query("SELECT at FROM cells WHERE period = 1").all();
      database.close();
      return rows.length;
    },
    [Symbol.asyncDispose]: () => loop.close(),
  };
}

test("a maintenance pass holds up neither a flush nor the uses of keys until its last step", async () => {
  await using loop = await openLoop("turns");
  const done: string[] = [];
  const maintained = loop.maintain().then(() => done.push("maintained"));
  await Promise.all([
    loop.tasks.flush().then(() => done.push("flushed")),
    loop.tasks.saveKeyUse([["key", 1]]).then(() => done.push("saved")),
  ]);
  await maintained;
  expect(done).toEqual(["flushed", "saved", "maintained"]);
  expect(loop.sealedDays()).toBe(DAYS);
});

test("a maintenance pass goes on with the file that was restored beneath it", async () => {
  await using loop = await openLoop("restored");
  const maintained = loop.maintain();
  rmSync(loop.path);
  await loop.tasks.restoreFile();
  await maintained;
  expect(loop.sealedDays()).toBe(DAYS);
  expect(loop.lines).toEqual([]);
});

test("sums that cannot be read are refused, and hold up no batch behind their watermark", async () => {
  await using loop = await openLoop("sums");
  const database = openForWriting(loop.path);
  database.run("ALTER TABLE cells RENAME TO away");
  const watermark = loop.serverRun * WATERMARKS_MAX + 1;
  loop.append(encodeJournalLine({ kind: "watermark", number: watermark }));
  const sums = loop.tasks.sumLimits({
    watermark,
    question: { limits: [{ ...LIMIT, window: "month" }], nowUs: NEW_YEAR_US + DAY_US },
  });
  await loop.tasks.flush();
  expect(await sums.then(() => "summed", String)).toContain("cells");
  database.run("ALTER TABLE away RENAME TO cells");
  database.close();
  expect(loop.lines).toEqual([]);
});
