import { afterAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { BUCKETS } from "#stats/bucket.ts";
import type { StatsQuery } from "#stats/store.ts";
import {
  openForReading,
  openForWriting,
  prepareUsageDatabase,
} from "#storage/sqlite/ledger/file/database.ts";
import type { DimensionLimits } from "#storage/cells/dimension-values.ts";
import { listRequests } from "#storage/reports/request-log.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import { readSeries } from "#storage/reports/series.ts";
import { normaliseUsage } from "#usage/normalise.ts";
import { makeFolder } from "../support/folder.ts";
import { scale } from "../support/scale.ts";
import type { RandomUsage } from "./usage.ts";
import {
  arbitraryUsage,
  DAY_US,
  ENDING,
  EVERYTHING,
  matchesFilter,
  NEW_YEAR_US,
  SUBJECT,
  toBeginLine,
  toEndLine,
} from "./usage.ts";
import { openSqliteWriter, type SqliteTestWriter } from "../support/sqlite-writer.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

const FIRST_DAY = NEW_YEAR_US / DAY_US;
const NOW_US = NEW_YEAR_US + 102 * DAY_US;
let counter = 0;

function openLedger() {
  counter += 1;
  const directory = join(folder.path, String(counter));
  mkdirSync(directory);
  const path = join(directory, "usage.db");
  prepareUsageDatabase(path);
  let sequence = 0;
  return {
    reader: openForReading(path),
    openWriter(dimensionLimits: DimensionLimits): SqliteTestWriter {
      const database = openForWriting(path);
      database.run("PRAGMA synchronous = OFF");
      return openSqliteWriter({ database, journalDirectory: directory, onDamage: () => {}, dimensionLimits });
    },
    append(usages: readonly RandomUsage[]): void {
      const lines = usages.flatMap(({ subject, ending }) => {
        sequence += 1;
        return [toBeginLine(sequence, subject), toEndLine(sequence, ending)];
      });
      if (lines.length > 0) appendFileSync(segmentPath(directory, 1), Buffer.concat(lines));
    },
  };
}

/** What is done one after the other: events come, days are sealed, rows removed, and the writer may start anew. */
const arbitrarySteps = fc.record({
  usages: fc.uniqueArray(arbitraryUsage, {
    minLength: 25,
    maxLength: 70,
    selector: ({ subject }) => subject.arrivedAtUs,
  }),
  steps: fc.array(
    fc.record({
      tenths: fc.integer({ min: 1, max: 9 }),
      sealBeforeDay: fc.constantFrom(1, 2, 3, 31, 33, 61).map((days) => FIRST_DAY + days),
      startsAnew: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  pruneBeforeDay: fc.constantFrom(0, 0, 2, 60).map((days) => FIRST_DAY + days),
  limits: fc.record({
    dayRowsMin: fc.integer({ min: 1, max: 3 }),
    dayRowsMinOfMany: fc.integer({ min: 1, max: 3 }),
    valuesMax: fc.constantFrom(0, 1, 2, 3, 9),
  }),
});

interface DimensionRow {
  readonly id: number;
  readonly kind: string;
  readonly value: string;
  readonly first_day: number;
}

function isOf({ kind, value }: DimensionRow, { subject }: RandomUsage): boolean {
  switch (kind) {
    case "principal":
      return JSON.stringify([subject.principalId, subject.principalName]) === value;
    case "key":
      return subject.keyId === value;
    case "provider":
      return subject.providerId === value;
    case "model":
      return subject.model === value;
    case "client":
      return subject.client === value;
    case "tag":
      return subject.tags.includes(value);
    default:
      throw new Error(`there is no kind ${kind}`);
  }
}

/** As a row of totals has them. */
function toMeasures(usages: readonly RandomUsage[]) {
  let pico = 0n;
  const units = {
    input_tokens: null,
    output_tokens: null,
    cached_input_tokens: null,
    audio_us: null,
    images: null,
    search_units: null,
    web_searches: null,
    priced_by_request: null,
  };
  const sums: { -readonly [unit in keyof typeof units]: number | null } = units;
  for (const { ending } of usages) {
    pico += ending.costPico ?? 0n;
    const {
      audio_seconds,
      requests: priced_by_request,
      ...rest
    } = ending.usage === null ? {} : normaliseUsage(ending.usage);
    const audio_us = audio_seconds === undefined ? undefined : Math.round(audio_seconds * 1e6);
    for (const [unit, quantity] of Object.entries({ ...rest, audio_us, priced_by_request })) {
      if (quantity !== undefined)
        sums[unit as keyof typeof units] = (sums[unit as keyof typeof units] ?? 0) + quantity;
    }
  }
  return {
    requests: usages.length,
    priced_requests: usages.filter(({ ending }) => ending.costPico !== null).length,
    unpriced_requests: usages.filter(({ ending }) => ending.unpriced).length,
    cost_hi: Number(pico / 10n ** 9n),
    cost_lo: Number(pico % 10n ** 9n),
    ...sums,
  };
}

const ONE_DIMENSION: readonly Partial<Omit<StatsQuery, "window">>[] = [
  { principalId: "id-of-alice" },
  { filter: { ...EVERYTHING.filter, principals: ["bob"] } },
  { principalId: "id-of-alice", filter: { ...EVERYTHING.filter, principals: ["bob"] } },
  { filter: { ...EVERYTHING.filter, keyIds: ["key-1", "key-2"] } },
  { filter: { ...EVERYTHING.filter, models: ["fast"], outcomes: ["ok", "cancelled"] } },
  { filter: { ...EVERYTHING.filter, clientPrefixes: ["curl", "curl/8", "日"] } },
  { filter: { ...EVERYTHING.filter, clientPrefixes: ["日"], outcomes: ["unreachable"] } },
  { filter: { ...EVERYTHING.filter, tags: ["env:prod"] } },
  { providers: { include: ["provider-1", "provider-2"], exclude: [] } },
  { providers: { include: null, exclude: ["provider-1"] } },
];

describe("the totals of a dimension", () => {
  test("are what its events add up to, from its first day on, however days are sealed and whatever comes late", () => {
    fc.assert(
      fc.property(arbitrarySteps, ({ usages, steps, pruneBeforeDay, limits }) => {
        const ledger = openLedger();
        let writer = ledger.openWriter(limits);
        let written = 0;
        for (const { tenths, sealBeforeDay, startsAnew } of steps) {
          const until = Math.max(written, Math.round((usages.length * tenths) / 10));
          ledger.append(usages.slice(written, until));
          written = until;
          while (writer.writeBatch());
          while (writer.seal(sealBeforeDay));
          if (startsAnew) {
            writer.close();
            writer = ledger.openWriter(limits);
          }
        }
        while (writer.prune(pruneBeforeDay * DAY_US));
        ledger.append(usages.slice(written));
        while (writer.writeBatch());
        writer.close();

        const { reader } = ledger;
        const { sealed } = reader
          .query<{ sealed: number }, []>("SELECT sealed_before_day AS sealed FROM ledger_state")
          .get()!;
        const dimensions = reader.query<DimensionRow, []>("SELECT * FROM dimension").all();
        const expected = dimensions.flatMap((dimension) => {
          const groups = Map.groupBy(
            usages.filter((usage) => {
              const day = Math.floor(usage.subject.arrivedAtUs / DAY_US);
              return day >= dimension.first_day && day < sealed && isOf(dimension, usage);
            }),
            ({ subject, ending }) =>
              `${Math.floor(subject.arrivedAtUs / DAY_US)} ${dimension.id} ${ending.outcome}`,
          );
          return [...groups].map(([key, group]) => {
            const [day, id, outcome] = key.split(" ");
            return Object.assign(toMeasures(group), { day: Number(day), dimension: Number(id), outcome });
          });
        });
        const found = reader
          .query<{ day: number; dimension: number; outcome: string }, []>("SELECT * FROM dimension_total")
          .all();
        const byKey = (a: (typeof found)[number], b: (typeof found)[number]) =>
          a.day - b.day || a.dimension - b.dimension || a.outcome.localeCompare(b.outcome);
        expect(found.sort(byKey)).toEqual((expected as typeof found).sort(byKey));
        const perKind = Map.groupBy(dimensions, ({ kind }) => kind);
        for (const [, some] of perKind) expect(some.length).toBeLessThanOrEqual(limits.valuesMax);

        for (const each of ONE_DIMENSION) {
          const query = { ...EVERYTHING, ...each };
          const matching = usages.filter((usage) => matchesFilter(query, usage));
          for (const bucket of BUCKETS.filter((name) => name !== "hour")) {
            const { buckets } = readFrom(reader, readSeries({ ...query, bucket, nowUs: NOW_US }));
            const counted = buckets.reduce((sum, { requests }) => sum + requests, 0);
            const cost = buckets.reduce((sum, { costPico }) => sum + (costPico ?? 0n), 0n);
            expect({ each, bucket, counted, cost }).toEqual({
              each,
              bucket,
              counted: matching.length,
              cost: matching.reduce((sum, { ending }) => sum + (ending.costPico ?? 0n), 0n),
            });
          }
          if (pruneBeforeDay === FIRST_DAY) {
            const { total } = readFrom(reader, listRequests(query, { limit: 3, offset: 4 }));
            expect({ each, total }).toEqual({ each, total: matching.length });
          }
        }
        reader.close();
      }),
      { numRuns: 6 * scale },
    );
  }, 20_000);

  test("begin with the first sealed day that has many rows of it; a busier value is preferred, and none is given up", () => {
    const ledger = openLedger();
    const writer = ledger.openWriter({ dayRowsMin: 9, dayRowsMinOfMany: 3, valuesMax: 1 });
    let instant = 0;
    const use = (day: number, client: string, count: number) =>
      Array.from({ length: count }, (_, index): RandomUsage => {
        instant += 1;
        const arrivedAtUs = NEW_YEAR_US + day * DAY_US + instant;
        return { subject: { ...SUBJECT, arrivedAtUs, client, upstreamName: `up-${index}` }, ending: ENDING };
      });
    ledger.append([
      ...use(0, "rare", 2),
      ...use(1, "busy", 4),
      ...use(1, "rare", 3),
      ...use(2, "busiest", 9),
    ]);
    while (writer.writeBatch());
    while (writer.seal(FIRST_DAY + 9));
    writer.close();
    expect(
      ledger.reader.query("SELECT kind, value, first_day FROM dimension WHERE kind = 'client'").all(),
    ).toEqual([{ kind: "client", value: "busy", first_day: FIRST_DAY + 1 }]);
    for (const [prefix, total] of [
      ["b", 13],
      ["rare", 5],
      ["", 18],
    ] as const) {
      const query = { ...EVERYTHING, filter: { ...EVERYTHING.filter, clientPrefixes: [prefix] } };
      const { buckets } = readFrom(ledger.reader, readSeries({ ...query, bucket: "day", nowUs: NOW_US }));
      expect(buckets.reduce((sum, { requests }) => sum + requests, 0)).toBe(total);
    }
    ledger.reader.close();
  });

  test("are left as they were by a sealing that fails", () => {
    const ledger = openLedger();
    const writer = ledger.openWriter({ dayRowsMin: 1, dayRowsMinOfMany: 1, valuesMax: 9 });
    ledger.append([{ subject: SUBJECT, ending: ENDING }]);
    while (writer.writeBatch());
    const database = openForWriting(ledger.reader.filename);
    database.run(
      "CREATE TRIGGER full BEFORE INSERT ON sealed_day_total BEGIN SELECT raise(ABORT, 'full'); END",
    );
    expect(() => writer.seal(FIRST_DAY + 2)).toThrow("full");
    expect(ledger.reader.query("SELECT count(*) AS n FROM dimension").get()).toEqual({ n: 0 });
    database.run("DROP TRIGGER full");
    database.close();
    while (writer.seal(FIRST_DAY + 2));
    expect(ledger.reader.query("SELECT sum(requests) AS n FROM dimension_total").get()).toEqual({ n: 6 });
    expect(ledger.reader.query("SELECT count(*) AS n FROM dimension").get()).toEqual({ n: 6 });
    writer.close();
    ledger.reader.close();
  });
});
