import * as fc from "fast-check";
import { arbitraryConditions, arbitraryModelPrices, toApplied, toMoney } from "./pricing.ts";
import { PENDING_USAGE, type ReportedUsage, type UsageEvent } from "#usage/event.ts";

const RELAY = "transparent:messages";
const MINUTE_US = 60_000_000;
const HOUR_US = 60 * MINUTE_US;
export const DAY_US = 24 * HOUR_US;

/** Ids that the catalog of a test gave. */
export interface Cast {
  readonly aliceId: string;
  readonly bobId: string;
  readonly aliceKeyId: string;
  readonly bobKeyId: string;
  /** The provider `openai`; one of that name was deleted before. */
  readonly openaiId: string;
  readonly localId: string;
}

/** Where calendars are difficult. */
export const SCENES_US = [
  "2024-02-27",
  "2024-12-29",
  "2025-12-29",
  "2026-01-29",
  "2026-02-26",
  "2026-06-28",
  "2028-02-27",
].map((date) => Date.parse(date) * 1000);

/** Days from the scene's start that hold events: neighbours, a week on, months on. */
export const DAYS = [0, 1, 2, 3, 4, 7, 8, 31, 33, 62] as const;

/** Moments of a day with an edge of something close by. */
const withinDay = fc
  .tuple(
    fc.constantFrom(0, HOUR_US, 6 * HOUR_US, 23 * HOUR_US, DAY_US),
    fc.constantFrom(-HOUR_US, -2, -1, 0, 0, 1, 2, 30 * MINUTE_US),
  )
  .map(([edge, beside]) => edge + beside);

export const arbitraryArrival = (sceneUs: number) =>
  fc.tuple(fc.constantFrom(...DAYS), withinDay).map(([day, within]) => sceneUs + day * DAY_US + within);

export const MODELS = ["fast", "fast-2", "Renamed", "team/slow"] as const;
export const CLIENTS = [
  "curl/8.5",
  "curl/9",
  "Curl/8",
  "100%_x",
  "1000",
  "日本語/1",
  "🦊fox",
  "=cmd",
] as const;
const TAG_SETS = [
  [],
  ["app:checkout"],
  ["app:checkout", "env:prod"],
  ["app-x:1"],
  ["app:search", "env:prod", "team:a.b_c"],
  ["env:prod"],
];

const who = (cast: Cast) =>
  fc.constantFrom(
    { principalId: cast.aliceId, principalName: "alice", keyId: cast.aliceKeyId },
    { principalId: cast.aliceId, principalName: "alice", keyId: "key-deleted" },
    { principalId: cast.bobId, principalName: "bob", keyId: cast.bobKeyId },
    // There was another alice before this one.
    { principalId: "principal-deleted", principalName: "alice", keyId: "key-of-old-alice" },
    { principalId: "principal-gone", principalName: "carol", keyId: "key-of-carol" },
  );

const tokens = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 50_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, 19.5, 0.25, 2 ** 40) },
);
/** Seconds with whatever digits; none so many that their sum in microseconds passes 2^53. */
const audio = fc.oneof(
  fc.integer({ min: 0, max: 3600 }),
  fc.double({ min: 0, max: 3600, noNaN: true }),
  fc.constantFrom(0.1, 0.2, 0.000_000_4, 0.000_000_5, 29.999_999_9),
);
const told = fc.option(
  fc.record({
    shape: fc.constantFrom("inclusive", "exclusive"),
    quantities: fc.record(
      {
        input_tokens: tokens,
        output_tokens: tokens,
        cached_input_tokens: tokens,
        audio_seconds: audio,
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
    ),
  }),
  { freq: 6 },
);
export const arbitraryUsageTold = told as fc.Arbitrary<ReportedUsage | null>;
const usage = fc.oneof({ weight: 9, arbitrary: told }, { weight: 1, arbitrary: fc.constant(PENDING_USAGE) });
const ending = fc.constantFrom(
  { outcome: "ok", statusCode: 200, errorKind: null },
  { outcome: "ok", statusCode: 200, errorKind: null },
  { outcome: "ok", statusCode: 302, errorKind: null },
  { outcome: "cancelled", statusCode: 499, errorKind: null },
  { outcome: "cancelled", statusCode: 200, errorKind: null },
  { outcome: "upstream_error", statusCode: 429, errorKind: "rate_limit_error" },
  { outcome: "upstream_error", statusCode: 500, errorKind: "rate_limit_error" },
  { outcome: "upstream_error", statusCode: 200, errorKind: "overloaded_error" },
  { outcome: "unreachable", statusCode: 502, errorKind: "timeout" },
  { outcome: "unreachable", statusCode: 502, errorKind: "connection_error" },
  { outcome: "unreachable", statusCode: 502, errorKind: "connection_error", failure: "refused" },
  { outcome: "unreachable", statusCode: 502, errorKind: "connection_error", failure: "tls" },
);
/** Events of before there were variants do not say what they lack. */
const before = { tier: "flex", prices: {} };
const costReported = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc
      .oneof(fc.bigInt({ min: 0n, max: 5_000_000_000n }), fc.constantFrom(0n, 999_999_999n, 10n ** 15n))
      .map((costReportedPico) => ({ costReportedPico })),
  },
);
const durationUs = fc.oneof(
  fc.constantFrom(...[1, 5, 15, 30, 60, 120].flatMap((edge) => [edge * 1e6 - 1, edge * 1e6])),
  fc.integer({ min: 0, max: 200_000_000 }),
  fc.constant(0),
);

/** Any event there can be, with the cost that its prices make. */
export function arbitraryEvent(cast: Cast, sceneUs: number): fc.Arbitrary<UsageEvent> {
  return fc
    .record({
      who: who(cast),
      arrivedAtUs: arbitraryArrival(sceneUs),
      providerId: fc.constantFrom(cast.openaiId, cast.localId, "deleted-1", "deleted-2", RELAY),
      model: fc.constantFrom(...MODELS, null),
      endpoint: fc.constantFrom("chat", "completions", "embeddings"),
      client: fc.constantFrom(...CLIENTS, "", null),
      tags: fc.constantFrom(...TAG_SETS),
      fixed: fc.integer({ min: 0, max: 2 }),
      streamed: fc.boolean(),
      ending,
      durationUs,
      timeToFirstByteUs: fc.option(fc.integer({ min: 0, max: 1_000_000 })),
      usage,
      priced: arbitraryModelPrices,
      conditions: arbitraryConditions,
      isFormer: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
      costReported,
    })
    .map(
      ({
        who: caller,
        ending: ended,
        fixed,
        priced,
        conditions,
        isFormer,
        costReported: reported,
        ...drawn
      }) => {
        const facts = { ...conditions, usage: drawn.usage, endedAtUs: drawn.arrivedAtUs + drawn.durationUs };
        const applied = isFormer ? before : { ...conditions, prices: toApplied(priced, facts) };
        const rest = { ...drawn, ...applied, ...reported };
        const isRelay = rest.providerId === RELAY;
        return Object.assign({}, rest, ended, caller, toMoney(rest), {
          fixedTags: rest.tags.slice(0, fixed),
          keyId: isRelay ? null : caller.keyId,
          relayTokenId: isRelay ? `token-of-${caller.principalName}` : null,
          // Only a relayed call may have none.
          model: isRelay ? rest.model : (rest.model ?? "fast"),
          upstreamName: rest.model === null ? null : `${rest.model}-upstream`,
          endpoint: isRelay ? "/v1/messages" : rest.endpoint,
        });
      },
    );
}
