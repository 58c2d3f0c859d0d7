import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openForWriting, prepareUsageDatabase } from "#storage/sqlite/ledger/file/database.ts";
import { SCHEMA_SQL } from "#storage/sqlite/ledger/file/schema.ts";
import { segmentPath } from "#storage/ledger/journal/segments.ts";
import { UsageWriter } from "#storage/sqlite/ledger/write/writer.ts";
import type { UsageEvent } from "#usage/event.ts";
import { scale } from "../support/scale.ts";
import type { RandomUsage } from "./usage.ts";
import {
  arbitraryUsage,
  DAY_US,
  ENDING,
  NEW_YEAR_US,
  RUN_LINE,
  SUBJECT,
  LineEncoder,
  toBeginLine,
  toEndLine,
  toReportInput,
} from "./usage.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-writer-"));
afterAll(() => rmSync(folder, { recursive: true }));

let counter = 0;

const EVENT_CLIENTS =
  "SELECT event.id, client FROM event JOIN combination ON combination.id = event.combination ORDER BY event.id";

/** Counts each run and each look-up of the statements that are prepared from now on. */
function countStatements(database: Database, statements: { count: number }): void {
  const prepare = database.prepare.bind(database);
  Object.assign(database, {
    prepare(sql: string) {
      const statement = prepare(sql);
      const [run, get] = [statement.run.bind(statement), statement.get.bind(statement)];
      statement.run = (...values) => ((statements.count += 1), run(...values));
      statement.get = (...values) => ((statements.count += 1), get(...values));
      return statement;
    },
  });
}

/** A journal and a writer on it, without threads: what the Worker does, step by step. */
function createBench(readBytesMax?: number) {
  counter += 1;
  const directory = join(folder, String(counter));
  const journalDirectory = join(directory, "journal");
  mkdirSync(journalDirectory, { recursive: true });
  const databasePath = join(directory, "usage.db");
  prepareUsageDatabase(databasePath);
  const damage: { lines: number; tornBytes: number }[] = [];
  const statements = { count: 0 };
  const openWriter = () => {
    const database = openForWriting(databasePath);
    countStatements(database, statements);
    // The tests are about what is written, not about when the disk has it.
    database.run("PRAGMA synchronous = OFF");
    return new UsageWriter({
      database,
      journalDirectory,
      onDamage: (seen) => damage.push(seen),
      ...(readBytesMax === undefined ? {} : { readBytesMax }),
    });
  };
  return {
    damage,
    statements,
    databasePath,
    openWriter,
    append: (segment: number, bytes: Uint8Array) =>
      appendFileSync(segmentPath(journalDirectory, segment), bytes),
    segments: () => [...new Bun.Glob("*.journal").scanSync(journalDirectory)].length,
    read: <Row>(sql: string): Row[] => {
      const database = new Database(databasePath, { readonly: true });
      const rows = database.query<Row, []>(sql).all();
      database.close();
      return rows;
    },
  };
}

function toLines(usages: readonly RandomUsage[], firstSequence = 1): Buffer[] {
  return usages.flatMap(({ subject, ending }, index) => [
    toBeginLine(firstSequence + index, subject),
    toEndLine(firstSequence + index, ending),
  ]);
}

function drain(writer: UsageWriter): void {
  while (writer.writeBatch());
}

