import { afterAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compareCodeUnits } from "#kernel/text.ts";
import type { StatsQuery } from "#stats/store.ts";
import { openForReading, openForWriting, prepareUsageDatabase } from "#storage/sqlite/usage/database.ts";
import { listRequests } from "#storage/sqlite/usage/request-log.ts";
import { segmentPath } from "#storage/sqlite/usage/segments.ts";
import { UsageWriter } from "#storage/sqlite/usage/writer.ts";
import type { Outcome } from "#usage/event.ts";
import { OUTCOMES, RELAY_PROVIDER } from "#usage/event.ts";
import type { RandomUsage } from "./usage.ts";
import {
  arbitraryUsage,
  DAY_US,
  ENDING,
  EVERYTHING,
  NEW_YEAR_US,
  SUBJECT,
  toBeginLine,
  toEndLine,
} from "./usage.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-request-log-"));
afterAll(() => rmSync(folder, { recursive: true }));

let counter = 0;

function write(usages: readonly RandomUsage[], { sealBeforeUs = 0, pruneBeforeUs = 0 } = {}) {
  counter += 1;
  const directory = join(folder, String(counter));
  mkdirSync(directory);
  const databasePath = join(directory, "usage.db");
  prepareUsageDatabase(databasePath);
  const lines = usages.flatMap(({ subject, ending }, index) => [
    toBeginLine(index, subject),
    toEndLine(index, ending),
  ]);
  appendFileSync(segmentPath(directory, 1), Buffer.concat(lines));
  const database = openForWriting(databasePath);
  database.run("PRAGMA synchronous = OFF");
  const writer = new UsageWriter({ database, journalDirectory: directory, onDamage: () => {} });
  while (writer.writeBatch());
  while (writer.sealDay(sealBeforeUs / DAY_US));
  while (writer.prune(pruneBeforeUs));
  return { reader: openForReading(databasePath), writer };
}

const instant = fc
  .tuple(
    fc.constantFrom(-1, 0, 1, 3, 30, 31, 32, 59, 61, 101, 200),
    fc.constantFrom(0, 1, 3_600_000_000, 43_200_000_000, 43_200_000_001, DAY_US - 1),
  )
  .map(([days, micros]) => NEW_YEAR_US + days * DAY_US + micros);

const query: fc.Arbitrary<StatsQuery> = fc.record({
  window: fc.record({ sinceUs: fc.option(instant), untilUs: fc.option(instant) }),
  filter: fc.record({
    principal: fc.option(fc.constantFrom("alice", "bob", "nobody"), { freq: 1 }),
    keyId: fc.option(fc.constantFrom("key-1", "token-1"), { freq: 1 }),
    model: fc.option(fc.constantFrom("fast", "slow", "FAST"), { freq: 1 }),
    clientPrefix: fc.option(fc.constantFrom("curl", "curl/8", "100%", "1__", "%", "日", "CURL"), { freq: 1 }),
    tags: fc.constantFrom([], [], ["app:checkout"], ["env:prod", "app:checkout"], ["no:such"]),
    outcomes: fc.constantFrom<readonly Outcome[] | null>(null, null, ["ok"], OUTCOMES.slice(1), [
      "cancelled",
    ]),
  }),
  providers: fc.constantFrom(
    { include: null, exclude: [] },
    { include: ["provider-1"], exclude: [] },
    { include: [RELAY_PROVIDER], exclude: [] },
    { include: [], exclude: [] },
    { include: null, exclude: ["provider-1", RELAY_PROVIDER] },
  ),
});

function matches({ window, filter, providers }: StatsQuery, { subject, ending }: RandomUsage): boolean {
  return (
    (window.sinceUs === null || subject.arrivedAtUs >= window.sinceUs) &&
    (window.untilUs === null || subject.arrivedAtUs < window.untilUs) &&
    (filter.principal === null || subject.principalName === filter.principal) &&
    (filter.keyId === null || subject.keyId === filter.keyId) &&
    (filter.model === null || subject.model === filter.model) &&
    (filter.clientPrefix === null || (subject.client?.startsWith(filter.clientPrefix) ?? false)) &&
    filter.tags.every((tag) => subject.tags.includes(tag)) &&
    (filter.outcomes === null || filter.outcomes.includes(ending.outcome)) &&
    (providers.include === null || providers.include.includes(subject.providerId)) &&
    !providers.exclude.includes(subject.providerId)
  );
}

