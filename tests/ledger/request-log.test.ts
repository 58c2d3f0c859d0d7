import { afterAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database } from "bun:sqlite";
import type { StatsQuery } from "#stats/store.ts";
import { readFacets } from "#storage/reports/facets.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { listRequests } from "#storage/reports/request-log.ts";
import { scale } from "../support/scale.ts";
import { CONTEXT } from "./reports.ts";
import type { RandomUsage, WriteOptions } from "./usage.ts";
import {
  arbitraryQuery,
  arbitraryUsage,
  DAY_US,
  ENDING,
  EVERYTHING,
  isPending,
  matchesFilter,
  NEW_YEAR_US,
  SUBJECT,
  writeUsages,
} from "./usage.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-request-log-"));
afterAll(() => rmSync(folder, { recursive: true }));

let counter = 0;

function write(usages: readonly RandomUsage[], options: WriteOptions = {}) {
  counter += 1;
  return writeUsages(join(folder, String(counter)), usages, options);
}

const instant = fc
  .tuple(
    fc.constantFrom(-1, 0, 1, 3, 30, 31, 32, 59, 61, 101, 200),
    fc.constantFrom(0, 1, 3_600_000_000, 43_200_000_000, 43_200_000_001, DAY_US - 1),
  )
  .map(([days, micros]) => NEW_YEAR_US + days * DAY_US + micros);

/** A ledger of one event, whose hour says that it has so many. */
function copyWithHour(requests: number): Database {
  const { reader, writer, databasePath } = write([{ subject: SUBJECT, ending: ENDING }]);
  reader.close();
  writer.close();
  const database = new Database(databasePath);
  database.run("UPDATE hour_total SET requests = ?", [requests]);
  return database;
}

function matches(asked: StatsQuery, usage: RandomUsage): boolean {
  const { sinceUs, untilUs } = asked.window;
  const { arrivedAtUs } = usage.subject;
  return (
    (sinceUs === null || arrivedAtUs >= sinceUs) &&
    (untilUs === null || arrivedAtUs < untilUs) &&
    matchesFilter(asked, usage)
  );
}

const OPEN_ROWS = {
  isUnpriced: false,
  minCostPico: null,
  maxCostPico: null,
  minDurationUs: null,
  maxDurationUs: null,
};

const NO_ROWS = { rows: [], total: 0, snapped: null, truncated: false };

/** One event per microsecond, so that which is newer is beyond question. */
const usages = fc.uniqueArray(arbitraryUsage, {
  minLength: 0,
  maxLength: 60,
  selector: ({ subject }) => subject.arrivedAtUs,
});

describe("the request log", () => {
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

describe("a clock that was ahead and made retention run early", () => {
  test("leaves a log whose total is the number of its rows, for every filter, window and page", () => {
    fc.assert(
      fc.property(
        usages,
        fc.array(arbitraryQuery(instant), { minLength: 12, maxLength: 12 }),
        fc.record({
          sealDays: fc.constantFrom(0, 3, 32, 61, 120),
          aheadDays: fc.constantFrom(3, 31, 60, 300),
          presentDays: fc.constantFrom(0, 1, 30, 59),
        }),
        (events, questions, { sealDays, aheadDays, presentDays }) => {
          const presentUs = NEW_YEAR_US + presentDays * DAY_US + 43_200_000_000;
          const aheadUs = NEW_YEAR_US + aheadDays * DAY_US;
          const [ahead, after] = [
            events.filter((_, index) => index % 2 === 0),
            events.filter((_, index) => index % 2 === 1),
          ];
          const written = write(ahead, {
            sealBeforeUs: NEW_YEAR_US + sealDays * DAY_US,
            pruneBeforeUs: aheadUs,
          });
          // The clock is set back.
          written.writer.boundRetention({ nowUs: presentUs, ageUsMax: null });
          const kept = after.filter(
            ({ subject, ending }) => subject.arrivedAtUs >= Math.min(presentUs, aheadUs) || isPending(ending),
          );
          written.append(after);
          const isLeft = ({ subject, ending }: RandomUsage) =>
            subject.arrivedAtUs >= aheadUs || isPending(ending);
          const left = [...ahead.filter(isLeft), ...kept];
          for (const asked of questions) {
            const { rows, total } = readFrom(written.reader, listRequests(asked, { limit: 500, offset: 0 }));
            const found = left.filter((usage) => matches(asked, usage)).length;
            expect({ asked, total, rows: rows.length }).toEqual({ asked, total: found, rows: found });
            const last = readFrom(
              written.reader,
              listRequests(asked, { limit: 1, offset: Math.max(0, total - 1) }),
            );
            expect(last.rows).toEqual(rows.slice(-1));
            // The same rows where nobody wants the total.
            const page = { limit: 5, offset: 2, isTotalWanted: false };
            expect(readFrom(written.reader, listRequests(asked, page))).toEqual({
              ...NO_ROWS,
              rows: rows.slice(2, 7),
            });
          }
          written.reader.close();
          written.writer.close();
        },
      ),
      { numRuns: 6 * scale },
    );
  }, 30_000);
});