describe("totals", () => {
  test("are what a sum over all events gives, however they come in batches and whenever days are sealed", () => {
    fc.assert(
      fc.property(
        fc.array(arbitraryUsage, { minLength: 1, maxLength: 40 }),
        fc.array(fc.constantFrom(-1, 0, 2, 31, 59, 61, 101), { maxLength: 4 }),
        fc.integer({ min: 600, max: 20_000 }),
        (usages, sealing, readBytesMax) => {
          const bench = createBench(readBytesMax);
          const writer = bench.openWriter();
          const perPart = Math.ceil(usages.length / (sealing.length + 1));
          for (let part = 0; part <= sealing.length; part += 1) {
            const some = usages.slice(part * perPart, (part + 1) * perPart);
            bench.append(1, Buffer.concat(toLines(some, part * perPart + 1)));
            drain(writer);
            const days = sealing[part];
            if (days !== undefined) while (writer.seal(NEW_YEAR_US / DAY_US + days));
          }
          writer.close();
          expectTotals(bench.read, usages);
        },
      ),
      { numRuns: 20 * scale },
    );
  }, 30_000);

  test("survive retention, which removes rows and nothing else", () => {
    fc.assert(
      fc.property(
        fc.array(arbitraryUsage, { minLength: 1, maxLength: 30 }),
        fc.array(arbitraryUsage, { maxLength: 5 }),
        fc.constantFrom(0, 1, 30, 59, 101),
        (usages, late, days) => {
          const bench = createBench();
          const writer = bench.openWriter();
          bench.append(1, Buffer.concat(toLines(usages)));
          drain(writer);
          // Away from every arrival: events of one instant spread over the next microseconds.
          const cutUs = NEW_YEAR_US + days * DAY_US + 1_800_000_000;
          while (writer.prune(cutUs));
          bench.append(1, Buffer.concat(toLines(late, usages.length + 1)));
          drain(writer);
          writer.close();
          expectTotals(bench.read, [...usages, ...late], { rowsFromUs: cutUs });
        },
      ),
      { numRuns: 10 * scale },
    );
  }, 30_000);

  test("of money stay exact where doubles would not", () => {
    const bench = createBench();
    const writer = bench.openWriter();
    const costPico = 9_007_199_254_740_993_123_456_789n;
    const usages = Array.from({ length: 300 }, () => ({ subject: SUBJECT, ending: { ...ENDING, costPico } }));
    bench.append(1, Buffer.concat(toLines(usages)));
    drain(writer);
    writer.close();
    const [row] = bench.read<{ hi: number; lo: number }>(
      "SELECT cost_hi AS hi, cost_lo AS lo FROM day_total",
    );
    expect(row!.lo).toBeLessThan(1e9);
    // The high half is a double: exact up to 2^53 times 10^9 pico, nine trillion currency units in one row.
    expect(BigInt(row!.lo)).toBe((costPico * 300n) % 1_000_000_000n);
  });

  test("a huge or odd quantity never stops the ledger", () => {
    const bench = createBench();
    const writer = bench.openWriter();
    const usage = {
      shape: "exclusive" as const,
      quantities: {
        input_tokens: Number.MAX_SAFE_INTEGER,
        audio_seconds: 1e300,
        cache_write_tokens: Number.MAX_SAFE_INTEGER,
        cache_write_1h_tokens: Number.MAX_SAFE_INTEGER,
      },
    };
    const ending = { ...ENDING, usage, durationUs: 1.5e300, timeToFirstByteUs: -3, costPico: 10n ** 40n };
    const arrivals = [Number.MAX_SAFE_INTEGER, 0, -5, Number.NaN, 1.5];
    const usages = Array.from({ length: 2000 }, (_, index) => ({
      subject: { ...SUBJECT, arrivedAtUs: arrivals[index % arrivals.length]! },
      ending,
    }));
    bench.append(1, Buffer.concat(toLines(usages)));
    drain(writer);
    writer.close();
    expect(bench.read("SELECT sum(requests) AS n FROM day_total")).toEqual([{ n: 2000 }]);
    expect(bench.read("SELECT count(*) AS n FROM event")).toEqual([{ n: 2000 }]);
  });
});

