import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LedgerCheck } from "#storage/engine.ts";
import { CELL_PERIODS, type CellPeriod } from "#storage/cells/stored-cells.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import { sqliteEngine } from "#storage/sqlite/engine.ts";
import { scale } from "../support/scale.ts";
import {
  arbitraryUsage,
  DAY_US,
  ENDING,
  NEW_YEAR_US,
  type RandomUsage,
  SUBJECT,
  writeUsages,
  type WriteOptions,
} from "./usage.ts";
import { createSqliteEngine } from "../storage/engines/sqlite.ts";
import { openBench, recordDays, ROOT, TERMS } from "../storage/repricings.ts";
import { serveLedger } from "../support/ledger.ts";
import { makeDirectory } from "./journal-bench.ts";

/** A data folder without a server. */
function makeLedger(usages: readonly RandomUsage[], options: WriteOptions = {}): string {
  const dataDir = makeDirectory();
  const { reader, writer } = writeUsages(dataDir, usages, options);
  reader.close();
  writer.close();
  mkdirSync(join(dataDir, "journal"));
  renameSync(segmentPath(dataDir, 1), segmentPath(join(dataDir, "journal"), 1));
  return dataDir;
}

function toPlace(dataDir: string) {
  return { dataDir, database: { kind: "sqlite", path: join(dataDir, "catalog.db") } } as const;
}

async function check(dataDir: string): Promise<LedgerCheck> {
  const signal = new AbortController().signal;
  const checked = await sqliteEngine.checkLedger({ ...toPlace(dataDir), onShare: () => {}, signal });
  if (checked === null) throw new Error("there is no ledger");
  return checked;
}

function change(dataDir: string, sql: string): void {
  const database = new Database(join(dataDir, "usage.db"), { readwrite: true });
  expect(database.run(sql).changes).toBeGreaterThan(0);
  database.close();
}

/** Hours of three days of one busy caller; the first two days are sealed, so that each table has rows. */
const THREE_DAYS = Array.from({ length: 90 }, (_, index): RandomUsage => ({
  subject: {
    ...SUBJECT,
    client: `client/${index % 3}`,
    arrivedAtUs: NEW_YEAR_US + index * 2_700_000_000 + index,
  },
  ending: { ...ENDING, durationUs: ENDING.durationUs + index },
}));
const SEALED = { sealBeforeUs: NEW_YEAR_US + 2 * DAY_US };

/** Puts the cells of the last hour or day in the place of all others. */
function toCellsOfLast(period: CellPeriod): string {
  const where = `WHERE period = ${CELL_PERIODS[period]}`;
  return `UPDATE cells SET columns = (SELECT columns FROM cells ${where} ORDER BY at DESC LIMIT 1) ${where}`;
}

