import * as fc from "fast-check";
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";
import { createLog } from "#kernel/log.ts";
import type { PriceSet, Quantities } from "#kernel/units.ts";
import { filterBy } from "#stats/filter.ts";
import type { StatsQuery } from "#stats/store.ts";
import {
  openForReading,
  openForWriting,
  prepareUsageDatabase,
} from "#storage/sqlite/ledger/file/database.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import { priceUsage } from "#usage/cost.ts";
import type { Outcome, Settlement, UsageEnding, UsageBeginning } from "#usage/event.ts";
import { OUTCOMES, PENDING_USAGE, RELAY_PROVIDER, USAGE_SHAPES } from "#usage/event.ts";
import { JournalEncoder } from "#usage/recorder.ts";
import { encodeJournalLine } from "#usage/journal-line.ts";
import { LineBuffer } from "#usage/plain-line.ts";
import { openSqliteWriter } from "../support/sqlite-writer.ts";

/** 2026-01-01T00:00:00Z. */
export const NEW_YEAR_US = Date.UTC(2026, 0, 1) * 1000;
export const DAY_US = 86_400_000_000;

export const SUBJECT: UsageBeginning = {
  arrivedAtUs: NEW_YEAR_US,
  principalId: "principal-1",
  principalName: "alice",
  keyId: "key-1",
  relayTokenId: null,
  providerId: "provider-1",
  model: "fast",
  upstreamName: "fast-2026",
  endpoint: "chat",
  client: "curl/8.5",
  tags: ["app:checkout"],
  fixedTags: [],
  streamed: false,
};

export const ENDING: UsageEnding = {
  statusCode: 200,
  outcome: "ok",
  errorKind: null,
  durationUs: 1_500_000,
  timeToFirstByteUs: 300_000,
  usage: {
    shape: "inclusive",
    quantities: { input_tokens: 100, output_tokens: 20, cached_input_tokens: 30 },
  },
  prices: { input_tokens: 2_500_000, output_tokens: null },
  costPico: 175_000_000n,
  unpriced: true,
};

/** Lines that name no number: each means the same wherever it stands. */
export const RUN_LINE = Buffer.from(encodeJournalLine({ kind: "run" }));

export function toBeginLine(sequence: number, subject: UsageBeginning): Buffer {
  const { arrivedAtUs, streamed, ...dimensions } = subject;
  return Buffer.from(encodeJournalLine({ kind: "begin", sequence, arrivedAtUs, streamed, dimensions }));
}

export function toSettleLine(settlement: Settlement): Buffer {
  return Buffer.from(encodeJournalLine({ kind: "settle", settlement }));
}

export function toEndLine(sequence: number, ending: UsageEnding): Buffer {
  return Buffer.from(encodeJournalLine({ kind: "end", sequence, ending, prices: ending.prices }));
}

/** The lines that a server writes, which give numbers and name them. */
export class LineEncoder {
  readonly #lines = new LineBuffer(1024);
  readonly #encoder = new JournalEncoder(this.#lines);

  begin(segment: number, sequence: number, subject: UsageBeginning): Buffer {
    this.#encoder.enter(segment);
    this.#encoder.begin(sequence, subject);
    return this.#take();
  }

  end(segment: number, sequence: number, ending: UsageEnding): Buffer {
    this.#encoder.enter(segment);
    this.#encoder.end(sequence, ending);
    return this.#take();
  }

  #take(): Buffer {
    const { bytes, sizeBytes } = this.#lines;
    const taken = Buffer.from(bytes.subarray(0, sizeBytes));
    this.#lines.drop(sizeBytes);
    return taken;
  }
}

export const EVERYTHING: StatsQuery = {
  window: { sinceUs: null, untilUs: null },
  filter: filterBy({}),
  providers: { include: null, exclude: [] },
  principalId: null,
};

export interface ManualClock extends Clock {
  now: number;
}

export function createManualClock(now = NEW_YEAR_US): ManualClock {
  return {
    now,
    nowUs() {
      return this.now;
    },
    monotonicMs: () => performance.now(),
  };
}

export function createTestLog(): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = [];
  const log = createLog({
    level: "debug",
    json: false,
    timestamp: () => "",
    write: (line) => void lines.push(line),
  });
  return { log, lines };
}

/** Few values of each, so that combinations and hours are met again; a third of a year, so that days and months are. */
const arrival = fc
  .tuple(
    fc.constantFrom(0, 1, 2, 3, 29, 30, 31, 32, 58, 59, 60, 100),
    fc.constantFrom(0, 3_599_999_999, 3_600_000_000, 43_200_000_000, DAY_US - 1),
    fc.integer({ min: 0, max: 2 }),
  )
  .map(([days, withinDay, micros]) => NEW_YEAR_US + days * DAY_US + withinDay + micros);