describe("the journal", () => {
  test("costs one statement for each event and one for each total, however many events a batch has", () => {
    const bench = createBench();
    const writer = bench.openWriter();
    const encoder = new LineEncoder();
    let sequence = 0;
    const write = (count: number) => {
      for (let index = 0; index < count; index += 1) {
        sequence += 1;
        const subject = { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + sequence };
        bench.append(1, encoder.begin(1, sequence, subject));
        bench.append(1, encoder.end(1, sequence, ENDING));
      }
      const before = bench.statements.count;
      drain(writer);
      return bench.statements.count - before;
    };
    write(1);
    // The total of the hour, that of the day, and how far the journal is.
    expect(write(1)).toBe(1 + 3);
    expect(write(300)).toBe(300 + 3);
    writer.close();
  });

  test("events of one instant get ids that follow one another", () => {
    const bench = createBench();
    const writer = bench.openWriter();
    bench.append(
      1,
      Buffer.concat(toLines(Array.from({ length: 500 }, () => ({ subject: SUBJECT, ending: ENDING })))),
    );
    drain(writer);
    writer.close();
    const ids = bench.read<{ id: number }>("SELECT id FROM event ORDER BY id").map(({ id }) => id);
    expect(ids).toEqual(Array.from({ length: 500 }, (_, index) => NEW_YEAR_US + index));
  });

  test("torn at any byte gives every complete event once and no other", () => {
    const usages = [0, 1, 2].map((index) => ({
      subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index },
      ending: ENDING,
    }));
    const lines = toLines(usages);
    const whole = Buffer.concat(lines);
    const ends: number[] = [];
    for (const line of lines) ends.push((ends.at(-1) ?? 0) + line.length);
    const next = Buffer.concat([RUN_LINE, ...toLines(usages.slice(0, 1))]);
    // Every byte of the last two lines, and every line's end with its neighbours.
    const cuts = Array.from({ length: whole.length + 1 }, (_, at) => at).filter(
      (at) => at % 23 === 0 || (at > ends[3]! && at % 5 === 0) || ends.some((end) => Math.abs(end - at) < 2),
    );
    for (const cut of cuts) {
      const bench = createBench();
      bench.append(1, whole.subarray(0, cut));
      bench.append(2, next);
      const writer = bench.openWriter();
      drain(writer);
      writer.close();
      const complete = ends.filter((end) => end <= cut).length;
      const counts = bench.read<{ outcome: string; n: number }>(
        "SELECT outcome, sum(requests) AS n FROM hour_total GROUP BY outcome ORDER BY outcome",
      );
      const ok = Math.floor(complete / 2) + 1;
      expect({ cut, counts }).toEqual({
        cut,
        counts: [{ outcome: "ok", n: ok }, ...(complete % 2 === 1 ? [{ outcome: "unreachable", n: 1 }] : [])],
      });
      expect(bench.segments()).toBe(1);
    }
  }, 60_000);

  test("a damaged line in the middle costs that line only, and is reported", () => {
    const bench = createBench();
    const writer = bench.openWriter();
    const lines = toLines(
      [0, 1].map((index) => ({ subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index }, ending: ENDING })),
    );
    lines[1]![20]! ^= 1;
    bench.append(1, Buffer.concat(lines));
    drain(writer);
    writer.close();
    expect(bench.read("SELECT id FROM event")).toEqual([{ id: NEW_YEAR_US + 1 }]);
    expect(bench.damage).toEqual([{ lines: 1, tornBytes: 0 }]);
  });

  test("a flipped bit costs one request at most, also in a line that gives a number, and two where it joins their lines", () => {
    const encoder = new LineEncoder();
    const clients = ["one", "two"];
    const count = 30;
    const lines = Array.from({ length: count }, (_, index) => {
      const subject = { ...SUBJECT, client: clients[index % 2]!, arrivedAtUs: NEW_YEAR_US + index };
      return Buffer.concat([encoder.begin(1, index, subject), encoder.end(1, index, ENDING)]);
    });
    const whole = Buffer.concat(lines);
    const all = lines.map((_, index) => NEW_YEAR_US + index);
    // Each end of a line, which makes one of two, and bytes within: those that give numbers are the longest.
    const places = [...whole.keys()].slice(0, -1).filter((at) => whole[at] === 0x0a || at % 83 === 20);
    const database = new Database(":memory:");
    database.run(SCHEMA_SQL);
    for (const at of places) {
      counter += 1;
      const journalDirectory = join(folder, String(counter));
      mkdirSync(journalDirectory);
      const damaged = Buffer.from(whole);
      damaged[at]! ^= 1;
      writeFileSync(segmentPath(journalDirectory, 1), damaged);
      database.run("DELETE FROM event");
      database.run("UPDATE ledger_state SET journal_offset = 0");
      let skipped = 0;
      const onDamage = (damage: { readonly lines: number }) => void (skipped += damage.lines);
      drain(new UsageWriter({ database, journalDirectory, onDamage }));
      const kept = database.query<{ id: number; client: string }, []>(EVENT_CLIENTS).all();
      const right = kept.filter(({ id, client }) => client === clients[(id - NEW_YEAR_US) % 2]);
      expect({ at, wrong: kept.length - right.length }).toEqual({ at, wrong: 0 });
      const lost = all.length - kept.length;
      expect({ at, lost }).toEqual({ at, lost: Math.min(lost, whole[at] === 0x0a ? 2 : 1) });
      expect(skipped).toBeGreaterThan(0);
    }
    expect(places.length).toBeGreaterThan(100);
  });

  test("a damaged block costs the requests that name its numbers for a while, and no more of the segment", () => {
    const bench = createBench();
    const writer = bench.openWriter();
    const encoder = new LineEncoder();
    const line = (stretch: number, sequence: number, client: string) => {
      const subject = { ...SUBJECT, client, arrivedAtUs: NEW_YEAR_US + sequence };
      return Buffer.concat([
        encoder.begin(stretch, sequence, subject),
        encoder.end(stretch, sequence, ENDING),
      ]);
    };
    const first = Buffer.concat([line(1, 1, "one"), line(1, 2, "one")]);
    const damaged = Buffer.concat([line(1, 3, "two"), line(1, 4, "two")]).fill(1);
    const rest = [line(1, 5, "two"), line(1, 6, "one"), line(2, 7, "two")];
    bench.append(1, Buffer.concat([first, damaged, ...rest]));
    drain(writer);
    writer.close();
    expect(bench.read("SELECT id FROM event ORDER BY id")).toEqual(
      [1, 2, 6, 7].map((index) => ({ id: NEW_YEAR_US + index })),
    );
    // What was one line of the block with the begin that follows, and that request's end.
    expect(bench.damage).toEqual([{ lines: 2, tornBytes: 0 }]);
  });

  test("of recorded requests gives back who, what and at which prices, in each segment and past the numbers that are kept", () => {
    const bench = createBench();
    const writer = bench.openWriter();
    const encoder = new LineEncoder();
    const expected: unknown[] = [];
    // More different clients than numbers are kept for, and the first of them again.
    for (const [segment, count] of [
      [1, 10_050],
      [2, 20],
    ] as const) {
      const lines: Buffer[] = [];
      for (let index = 0; index < count + 20; index += 1) {
        const sequence = expected.length + 1;
        const client = `client/${index % count}`;
        const ending = { ...ENDING, prices: { input_tokens: index % 3, output_tokens: null } };
        lines.push(encoder.begin(segment, sequence, { ...SUBJECT, arrivedAtUs: sequence, client }));
        lines.push(encoder.end(segment, sequence, ending));
        expected.push({ id: sequence, client, prices: JSON.stringify(ending.prices) });
      }
      bench.append(segment, Buffer.concat(lines));
    }
    drain(writer);
    writer.close();
    expect(
      bench.read(
        `SELECT event.id, client, prices FROM event JOIN combination c ON c.id = combination
         JOIN manner m ON m.id = manner JOIN price_set p ON p.id = price_set ORDER BY event.id`,
      ),
    ).toEqual(expected);
    expect(bench.damage).toEqual([]);
  });

  test("a writer that starts anew at any point goes on without losing or doubling", () => {
    fc.assert(
      fc.property(
        fc.array(arbitraryUsage, { minLength: 1, maxLength: 12 }),
        fc.array(fc.nat(), { minLength: 24, maxLength: 24 }),
        fc.integer({ min: 600, max: 3000 }),
        (usages, order, readBytesMax) => {
          const bench = createBench(readBytesMax);
          // Begins and ends interleaved, a new segment and a new writer now and then.
          const pending = usages.map((usage, index) => ({ usage, sequence: index + 1, isOpen: false }));
          const encoder = new LineEncoder();
          let segment = 1;
          bench.append(segment, RUN_LINE);
          for (const pick of order) {
            const at = pending[pick % Math.max(pending.length, 1)];
            if (at === undefined) break;
            if (at.isOpen) {
              bench.append(segment, encoder.end(segment, at.sequence, at.usage.ending));
              pending.splice(pending.indexOf(at), 1);
            } else {
              bench.append(segment, encoder.begin(segment, at.sequence, at.usage.subject));
              at.isOpen = true;
            }
            if (pick % 5 === 0) segment += 1;
            if (pick % 3 === 0) {
              const writer = bench.openWriter();
              if (pick % 2 === 0) drain(writer);
              else writer.writeBatch();
              writer.close();
            }
          }
          bench.append(segment + 1, RUN_LINE);
          const writer = bench.openWriter();
          drain(writer);
          writer.close();
          const cutOff = pending.filter(({ isOpen }) => isOpen).length;
          const never = pending.filter(({ isOpen }) => !isOpen).length;
          expect(bench.read("SELECT count(*) AS n FROM event")).toEqual([{ n: usages.length - never }]);
          expect(
            bench.read(
              `SELECT count(*) AS n FROM event JOIN manner m ON m.id = manner JOIN result r ON r.id = result
               WHERE outcome = 'unreachable' AND error_kind = 'interrupted' AND status_code = 502`,
            ),
          ).toEqual([{ n: cutOff }]);
          expect(bench.read("SELECT * FROM open_request")).toEqual([]);
          expect(bench.segments()).toBe(1);
          expect(bench.damage).toEqual([]);
        },
      ),
      { numRuns: 20 * scale },
    );
  }, 30_000);

  test("a commit that fails leaves nothing behind, and the next one counts each line once", () => {
    const bench = createBench();
    const writer = bench.openWriter();
    bench.append(1, Buffer.concat(toLines([{ subject: SUBJECT, ending: ENDING }])));
    const other = new Database(bench.databasePath);
    other.run("BEGIN IMMEDIATE");
    expect(() => writer.writeBatch()).toThrow("locked");
    other.run("ROLLBACK");
    other.run("CREATE TRIGGER refuse BEFORE INSERT ON hour_total BEGIN SELECT raise(ABORT, 'refused'); END");
    expect(() => drain(writer)).toThrow("refused");
    expect(bench.read("SELECT * FROM event")).toEqual([]);
    expect(bench.read("SELECT * FROM combination")).toEqual([]);
    other.run("DROP TRIGGER refuse");
    other.close();
    drain(writer);
    writer.close();
    expect(bench.read("SELECT count(*) AS n FROM event")).toEqual([{ n: 1 }]);
    expect(bench.read("SELECT sum(requests) AS n FROM day_total")).toEqual([{ n: 1 }]);
    expect(bench.read("SELECT id FROM combination")).toEqual([{ id: 1 }]);
  });
});

