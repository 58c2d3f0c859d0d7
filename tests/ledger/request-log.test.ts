import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database } from "bun:sqlite";
import type { StatsQuery } from "#stats/store.ts";
import { PENDING_USAGE } from "#usage/event.ts";
import { readFacets } from "#storage/reports/facets.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { listRequests } from "#storage/reports/request-log.ts";
import { CONTEXT } from "./reports.ts";
import type { RandomUsage, WriteOptions } from "./usage.ts";
import { DAY_US, ENDING, EVERYTHING, isPending, NEW_YEAR_US, SUBJECT, writeUsages } from "./usage.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-request-log-"));
afterAll(() => rmSync(folder, { recursive: true }));

let counter = 0;

function write(usages: readonly RandomUsage[], options: WriteOptions = {}) {
  counter += 1;
  return writeUsages(join(folder, String(counter)), usages, options);
}

/** A ledger of one event, whose hour says that it has so many. */
function copyWithHour(requests: number): Database {
  const { reader, writer, databasePath } = write([{ subject: SUBJECT, ending: ENDING }]);
  reader.close();
  writer.close();
  const database = new Database(databasePath);
  database.run("UPDATE hour_total SET requests = ?", [requests]);
  return database;
}

const OPEN_ROWS = {
  isUnpriced: false,
  minCostPico: null,
  maxCostPico: null,
  minDurationUs: null,
  maxDurationUs: null,
};

const NO_ROWS = { rows: [], total: 0, snapped: null, truncated: false };

describe("the request log", () => {
  test("is a page of all in each order: what has no cost last, and of equals the newest first", () => {
    const usages = [5, null, 7, 7, 1].map((cost, index): RandomUsage => ({
      subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index * DAY_US },
      ending: { ...ENDING, costPico: cost === null ? null : BigInt(cost), durationUs: 10 - (index % 4) },
    }));
    const { reader, writer } = write(usages, { sealBeforeUs: NEW_YEAR_US + 3 * DAY_US });
    const orders = {
      newest: [4, 3, 2, 1, 0],
      oldest: [0, 1, 2, 3, 4],
      cost: [3, 2, 0, 4, 1],
      duration: [4, 0, 1, 2, 3],
    } as const;
    for (const order of ["newest", "oldest", "cost", "duration"] as const)
      for (const offset of [0, 1, 3, 5]) {
        const { rows, total } = readFrom(reader, listRequests(EVERYTHING, { limit: 2, offset, order }));
        const days = rows.map(({ arrivedAtUs }) => (arrivedAtUs - NEW_YEAR_US) / DAY_US);
        const expected = orders[order].slice(offset, offset + 2);
        expect({ order, offset, total, days }).toEqual({ order, offset, total: 5, days: expected });
      }
    reader.close();
    writer.close();
  });

  test("of an empty ledger is an empty page with total 0", () => {
    const { reader, writer } = write([]);
    expect(readFrom(reader, listRequests(EVERYTHING, { limit: 10, offset: 0 }))).toEqual(NO_ROWS);
    reader.close();
    writer.close();
  });

  test("by size or under a filter on single requests is refused as range_too_large before it looks at too many rows, and only then", () => {
    const database = copyWithHour(25_000_001);
    const page = { limit: 1, offset: 0 };
    const rows = { ...EVERYTHING.filter, rows: { ...OPEN_ROWS, minDurationUs: 1 } };
    const refused = [
      () => readFrom(database, listRequests({ ...EVERYTHING, filter: rows }, page)),
      () => readFrom(database, listRequests(EVERYTHING, { ...page, order: "cost" })),
      () => readFrom(database, listRequests(EVERYTHING, { ...page, order: "duration" })),
      () => readFrom(database, readFacets({ ...EVERYTHING, filter: rows, context: CONTEXT })),
    ];
    for (const ask of refused) {
      expect(ask).toThrow(expect.objectContaining({ code: "range_too_large", param: "since" }));
      expect(database.inTransaction).toBe(false);
    }
    const { total } = readFrom(database, listRequests(EVERYTHING, { ...page, order: "oldest" }));
    expect(total).toBe(25_000_001);
    const elsewhere = { sinceUs: SUBJECT.arrivedAtUs + 3_600_000_000, untilUs: null };
    expect(
      readFrom(database, listRequests({ ...EVERYTHING, window: elsewhere, filter: rows }, page)),
    ).toEqual(NO_ROWS);
    database.close();
  });

  test("a filter value full of SQL is only a value", () => {
    const { reader, writer } = write([{ subject: SUBJECT, ending: ENDING }]);
    const nasty = "x' OR 1=1; DROP TABLE event; --";
    const asked: StatsQuery = {
      ...EVERYTHING,
      filter: {
        ...EVERYTHING.filter,
        principals: [nasty],
        clientPrefixes: [nasty],
        tags: [nasty],
        errorKinds: [nasty],
      },
      providers: { include: [nasty, '"]'], exclude: [nasty] },
    };
    expect(readFrom(reader, listRequests(asked, { limit: 10, offset: 0 }))).toEqual(NO_ROWS);
    expect(readFrom(reader, listRequests(EVERYTHING, { limit: 10, offset: 0 })).total).toBe(1);
    reader.close();
    writer.close();
  });
});