/** Retention passes it over. */
/** The end of an answer in the background, whose usage is still to come. */
export const PENDING: UsageEnding = {
  ...ENDING,
  usage: PENDING_USAGE,
  prices: {},
  costPico: null,
  unpriced: false,
};

export function isPending({ usage }: Pick<UsageEnding, "usage">): boolean {
  return usage?.shape === "pending";
}

export const arbitrarySubject: fc.Arbitrary<UsageBeginning> = fc
  .record({
    arrivedAtUs: arrival,
    principal: fc.constantFrom("alice", "bob"),
    keyId: fc.constantFrom("key-1", "key-2"),
    provider: fc.constantFrom("provider-1", "provider-2", RELAY_PROVIDER),
    model: fc.constantFrom("fast", "slow", null),
    endpoint: fc.constantFrom("chat", "embeddings"),
    client: fc.constantFrom("curl/8.5", "curl/9", "100%_x", "日本/1", null),
    tags: fc.constantFrom([], ["app:checkout"], ["app:checkout", "env:prod"], ["env:prod"]),
    fixed: fc.integer({ min: 0, max: 2 }),
    streamed: fc.boolean(),
  })
  .map(({ principal, keyId, provider, fixed, ...rest }) =>
    Object.assign(rest, {
      fixedTags: rest.tags.slice(0, fixed),
      principalId: `id-of-${principal}`,
      principalName: principal,
      keyId: provider === RELAY_PROVIDER ? null : keyId,
      relayTokenId: provider === RELAY_PROVIDER ? "token-1" : null,
      providerId: provider,
      upstreamName: rest.model === null ? null : `${rest.model}-2026`,
    }),
  );

const tokens = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 5000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 ** 40 }) },
);
const quantities = fc.record(
  {
    input_tokens: tokens,
    output_tokens: tokens,
    cached_input_tokens: tokens,
    audio_seconds: fc.oneof(fc.integer({ min: 0, max: 600 }), fc.double({ min: 0, max: 600, noNaN: true })),
    cache_write_tokens: tokens,
    cache_write_1h_tokens: tokens,
    input_audio_tokens: tokens,
    input_image_tokens: tokens,
    output_audio_tokens: tokens,
    images: fc.nat({ max: 9 }),
    search_units: fc.nat({ max: 9 }),
    web_searches: fc.nat({ max: 9 }),
    requests: fc.constant(1),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Quantities>;

/** A tier and a region have the prices that name both of them, or none; events of before do not say what they lack. */
const conditions = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Partial<UsageEnding>>(
      { tier: "flex", prices: {} },
      { tier: "flex", prices: { lacks: "tier" } },
      { geo: "us", prices: { lacks: "geo" } },
      { geo: "us", prices: { input_tokens: 7, when: { geo: "us" } } },
      {
        tier: "flex",
        geo: "us",
        prices: { output_tokens: 9, when: { tier: "flex", inputOver: 9, geo: "us" } },
      },
      { failure: "refused" },
    ),
  },
);
const costReported = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc
      .oneof(fc.bigInt({ min: 0n, max: 3_000_000_000n }), fc.constantFrom(0n, 999_999_999n, 10n ** 21n))
      .map((costReportedPico) => ({ costReportedPico })),
  },
);
export const arbitraryEnding: fc.Arbitrary<UsageEnding> = fc
  .record({
    statusCode: fc.constantFrom(200, 429, 502, 499),
    outcome: fc.constantFrom(...OUTCOMES),
    errorKind: fc.constantFrom(null, "rate_limit_error", "timeout"),
    durationUs: fc.oneof(
      fc.constantFrom(
        0,
        999_999,
        1_000_000,
        4_999_999,
        14_999_999,
        29_999_999,
        59_999_999,
        119_999_999,
        120_000_000,
      ),
      fc.integer({ min: 0, max: 200_000_000 }),
    ),
    timeToFirstByteUs: fc.option(fc.integer({ min: 0, max: 1_000_000 })),
    usage: fc.option(
      fc
        .record({
          shape: fc.constantFrom(...USAGE_SHAPES),
          quantities,
        })
        // A pending event has told nothing yet.
        .map((usage) => (usage.shape === "pending" ? PENDING_USAGE : usage)),
    ),
    prices: fc.constantFrom<PriceSet>(
      {},
      { input_tokens: 2_500_000 },
      { input_tokens: 3, output_tokens: null },
      { input_tokens: 3, cache_write_tokens: 4, cache_write_1h_tokens: 6 },
      { cache_write_1h_tokens: 6 },
      { input_tokens: 5, input_audio_tokens: 7, input_image_tokens: 11, output_audio_tokens: 13 },
      { images: 40_000_000_000, search_units: 2_000_000_000, requests: 1_000_000 },
      { web_searches: 10_000_000_000, requests: null },
      { output_tokens: 50_000_000, cached_input_tokens: 0, audio_seconds: 100_000_000 },
    ),
  })
  .chain((ending) => fc.tuple(conditions, costReported).map((more) => Object.assign({}, ending, ...more)))
  // The priced quantities follow from the rest, as it does in every event that is recorded.
  .map((ending) => Object.assign(ending, priceUsage(ending.usage, ending.prices)));