type Read = <Row>(sql: string) => Row[];

interface Sums {
  requests: number;
  priced: number;
  unpriced: number;
  cost: bigint;
  input: number | null;
  output: number | null;
  cached: number | null;
  audioUs: number | null;
  durationUs: number;
  lastSeenUs: number;
  bands: number[];
}

/** Sums written apart from the ones under test: over the events as they were handed in. */
function expectTotals(read: Read, usages: readonly RandomUsage[], { rowsFromUs = 0 } = {}): void {
  const events = usages.map(({ subject, ending }): UsageEvent => ({ ...subject, ...ending }));
  const rows = read<{ id: number }>("SELECT id FROM event ORDER BY id");
  expect(rows.length).toBe(events.filter((event) => event.arrivedAtUs >= rowsFromUs).length);

  const total = sumUp(events);
  const hours = read<Record<string, number>>(HOURS).map(toSums);
  expect(merge(hours, "hour")).toEqual({ ...total, durationUs: 0, lastSeenUs: 0, bands: [] });
  const days = read<Record<string, number>>(DAYS).map(toSums);
  // An instant that two events share moves the second by a microsecond.
  const shift = { lastSeenUs: expect.any(Number) };
  expect(merge(days, "day")).toEqual({ ...total, ...shift });

  const byMonth = read<Record<string, number>>("SELECT * FROM month_total").map(toSums);
  const bySealedDay = read<Record<string, number>>("SELECT * FROM sealed_day_total").map(toSums);
  expect(merge(byMonth, "day")).toEqual(merge(bySealedDay, "day"));

  for (const outcome of new Set(events.map((event) => event.outcome))) {
    const some = events.filter((event) => event.outcome === outcome);
    const found = read<Record<string, number>>(`${HOURS} WHERE outcome = '${outcome}'`).map(toSums);
    expect(merge(found, "hour")).toEqual({ ...sumUp(some), durationUs: 0, lastSeenUs: 0, bands: [] });
  }
  for (const model of new Set(events.map((event) => event.model))) {
    const some = events.filter((event) => event.model === model);
    const where = `WHERE combination IN (SELECT id FROM combination WHERE model IS ${model === null ? "NULL" : `'${model}'`})`;
    const found = read<Record<string, number>>(`SELECT * FROM (${DAYS}) ${where}`).map(toSums);
    expect(merge(found, "day")).toEqual({ ...sumUp(some), ...shift });
  }
}

