import * as fc from "fast-check";
import { formatInstant } from "#kernel/clock.ts";
import type { Outcome } from "#usage/event.ts";
import type { BucketName } from "./calendar.ts";
import type { Cast } from "./events.ts";
import { CLIENTS, DAY_US, DAYS } from "./events.ts";
import type { BreakdownSort, GroupQuestion, Question } from "./oracle.ts";

const HOUR_US = 3_600_000_000;
const MINUTE_US = 60_000_000;

/** The reports; one's own takes no filters. */
const REPORTS = [
  { path: "/stats/series", report: "series", grouping: "team", isOwn: false },
  { path: "/stats/summary", report: "summary", grouping: "team", isOwn: false },
  { path: "/stats/requests", report: "requests", grouping: "team", isOwn: false },
  { path: "/stats/requests/facets", report: "facets", grouping: "team", isOwn: false },
  { path: "/stats/errors", report: "errors", grouping: "team", isOwn: false },
  { path: "/stats/breakdown", report: "breakdown", grouping: "team", isOwn: false },
  { path: "/stats/breakdown", report: "breakdown", grouping: "team", isOwn: false },
  { path: "/stats/what-if", report: "what-if", grouping: "team", isOwn: false },
  { path: "/admin/v1/requests", report: "requests", grouping: "team", isOwn: false },
  { path: "/admin/v1/usage/summary", report: "summary", grouping: "admin", isOwn: false },
  { path: "/admin/v1/usage/series", report: "series", grouping: "admin", isOwn: false },
  { path: "/admin/v1/usage/missing-prices", report: "missing", grouping: "admin", isOwn: false },
  { path: "/my/usage", report: "summary", grouping: "own", isOwn: true },
  { path: "/my/usage/series", report: "series", grouping: "own", isOwn: true },
  { path: "/my/usage/breakdown", report: "breakdown", grouping: "own", isOwn: true },
] as const;

/** A value as it is meant and as it is spelled. */
interface Spelled<Meaning> {
  readonly meaning: Meaning;
  readonly text: string;
}

const same = <Text extends string>(text: Text): Spelled<Text> => ({ meaning: text, text });

const as = <Meaning>(text: string, meaning: Meaning): Spelled<Meaning> => ({ text, meaning });

/** Nothing is asked, or an empty parameter stands there. */
const sometimes = <Meaning>(
  values: fc.Arbitrary<Spelled<Meaning>>,
  weight = 1,
): fc.Arbitrary<Spelled<Meaning | null> | null> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constant({ meaning: null, text: "" }) },
    { weight: weight * 3, arbitrary: values },
  );

/** Instants close to where events and buckets begin and end. */
function arbitraryInstant(sceneUs: number): fc.Arbitrary<number> {
  const edge = fc
    .tuple(
      fc.constantFrom(-40, -1, ...DAYS, 5, 32, 63, 64, 100),
      fc.constantFrom(0, 0, HOUR_US, 6 * HOUR_US, 23 * HOUR_US, 5 * HOUR_US + 30 * MINUTE_US),
      fc.constantFrom(-1, 0, 0, 0, 1, 2, 500_000),
    )
    .map(([day, within, beside]) => sceneUs + day * DAY_US + within + beside);
  const calendar = fc
    .tuple(
      fc.constantFrom("2024-02-29", "2024-03-01", "2025-01-01", "2026-01-01", "2026-03-01", "2028-02-29"),
      fc.constantFrom(-1, 0, 1, DAY_US - 1, DAY_US),
    )
    .map(([date, beside]) => Date.parse(date) * 1000 + beside);
  return fc.oneof({ weight: 5, arbitrary: edge }, { weight: 1, arbitrary: calendar });
}

/** One instant in one of the spellings that a client may choose. */
function spell(instantUs: number, style: number): string {
  const utc = formatInstant(instantUs);
  const isWholeSecond = instantUs % 1_000_000 === 0;
  if (style === 0 && instantUs % DAY_US === 0) return utc.slice(0, 10);
  if (style === 1) return utc.slice(0, -1);
  if (style === 2 && isWholeSecond) return `${utc.slice(0, 19)}Z`;
  // A zone to the east is ahead: the same moment has a later local time.
  if (style === 3) return `${formatInstant(instantUs + 5.5 * HOUR_US).slice(0, -1)}+05:30`;
  if (style === 4) return `${formatInstant(instantUs + 2 * HOUR_US).slice(0, -1)} 02:00`;
  if (style === 5) return `${formatInstant(instantUs - 8 * HOUR_US).slice(0, -1)}-0800`;
  return utc;
}

const arbitraryBound = (sceneUs: number): fc.Arbitrary<Spelled<number | null> | null> =>
  sometimes(
    fc
      .tuple(arbitraryInstant(sceneUs), fc.nat({ max: 6 }))
      .map(([meaning, style]) => ({ meaning, text: spell(meaning, style) })),
    3,
  );

