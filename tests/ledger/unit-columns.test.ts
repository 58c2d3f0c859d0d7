import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { SILENT_LOG } from "#kernel/log.ts";
import { openLedgerReader } from "#storage/sqlite/ledger/ledger-reader.ts";
import { prepareUsageDatabase } from "#storage/sqlite/ledger/file/database.ts";
import { checkLedger } from "../support/invariants.ts";
import { makeFolder } from "../support/folder.ts";
import { ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT, writeUsages } from "./usage.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

const TOTALS = ["hour_total", "day_total", "sealed_day_total", "month_total", "dimension_total"];
const EVENT_COLUMNS = [
  "input_audio_tokens",
  "input_image_tokens",
  "output_audio_tokens",
  "images",
  "search_units",
  "web_searches",
  "requests",
];
const TOTAL_COLUMNS = ["images", "search_units", "web_searches", "priced_by_request"];

function write(name: string, endings: readonly (typeof ENDING)[]): string {
  const dataDir = join(folder.path, name);
  const { reader, writer } = writeUsages(
    dataDir,
    endings.map((ending, index) => ({ subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index }, ending })),
  );
  reader.close();
  writer.close();
  return dataDir;
}

/** As the version before left it. */
function takeBack(dataDir: string): string {
  const path = join(dataDir, "usage.db");
  const database = new Database(path);
  for (const column of EVENT_COLUMNS) database.run(`ALTER TABLE event DROP COLUMN ${column}`);
  for (const table of TOTALS)
    for (const column of TOTAL_COLUMNS) database.run(`ALTER TABLE ${table} DROP COLUMN ${column}`);
  database.close();
  return path;
}

async function readAll(dataDir: string) {
  const reader = openLedgerReader({ dataDir, log: SILENT_LOG });
  const { rows, rareUnits } = await reader.stats.listRequests(
    EVERYTHING,
    { limit: 100, offset: 0 },
    { areUnitsWanted: true },
  );
  const series = await reader.stats.readSeries({ ...EVERYTHING, bucket: "day", nowUs: NEW_YEAR_US + 5 });
  await reader.close();
  return { rows, rareUnits, series };
}

describe("a ledger from before images, searches and audio tokens had units", () => {
  test("is read as it is, also before a server has opened it", async () => {
    const dataDir = write("read", [ENDING, ENDING]);
    const before = await readAll(dataDir);
    takeBack(dataDir);
    expect(await readAll(dataDir)).toEqual(before);
    expect(before.rareUnits).toEqual([]);
  });

  test("gets the columns with the first server, loses nothing, and keeps what comes then", async () => {
    const dataDir = write("opened", [ENDING, ENDING]);
    const before = await readAll(dataDir);
    const path = takeBack(dataDir);
    for (let start = 0; start < 2; start += 1) prepareUsageDatabase(path);
    expect(await readAll(dataDir)).toEqual(before);
    checkLedger(dataDir);
    const quantities = { images: 3, requests: 1, input_tokens: 100, input_image_tokens: 40 };
    const { reader, writer } = writeUsages(dataDir, [
      {
        subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 10 },
        ending: { ...ENDING, usage: { shape: "inclusive", quantities } },
      },
    ]);
    reader.close();
    writer.close();
    const after = await readAll(dataDir);
    expect(after.rareUnits).toEqual(["input_image_tokens", "images", "requests"]);
    expect(after.rows[0]?.usage).toEqual({ shape: "inclusive", quantities });
    expect(after.series.buckets[0]?.units).toMatchObject({ images: 3, requests: 1 });
    expect(after.series.buckets[0]?.units).not.toHaveProperty("search_units");
  });
});