const MEASURES = `requests, priced_requests, unpriced_requests, cost_hi, cost_lo, input_tokens, output_tokens,
  cached_input_tokens, audio_us`;
const HOURS = `SELECT ${MEASURES} FROM hour_total`;
const DAYS = ["day_total", "sealed_day_total"]
  .map(
    (
      table,
    ) => `SELECT combination, result, ${MEASURES}, duration_us, last_seen_us, band_under_1s, band_under_5s,
      band_under_15s, band_under_30s, band_under_60s, band_under_120s, band_over_120s FROM ${table}`,
  )
  .join(" UNION ALL ");

function sumUp(events: readonly UsageEvent[]): Sums {
  const sums: Sums = {
    requests: 0,
    priced: 0,
    unpriced: 0,
    cost: 0n,
    input: null,
    output: null,
    cached: null,
    audioUs: null,
    durationUs: 0,
    lastSeenUs: 0,
    bands: [0, 0, 0, 0, 0, 0, 0],
  };
  for (const event of events) {
    sums.requests += 1;
    if (event.costPico !== null) sums.priced += 1;
    if (event.unpriced) sums.unpriced += 1;
    sums.cost += event.costPico ?? 0n;
    const quantities = event.usage?.quantities ?? {};
    const input = toReportInput(event.usage);
    if (input !== null) sums.input = (sums.input ?? 0) + input;
    if (quantities.output_tokens !== undefined) sums.output = (sums.output ?? 0) + quantities.output_tokens;
    if (quantities.cached_input_tokens !== undefined) {
      sums.cached = (sums.cached ?? 0) + quantities.cached_input_tokens;
    }
    if (quantities.audio_seconds !== undefined) {
      sums.audioUs = (sums.audioUs ?? 0) + Math.round(quantities.audio_seconds * 1e6);
    }
    sums.durationUs += event.durationUs;
    sums.lastSeenUs = Math.max(sums.lastSeenUs, event.arrivedAtUs);
    const seconds = event.durationUs / 1e6;
    const band =
      seconds < 1
        ? 0
        : seconds < 5
          ? 1
          : seconds < 15
            ? 2
            : seconds < 30
              ? 3
              : seconds < 60
                ? 4
                : seconds < 120
                  ? 5
                  : 6;
    sums.bands[band]! += 1;
  }
  return sums;
}

