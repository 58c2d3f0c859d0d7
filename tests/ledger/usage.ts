import * as fc from "fast-check";
import type { Clock } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";
import { createLog } from "#kernel/log.ts";
import type { Quantities } from "#kernel/units.ts";
import type { StatsQuery } from "#stats/store.ts";
import type { UsageEnding, UsageSubject } from "#usage/event.ts";
import { OUTCOMES, RELAY_PROVIDER, USAGE_SHAPES } from "#usage/event.ts";
import { encodeJournalLine } from "#usage/journal-line.ts";

/** 2026-01-01T00:00:00Z. */
export const NEW_YEAR_US = Date.UTC(2026, 0, 1) * 1000;
export const DAY_US = 86_400_000_000;

export const SUBJECT: UsageSubject = {
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
    cacheCreationTokens: null,
  },
  prices: { input_tokens: 2_500_000, output_tokens: null },
  costPico: 175_000_000n,
  unpriced: true,
};

/** Lines that name no number: each means the same wherever it stands. */
export const RUN_LINE = Buffer.from(encodeJournalLine({ kind: "run" }));

export function toBeginLine(sequence: number, subject: UsageSubject): Buffer {
  const { arrivedAtUs, streamed, ...dimensions } = subject;
  return Buffer.from(encodeJournalLine({ kind: "begin", sequence, arrivedAtUs, streamed, dimensions }));
}

export function toEndLine(sequence: number, ending: UsageEnding): Buffer {
  return Buffer.from(encodeJournalLine({ kind: "end", sequence, ending, prices: ending.prices }));
}

export const EVERYTHING: StatsQuery = {
  window: { sinceUs: null, untilUs: null },
  filter: { principal: null, keyId: null, model: null, clientPrefix: null, tags: [], outcomes: null },
  providers: { include: null, exclude: [] },
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

export const arbitrarySubject: fc.Arbitrary<UsageSubject> = fc
  .record({
    arrivedAtUs: arrival,
    principal: fc.constantFrom("alice", "bob"),
    keyId: fc.constantFrom("key-1", "key-2"),
    provider: fc.constantFrom("provider-1", "provider-2", RELAY_PROVIDER),
    model: fc.constantFrom("fast", "slow", null),
    endpoint: fc.constantFrom("chat", "embeddings"),
    client: fc.constantFrom("curl/8.5", "curl/9", "100%_x", "日本/1", null),
    tags: fc.constantFrom([], ["app:checkout"], ["app:checkout", "env:prod"], ["env:prod"]),
    streamed: fc.boolean(),
  })
  .map(({ principal, keyId, provider, ...rest }) =>
    Object.assign(rest, {
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
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Quantities>;

export const arbitraryEnding: fc.Arbitrary<UsageEnding> = fc.record({
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
    fc.record({
      shape: fc.constantFrom(...USAGE_SHAPES),
      quantities,
      cacheCreationTokens: fc.option(tokens),
    }),
  ),
  prices: fc.constantFrom({}, { input_tokens: 2_500_000 }, { input_tokens: 3, output_tokens: null }),
  costPico: fc.option(
    fc.oneof(
      fc.bigInt({ min: 0n, max: 10n ** 12n }),
      fc.constantFrom(999_999_999n, 10n ** 9n, 10n ** 9n + 1n, 10n ** 20n - 1n),
    ),
  ),
  unpriced: fc.boolean(),
});

export interface RandomUsage {
  readonly subject: UsageSubject;
  readonly ending: UsageEnding;
}

export const arbitraryUsage: fc.Arbitrary<RandomUsage> = fc.record({
  subject: arbitrarySubject,
  ending: arbitraryEnding,
});