/** One event per microsecond, so that which is newer is beyond question. */
const usages = fc.uniqueArray(arbitraryUsage, {
  minLength: 0,
  maxLength: 60,
  selector: ({ subject }) => subject.arrivedAtUs,
});

describe("the request log", () => {
  test("is a page of exactly the matching events, newest first, with the exact total, for every filter and window", () => {
    fc.assert(
      fc.property(
        usages,
        fc.array(
          fc.tuple(
            query,
            fc.record({ limit: fc.integer({ min: 1, max: 12 }), offset: fc.integer({ min: 0, max: 20 }) }),
          ),
          { minLength: 12, maxLength: 12 },
        ),
        fc.constantFrom(0, 3, 32, 61, 90, 120),
        fc.constantFrom(0, 0, 1, 31, 60),
        (events, questions, sealDays, pruneDays) => {
          const pruneBeforeUs = pruneDays === 0 ? 0 : NEW_YEAR_US + pruneDays * DAY_US + 43_200_000_000;
          const { reader, writer } = write(events, {
            sealBeforeUs: NEW_YEAR_US + sealDays * DAY_US,
            pruneBeforeUs,
          });
          const kept = events.filter(({ subject }) => subject.arrivedAtUs >= pruneBeforeUs);
          for (const [asked, page] of questions) {
            const expected = kept
              .filter((usage) => matches(asked, usage))
              .sort((left, right) => right.subject.arrivedAtUs - left.subject.arrivedAtUs);
            const { rows, total } = listRequests(reader, asked, page);
            expect({ asked, page, total, at: rows.map((row) => row.arrivedAtUs) }).toEqual({
              asked,
              page,
              total: expected.length,
              at: expected
                .slice(page.offset, page.offset + page.limit)
                .map(({ subject }) => subject.arrivedAtUs),
            });
          }
          reader.close();
          writer.close();
        },
      ),
      { numRuns: 60 },
    );
  }, 30_000);

  test("gives back every field as it was recorded", () => {
    fc.assert(
      fc.property(usages, (events) => {
        const { reader, writer } = write(events);
        const { rows } = listRequests(reader, EVERYTHING, { limit: 500, offset: 0 });
        const byArrival = new Map(events.map((usage) => [usage.subject.arrivedAtUs, usage]));
        for (const row of rows) {
          const { subject, ending } = byArrival.get(row.arrivedAtUs)!;
          expect(row).toEqual({
            id: row.id,
            arrivedAtUs: subject.arrivedAtUs,
            principal: subject.principalName,
            keyId: subject.keyId,
            relayTokenId: subject.relayTokenId,
            providerId: subject.providerId,
            model: subject.model,
            upstreamName: subject.upstreamName,
            endpoint: subject.endpoint,
            client: subject.client,
            statusCode: ending.statusCode,
            outcome: ending.outcome,
            errorKind: ending.errorKind,
            streamed: subject.streamed,
            durationUs: ending.durationUs,
            timeToFirstByteUs: ending.timeToFirstByteUs,
            costPico: ending.costPico,
            quantities: ending.usage?.quantities ?? {},
            prices: ending.prices,
            tags: subject.tags,
          });
        }
        const ids = rows.map((row) => row.id);
        expect([...ids].sort(compareCodeUnits).reverse()).toEqual(ids);
        reader.close();
        writer.close();
      }),
      { numRuns: 30 },
    );
  }, 30_000);

  test("of an empty ledger is an empty page with total 0", () => {
    const { reader, writer } = write([]);
    expect(listRequests(reader, EVERYTHING, { limit: 10, offset: 0 })).toEqual({ rows: [], total: 0 });
    reader.close();
    writer.close();
  });

  test("a filter value full of SQL is only a value", () => {
    const { reader, writer } = write([{ subject: SUBJECT, ending: ENDING }]);
    const nasty = "x' OR 1=1; DROP TABLE event; --";
    const asked: StatsQuery = {
      ...EVERYTHING,
      filter: { ...EVERYTHING.filter, principal: nasty, clientPrefix: nasty, tags: [nasty] },
      providers: { include: [nasty, '"]'], exclude: [nasty] },
    };
    expect(listRequests(reader, asked, { limit: 10, offset: 0 })).toEqual({ rows: [], total: 0 });
    expect(listRequests(reader, EVERYTHING, { limit: 10, offset: 0 }).total).toBe(1);
    reader.close();
    writer.close();
  });
});