function toSums(row: Record<string, number | null>): Sums {
  return {
    requests: row["requests"]!,
    priced: row["priced_requests"]!,
    unpriced: row["unpriced_requests"]!,
    cost: BigInt(row["cost_hi"]!) * 10n ** 9n + BigInt(row["cost_lo"]!),
    input: row["input_tokens"]!,
    output: row["output_tokens"]!,
    cached: row["cached_input_tokens"]!,
    audioUs: row["audio_us"]!,
    durationUs: row["duration_us"] ?? 0,
    lastSeenUs: row["last_seen_us"] ?? 0,
    bands: Object.keys(row)
      .filter((column) => column.startsWith("band_"))
      .map((column) => row[column]!),
  };
}

function merge(rows: readonly Sums[], kind: "hour" | "day"): Sums {
  const plus = (left: number | null, right: number | null) =>
    left === null && right === null ? null : (left ?? 0) + (right ?? 0);
  const bands = kind === "hour" ? [] : [0, 0, 0, 0, 0, 0, 0];
  const empty = { ...sumUp([]), bands };
  return rows.reduce(
    (sum, row) => ({
      requests: sum.requests + row.requests,
      priced: sum.priced + row.priced,
      unpriced: sum.unpriced + row.unpriced,
      cost: sum.cost + row.cost,
      input: plus(sum.input, row.input),
      output: plus(sum.output, row.output),
      cached: plus(sum.cached, row.cached),
      audioUs: plus(sum.audioUs, row.audioUs),
      durationUs: sum.durationUs + row.durationUs,
      lastSeenUs: Math.max(sum.lastSeenUs, row.lastSeenUs),
      bands: sum.bands.map((count, index) => count + (row.bands[index] ?? 0)),
    }),
    empty,
  );
}