export interface RandomUsage {
  readonly subject: UsageBeginning;
  readonly ending: UsageEnding;
}

export const arbitraryUsage: fc.Arbitrary<RandomUsage> = fc.record({
  subject: arbitrarySubject,
  ending: arbitraryEnding,
});

/** Null in every second case, else one value or two. */
const someOf = (...values: readonly string[]) =>
  fc.option(fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 2 }), { freq: 1 });
const seldom = <Value>(values: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: values });
const CLIENT_ERRORS = { from: 400, to: 500 };

export const arbitraryQuery = (instant: fc.Arbitrary<number>): fc.Arbitrary<StatsQuery> =>
  fc.record({
    window: fc.record({ sinceUs: fc.option(instant), untilUs: fc.option(instant) }),
    filter: fc.record({
      principals: someOf("alice", "bob", "nobody"),
      keyIds: someOf("key-1", "token-1"),
      models: someOf("fast", "slow", "FAST"),
      clientPrefixes: someOf("curl", "curl/8", "100%", "1__", "%", "日", "CURL"),
      clientVersions: seldom(fc.constantFrom(["curl/8.5"], ["curl"], ["日"])),
      tags: fc.constantFrom([], [], ["app:checkout"], ["env:prod", "app:checkout"], ["no:such"]),
      outcomes: fc.constantFrom<readonly Outcome[] | null>(null, null, ["ok"], OUTCOMES.slice(1), [
        "cancelled",
      ]),
      errorKinds: seldom(fc.constantFrom(["timeout"], ["rate_limit_error", "timeout"], ["none"])),
      statuses: seldom(
        fc.constantFrom([{ from: 429, to: 430 }], [CLIENT_ERRORS], [CLIENT_ERRORS, { from: 200, to: 201 }]),
      ),
      tiers: seldom(fc.constantFrom(["flex"], ["standard"], ["standard", "flex"], ["none-such"])),
      rows: seldom(
        fc.record({
          isUnpriced: fc.boolean(),
          minCostPico: fc.option(fc.constantFrom(0n, 1n, 9_000_000_000n), { freq: 1 }),
          maxCostPico: fc.option(fc.constantFrom(0n, 5_000_000_000n), { freq: 1 }),
          minDurationUs: fc.option(fc.constantFrom(1, 1_000_000), { freq: 1 }),
          maxDurationUs: fc.option(fc.constantFrom(0, 14_999_999, 119_999_999), { freq: 1 }),
        }),
      ),
    }),
    providers: fc.constantFrom(
      { include: null, exclude: [] },
      { include: ["provider-1"], exclude: [] },
      { include: [RELAY_PROVIDER], exclude: [] },
      { include: [], exclude: [] },
      { include: null, exclude: ["provider-1", RELAY_PROVIDER] },
    ),
    principalId: fc.option(fc.constantFrom("id-of-alice", "id-of-bob", "alice"), { freq: 1 }),
  });

export interface WriteOptions {
  readonly sealBeforeUs?: number;
  readonly pruneBeforeUs?: number;
  /** Written when days are sealed and rows removed. */
  readonly late?: readonly RandomUsage[];
}

/** A usage.db in a folder that it makes, written as the ledger does. */
export function writeUsages(
  directory: string,
  usages: readonly RandomUsage[],
  { sealBeforeUs = 0, pruneBeforeUs = 0, late = [] }: WriteOptions = {},
) {
  mkdirSync(directory, { recursive: true });
  const databasePath = join(directory, "usage.db");
  prepareUsageDatabase(databasePath);
  const database = openForWriting(databasePath);
  database.run("PRAGMA synchronous = OFF");
  const writer = openSqliteWriter({
    database,
    journalDirectory: directory,
    onDamage: () => {},
  });
  const append = (some: readonly RandomUsage[]) => {
    const lines = some.flatMap(({ subject, ending }, index) => [
      toBeginLine(index, subject),
      toEndLine(index, ending),
    ]);
    appendFileSync(segmentPath(directory, 1), Buffer.concat(lines));
    while (writer.writeBatch());
  };
  append(usages);
  while (writer.seal(sealBeforeUs / DAY_US));
  while (writer.prune(pruneBeforeUs));
  append(late);
  return { reader: openForReading(databasePath), writer, append, databasePath };
}