describe("lockport ledger check", () => {
  test("finds nothing in a ledger, however it came about: late events, sealed days, removed rows, odd quantities", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(arbitraryUsage, { minLength: 1, maxLength: 30 }),
        fc.array(arbitraryUsage, { maxLength: 5 }),
        fc.constantFrom(0, 1, 31, 59, 101),
        fc.constantFrom(0, 1, 30, 59),
        async (usages, late, sealedDays, prunedDays) => {
          const dataDir = makeLedger(usages, {
            late,
            sealBeforeUs: NEW_YEAR_US + sealedDays * DAY_US,
            pruneBeforeUs: prunedDays === 0 ? 0 : NEW_YEAR_US + prunedDays * DAY_US + 1_800_000_000,
          });
          expect((await check(dataDir)).findings).toEqual([]);
        },
      ),
      { numRuns: 6 * scale },
    );
  }, 30_000);

  test("says how much it looked at", async () => {
    const { events, journal, rowsFromUs, findings } = await check(makeLedger(THREE_DAYS, SEALED));
    expect({ events, journal, rowsFromUs, findings }).toEqual({
      events: 90,
      journal: { checkedEnds: 90, waitingEnds: 0, waitingBytes: 0 },
      rowsFromUs: 0,
      findings: [],
    });
  });

  test.each([
    [
      "an event that is gone",
      "DELETE FROM event WHERE id = (SELECT max(id) FROM event)",
      ["cells of a day", "total by hour", "ends that are no event"],
    ],
    [
      "an event that is there twice",
      "INSERT INTO event (id, combination, manner, duration_us, first_byte_us, cost_hi, cost_lo, input_tokens, output_tokens, cached_input_tokens, other_units) SELECT id + 1, combination, manner, duration_us, first_byte_us, cost_hi, cost_lo, input_tokens, output_tokens, cached_input_tokens, other_units FROM event WHERE id = (SELECT min(id) FROM event)",
      ["cells of a day", "total by hour", "cells of an hour", "ends that are more than one event"],
    ],
    [
      "another cost of an event",
      "UPDATE event SET cost_lo = cost_lo + 1 WHERE id = (SELECT max(id) FROM event)",
      ["cells of a day", "total by hour"],
    ],
    [
      "an event of no known manner",
      "UPDATE event SET manner = 99 WHERE id = (SELECT max(id) FROM event)",
      ["events that name what is not there"],
    ],
    [
      "a total of an hour",
      "UPDATE hour_total SET output_tokens = output_tokens + 1 WHERE hour = (SELECT max(hour) FROM hour_total)",
      ["total by hour", "totals by hour against those by day"],
    ],
    [
      "sums of hours that are not sealed",
      "DELETE FROM open_cell",
      ["cells of an hour", "cells of a day", "totals by hour against those by day"],
    ],
    [
      "a request too many in an hour that is not sealed",
      "UPDATE open_cell SET requests = requests + 1 WHERE hour = (SELECT max(hour) FROM open_cell)",
      ["cells of an hour", "cells of a day", "totals by hour against those by day"],
    ],
    [
      "another last request of an hour that is not sealed",
      "UPDATE open_cell SET last_seen_us = last_seen_us + 1",
      ["cells of an hour", "cells of a day"],
    ],
    ["cells of another hour", toCellsOfLast("hour"), ["cells of an hour"]],
    ["cells of another day", toCellsOfLast("day"), ["cells of a day", "cells of a month"]],
    ["cells of a month that are lost", "DELETE FROM cells WHERE period = 2", ["cells of a month"]],
    [
      "a position behind what is committed",
      "UPDATE ledger_state SET journal_segment = 2, journal_offset = 5",
      ["segments that end where the database goes on"],
    ],
  ])("finds %s", async (_, sql, whats) => {
    const dataDir = makeLedger(THREE_DAYS, SEALED);
    change(dataDir, sql);
    const { findings } = await check(dataDir);
    const found = new Set(findings.map(({ what }) => what));
    for (const what of whats) expect([...found]).toContain(what);
  });

  test("finds a damaged line of the journal, and takes a gap at its end for none", async () => {
    const dataDir = makeLedger(THREE_DAYS, SEALED);
    const path = segmentPath(join(dataDir, "journal"), 1);
    const whole = readFileSync(path);
    writeFileSync(path, Buffer.concat([whole, Buffer.alloc(300_000)]));
    expect((await check(dataDir)).findings).toEqual([]);
    whole[20]! ^= 1;
    writeFileSync(path, whole);
    expect((await check(dataDir)).findings).toMatchObject([{ what: "damaged lines", rows: 1 }]);
  });

  test("finds nothing beside a server that records, and tells what waits in the journal of a killed one", async () => {
    const opened = await serveLedger({ dataDir: makeDirectory() });
    const { dataDir } = opened;
    let count = 0;
    const record = async () => {
      count += 1;
      const subject = {
        ...SUBJECT,
        arrivedAtUs: NEW_YEAR_US + count * 100_000,
        client: `client/${count % 7}`,
      };
      await opened.ledger.open(subject).end({ ...ENDING, durationUs: count });
    };
    for (let round = 0; round < 10; round += 1) {
      for (let index = 0; index < 300; index += 1) await record();
      const { events, findings, journal } = await check(dataDir);
      expect(findings).toEqual([]);
      expect(events + journal.waitingEnds).toBe(count);
    }
    await opened.close();
    expect(await check(dataDir)).toMatchObject({
      events: 3_000,
      journal: { waitingEnds: 0, waitingBytes: 0 },
    });
  }, 30_000);
});

test("finds nothing while a server that follows a killed one reads through the room that its journal had reserved", async () => {
  const dataDir = makeLedger(THREE_DAYS, SEALED);
  const path = segmentPath(join(dataDir, "journal"), 1);
  const lines = readFileSync(path);
  // A position is stored for each 256 KiB that is read, blanks included; a server may be killed in between.
  writeFileSync(path, Buffer.concat([lines, Buffer.alloc(1024 * 1024)]));
  change(dataDir, `UPDATE ledger_state SET journal_offset = ${lines.length + 256 * 1024}`);
  const { findings, journal } = await check(dataDir);
  expect(findings).toEqual([]);
  expect(journal).toEqual({ checkedEnds: 90, waitingEnds: 0, waitingBytes: 0 });
});

test("costs that a re-pricing has changed since are those of no end in the journal, and an event that is missing is still found", async () => {
  await using engine = createSqliteEngine();
  await using bench = await openBench(engine);
  await recordDays(bench.storage, 1);
  bench.clock.now = NEW_YEAR_US + 2 * DAY_US;
  await bench.storage.ledger.flush();
  const before = await check(engine.dataDir);
  const { id } = await bench.planned(TERMS);
  await bench.repricings.apply(id, ROOT);
  await bench.reached(id, "applied");
  expect(before).toMatchObject({ events: 24, findings: [], journal: { checkedEnds: 24 } });
  expect(await check(engine.dataDir)).toEqual(before);
  change(engine.dataDir, "DELETE FROM event WHERE id = (SELECT min(id) FROM event)");
  const { findings } = await check(engine.dataDir);
  expect(findings).toContainEqual({
    where: "journal",
    what: "ends that are no event",
    rows: 1,
    expected: 24,
    stored: 23,
  });
});