test("a clock that was ahead and made retention run early leaves a log whose total is the number of its rows", () => {
  const days = Array.from({ length: 60 }, (_, day): RandomUsage => ({
    subject: { ...SUBJECT, model: `m${day % 3}`, arrivedAtUs: NEW_YEAR_US + day * DAY_US },
    ending: day % 20 === 7 ? { ...ENDING, usage: PENDING_USAGE, costPico: null } : ENDING,
  }));
  const [before, after] = [days.filter((_, day) => day % 2 === 0), days.filter((_, day) => day % 2 === 1)];
  const aheadUs = NEW_YEAR_US + 31 * DAY_US;
  const { reader, writer, append } = write(before, {
    sealBeforeUs: NEW_YEAR_US + 32 * DAY_US,
    pruneBeforeUs: aheadUs,
  });
  // The clock is set back, and what comes from now on is kept.
  const presentUs = NEW_YEAR_US + 10 * DAY_US;
  writer.boundRetention({ nowUs: presentUs, ageUsMax: null });
  append(after);
  const isLeft = (fromUs: number) => (usage: RandomUsage) =>
    usage.subject.arrivedAtUs >= fromUs || isPending(usage.ending);
  const left = [...before.filter(isLeft(aheadUs)), ...after.filter(isLeft(presentUs))];
  for (const models of [null, ["m0"], ["m1", "m2"]])
    for (const sinceUs of [null, NEW_YEAR_US + 5 * DAY_US, aheadUs + 1]) {
      const filter = { ...EVERYTHING.filter, models };
      const asked = { ...EVERYTHING, filter, window: { sinceUs, untilUs: null } };
      const { rows, total } = readFrom(reader, listRequests(asked, { limit: 500, offset: 0 }));
      const found = left.filter(
        ({ subject }) =>
          subject.arrivedAtUs >= (sinceUs ?? 0) && (models?.includes(subject.model ?? "") ?? true),
      );
      expect({ models, sinceUs, total, rows: rows.length }).toEqual({
        models,
        sinceUs,
        total: found.length,
        rows: found.length,
      });
      const page = { limit: 1, offset: total - 1 };
      expect(readFrom(reader, listRequests(asked, page)).rows).toEqual(rows.slice(-1));
      // The same rows where nobody wants the total.
      const untold = { limit: 500, offset: 0, isTotalWanted: false };
      expect(readFrom(reader, listRequests(asked, untold))).toEqual({ ...NO_ROWS, rows });
    }
  reader.close();
  writer.close();
});