const OUTCOMES: readonly Spelled<readonly Outcome[]>[] = [
  ...(["ok", "cancelled", "upstream_error", "unreachable"] as const).map((outcome) => as(outcome, [outcome])),
  as("failed", ["upstream_error", "unreachable", "cancelled"] as const),
];

const TAGS: readonly Spelled<string>[] = [
  ...["app:checkout", "env:prod", "team:a.b_c", "no:such", "app"].map(same),
  as(" APP:Checkout ", "app:checkout"),
];

const TIERS = ["standard", "flex", "priority", "none"].map(same);

type GroupedBy = GroupQuestion["by"];

const LABELS: readonly Spelled<GroupedBy>[] = [
  ...(
    [
      ...(["model", "principal", "provider", "client", "key", "tier"] as const),
      ...(["tag:app", "tag:env", "tag:app-x", "tag:no"] as const),
    ] as const
  ).map(same),
  as("tag: APP", "tag:app"),
];
const GROUPED_BY: readonly Spelled<GroupedBy>[] = [
  ...LABELS,
  ...["tag", "tag:", "tag:a:b", "tag:-", "Model", "outcome"].map((text) => as(text, "refused" as const)),
];

/** Numbers; what is none, or out of bounds, means the default. */
const number = (allowed: readonly number[], others: readonly string[], fallback: number) =>
  fc.constantFrom<Spelled<number> | null>(
    null,
    ...allowed.map((value) => as(String(value), value)),
    ...others.map((text) => as(text, fallback)),
  );

/** Each value with its text; an empty one means nothing. */
type Several<Meaning> = readonly Spelled<Meaning | null>[];

/** Nothing, one value or several, and perhaps an empty one among them. */
const anyOf = <Meaning>(values: readonly Spelled<Meaning>[], weight = 3): fc.Arbitrary<Several<Meaning>> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.constant([{ text: "", meaning: null }]) },
    {
      weight,
      arbitrary: fc.array(
        fc.constantFrom<Spelled<Meaning | null>>(...values, ...values, { text: "", meaning: null }),
        {
          minLength: 1,
          maxLength: 3,
        },
      ),
    },
  );

const toMeanings = <Meaning>(values: Several<Meaning>): readonly Meaning[] =>
  values.flatMap(({ meaning }) => (meaning === null ? [] : [meaning]));

/** Rare, since each of them leaves little. */
const bound = <Meaning>(...values: readonly Spelled<Meaning>[]) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constant({ text: "", meaning: null }) },
    { weight: 2, arbitrary: fc.constantFrom(...values) },
  );

const costs = bound(
  as("0", 0n),
  as("0.000000000001", 1n),
  as("0.01", 10_000_000_000n),
  as("12.5", 12_500_000_000_000n),
);
const durations = bound(
  as("0", 0),
  as("999.999", 999_999),
  as("1000", 1_000_000),
  as("59999.999", 59_999_999),
);

const sorts: readonly BreakdownSort[] = [
  "cost",
  "cost_per_request",
  "requests",
  "failed",
  "failed_share",
  "cancelled",
  "unpriced",
  "unmetered",
  "p50",
  "p95",
];

/** Parameters that are said once, by their names, but for the two of the name `order`: of the log, and of groups. */
const arbitraryOnce = (sceneUs: number) =>
  fc.record({
    since: arbitraryBound(sceneUs),
    until: arbitraryBound(sceneUs),
    bucket: sometimes<BucketName>(fc.constantFrom(same("hour"), same("day"), same("week"), same("month")), 4),
    limit: number([1, 7, 500], ["501", "0", "x"], 100),
    offset: fc.oneof(
      number([], ["-1", "1.5"], 0),
      fc.nat({ max: 60 }).map((skip) => as(String(skip), skip)),
    ),
    counts: sometimes(fc.constantFrom(as("1", true), as("0", false), as("true", false)), 4),
    cache: sometimes(fc.constantFrom(as("1", true), as("0", false)), 4),
    by: fc.constantFrom<Spelled<Question["by"]>>(same("endpoint"), same("hour"), ...LABELS, ...GROUPED_BY),
    sort: fc.option(
      fc.constantFrom<Spelled<BreakdownSort>>(...sorts.map(same), as("", "cost"), as("tokens", "refused")),
      {
        freq: 4,
      },
    ),
    logOrder: fc.option(
      fc.constantFrom<Spelled<Question["order"]>>(
        ...(["newest", "oldest", "cost", "duration"] as const).map(same),
        as("", "newest"),
        as("tokens", "refused"),
      ),
      { freq: 2 },
    ),
    group_by: fc.oneof(
      { weight: 4, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.constant(as("", null)) },
      { weight: 6, arbitrary: fc.constantFrom(...LABELS) },
      { weight: 1, arbitrary: fc.constantFrom(...GROUPED_BY) },
    ),
    groupOrder: sometimes(fc.constantFrom(same("cost"), same("requests"), same("tokens"))),
    top: number([1, 2, 3, 100], ["0", "101", "x"], 10),
    unpriced: fc.oneof(
      { weight: 8, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.constant(as("", false)) },
      { weight: 1, arbitrary: fc.constant(as("true", true)) },
    ),
    min_cost: costs,
    max_cost: costs,
    min_duration_ms: durations,
    max_duration_ms: durations,
  });

