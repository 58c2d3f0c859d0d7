import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  inspectUsage,
  openForReading,
  openForWriting,
  prepareUsageDatabase,
} from "#storage/sqlite/ledger/file/database.ts";
import { listMissingColumns, SCHEMA_VERSION, toMissingTables } from "#storage/sqlite/ledger/file/schema.ts";
import { listRequests } from "#storage/reports/request-log.ts";
import { readSeries } from "#storage/reports/series.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { makeDirectory } from "./journal-bench.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import { openSqliteWriter } from "../support/sqlite-writer.ts";
import { drain, toLines } from "./contract-writer.ts";
import { DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT, writeUsages } from "./usage.ts";

const USAGES = [0, 1, 2].map((day) => ({
  subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + day * DAY_US },
  ending: { ...ENDING, ...(day === 1 && { tier: "flex", prices: {}, costPico: null }) },
}));
const SERIES = { ...EVERYTHING, bucket: "day", nowUs: NEW_YEAR_US + 3 * DAY_US } as const;

/** A usage.db as this version of the schema had it, with events of which the first day is sealed. */
function makeFormer(version: number): string {
  const directory = makeDirectory();
  const { databasePath, reader, writer } = writeUsages(directory, USAGES, {
    sealBeforeUs: NEW_YEAR_US + DAY_US,
  });
  reader.close();
  writer.close();
  using database = new Database(databasePath);
  for (const { table, name } of listMissingColumns(version))
    database.run(`ALTER TABLE ${table} DROP COLUMN ${name}`);
  for (const [, table] of toMissingTables(version).matchAll(/CREATE TABLE (\w+)/g))
    database.run(`DROP TABLE ${table}`);
  database.run(`PRAGMA user_version = ${version}`);
  return databasePath;
}

function readAll(path: string) {
  using reader = openForReading(path);
  return {
    log: readFrom(reader, listRequests(EVERYTHING, { limit: 10, offset: 0 })),
    series: readFrom(reader, readSeries(SERIES)),
  };
}

test.each(Array.from({ length: SCHEMA_VERSION - 1 }, (_, index) => index + 1))(
  "a usage.db of version %d keeps every event and sum when it is opened, and takes new ones",
  async (version) => {
    const path = makeFormer(version);
    const before = readAll(path);
    expect(before.log.total).toBe(3);
    expect(before.log.rows.map(({ tier, geo }) => [tier, geo])).toEqual([
      [undefined, undefined],
      ["flex", undefined],
      [undefined, undefined],
    ]);
    // What only reads has changed nothing.
    expect(inspectUsage(path).schema).toBe(version);
    prepareUsageDatabase(path);
    expect(inspectUsage(path).schema).toBe(SCHEMA_VERSION);
    expect(readAll(path)).toEqual(before);
    prepareUsageDatabase(path);
    const journalDirectory = dirname(path);
    const told = { geo: "us", prices: { lacks: "geo" }, costPico: null, costReportedPico: 5n } as const;
    const added = { subject: USAGES[0]!.subject, ending: { ...ENDING, ...told } };
    appendFileSync(segmentPath(journalDirectory, 1), Buffer.concat(toLines([added], 90)));
    const writer = openSqliteWriter({ database: openForWriting(path), journalDirectory, onDamage: () => {} });
    await drain(writer);
    writer.close();
    const after = readAll(path).log.rows;
    expect(after.filter(({ geo }) => geo === undefined)).toEqual([...before.log.rows]);
    expect(after.find(({ geo }) => geo === "us")).toMatchObject({ costReportedPico: 5n, costPico: null });
    const tables = [
      "combination",
      "hour_total",
      "open_cell",
      "carried_total",
      "repricing",
      "repriced_stretch",
    ];
    const made = join(makeDirectory(), "usage.db");
    prepareUsageDatabase(made);
    using fresh = new Database(made);
    using database = new Database(path);
    const listColumns = (of: Database, table: string) =>
      of
        .query<{ name: string; type: string }, []>(`SELECT name, type FROM pragma_table_info('${table}')`)
        .all();
    const byName = (left: { name: string }, right: { name: string }) => (left.name < right.name ? -1 : 1);
    for (const table of tables)
      expect(listColumns(database, table).sort(byName)).toEqual(listColumns(fresh, table).sort(byName));
  },
);