/** Filters that may have several values. */
const arbitrarySeveral = (cast: Cast) =>
  fc.record({
    principal: anyOf(["alice", "bob", "carol", "Alice", "nobody"].map(same)),
    key: anyOf([cast.aliceKeyId, "key-deleted", "token-of-bob", "none"].map(same)),
    provider: anyOf(["openai", "local", "(deleted)", "transparent:messages", "deleted-1", "none"].map(same)),
    model: anyOf(["fast", "Renamed", "renamed", "team/slow", "fas"].map(same)),
    client: anyOf(["curl", "curl/8.5", "C", "%", "100%", "100_", "1", "日", "🦊", ...CLIENTS].map(same)),
    outcome: anyOf(OUTCOMES),
    error_kind: anyOf(["timeout", "rate_limit_error", "connection_error", "none"].map(same), 1),
    status: anyOf(["200", "429", "4xx", "5xx", "302"].map(same), 1),
    tier: anyOf([...TIERS, as("Priority+Fast", "priority+fast"), as("default", "standard")], 1),
    tag: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 2, arbitrary: fc.array(fc.constantFrom(...TAGS), { maxLength: 4 }) },
    ),
  });

type Drawn<Value> = Value extends fc.Arbitrary<infer Drawing> ? Drawing : never;

interface Chosen {
  readonly asked: (typeof REPORTS)[number];
  readonly once: Drawn<ReturnType<typeof arbitraryOnce>>;
  readonly several: Drawn<ReturnType<typeof arbitrarySeveral>>;
}

/** Any question to any report: what is meant, and its path and query as a client spells them. */
export function arbitraryQuestion(cast: Cast, sceneUs: number): fc.Arbitrary<Question> {
  return fc
    .record({
      asked: fc.constantFrom(...REPORTS),
      once: arbitraryOnce(sceneUs),
      several: arbitrarySeveral(cast),
    })
    .map((chosen) => toQuestion(cast, chosen));
}

/** Every parameter is said, also to reports that do not take it: those must not care. */
function toQuestion(cast: Cast, { asked, once, several }: Chosen): Question {
  const { path, report, grouping, isOwn } = asked;
  const { logOrder, groupOrder, ...said } = once;
  const query = new URLSearchParams();
  const parameters = { ...said, order: report === "requests" ? logOrder : groupOrder, ...several };
  for (const [name, values] of Object.entries(parameters))
    for (const value of [values].flat()) if (value !== null) query.append(name, value.text);
  const toFilter = <Meaning>(values: Several<Meaning>) => (isOwn ? [] : toMeanings(values));
  const toBound = <Meaning>(value: Spelled<Meaning | null> | null) =>
    isOwn ? null : (value?.meaning ?? null);
  // There is one principal in one's own usage.
  const toLabel = <Label>(label: Label) => (isOwn && label === "principal" ? "refused" : label);
  const groupBy = once.group_by?.meaning ?? null;
  return {
    path: `${path}?${query.toString()}`,
    report,
    grouping,
    principalId: isOwn ? cast.bobId : null,
    principals: toFilter(several.principal),
    keyIds: toFilter(several.key),
    providers: toFilter(several.provider),
    models: toFilter(several.model),
    clientPrefixes: toFilter(several.client),
    tags: toFilter(several.tag),
    outcomes: toFilter(several.outcome).flat(),
    errorKinds: toFilter(several.error_kind),
    statuses: toFilter(several.status),
    tiers: toFilter(several.tier),
    isUnpriced: toBound(once.unpriced) === true,
    minCostPico: toBound(once.min_cost),
    maxCostPico: toBound(once.max_cost),
    minDurationUs: toBound(once.min_duration_ms),
    maxDurationUs: toBound(once.max_duration_ms),
    by: toLabel(once.by.meaning),
    sort: once.sort?.meaning ?? "cost",
    order: logOrder?.meaning ?? "newest",
    sinceUs: once.since?.meaning ?? null,
    untilUs: once.until?.meaning ?? null,
    bucket: once.bucket?.meaning ?? "day",
    // An admin's series has no groups.
    groupBy:
      groupBy === null || report !== "series" || grouping === "admin"
        ? null
        : {
            by: toLabel(groupBy),
            order: groupOrder?.meaning ?? "cost",
            top: once.top?.meaning ?? 10,
          },
    limit: once.limit?.meaning ?? 100,
    offset: once.offset?.meaning ?? 0,
    counts: once.counts?.meaning ?? false,
    cache: once.cache?.meaning ?? false,
  };
}
