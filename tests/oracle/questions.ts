import * as fc from "fast-check";
import { formatInstant } from "#kernel/clock.ts";
import type { Outcome } from "#usage/event.ts";
import type { BucketName } from "./calendar.ts";
import type { Cast } from "./events.ts";
import { CLIENTS, DAY_US, DAYS } from "./events.ts";
import type { BreakdownSort, GroupQuestion, Question } from "./oracle.ts";

const HOUR_US = 3_600_000_000;
const MINUTE_US = 60_000_000;

/** The reports, whose they are, and which parameters they take. */
const REPORTS = [
  { path: "/stats/series", report: "series", grouping: "team", filters: "all", own: false },
  { path: "/stats/summary", report: "summary", grouping: "team", filters: "all", own: false },
  {
    path: "/stats/requests",
    report: "requests",
    grouping: "team",
    filters: "all",
    own: false,
  },
  {
    path: "/stats/requests/facets",
    report: "facets",
    grouping: "team",
    filters: "all",
    own: false,
  },
  { path: "/stats/errors", report: "errors", grouping: "team", filters: "all", own: false },
  {
    path: "/admin/v1/requests",
    report: "requests",
    grouping: "team",
    filters: "all",
    own: false,
  },
  {
    path: "/admin/v1/usage/summary",
    report: "summary",
    grouping: "admin",
    filters: "all",
    own: false,
  },
  {
    path: "/admin/v1/usage/series",
    report: "series",
    grouping: "admin",
    filters: "all",
    own: false,
  },
  { path: "/stats/breakdown", report: "breakdown", grouping: "team", filters: "all", own: false },
  { path: "/stats/breakdown", report: "breakdown", grouping: "team", filters: "all", own: false },
  { path: "/my/usage/breakdown", report: "breakdown", grouping: "own", filters: "none", own: true },
  { path: "/my/usage", report: "summary", grouping: "own", filters: "none", own: true },
  { path: "/my/usage/series", report: "series", grouping: "own", filters: "none", own: true },
  {
    path: "/admin/v1/usage/missing-prices",
    report: "missing",
    grouping: "admin",
    filters: "all",
    own: false,
  },
] as const;

/** A value as it is meant and as it is spelled. */
interface Spelled<Meaning> {
  readonly meaning: Meaning;
  readonly text: string;
}

const same = <Text extends string>(text: Text): Spelled<Text> => ({ meaning: text, text });

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
  { text: "ok", meaning: ["ok"] },
  { text: "cancelled", meaning: ["cancelled"] },
  { text: "upstream_error", meaning: ["upstream_error"] },
  { text: "unreachable", meaning: ["unreachable"] },
  { text: "failed", meaning: ["upstream_error", "unreachable", "cancelled"] },
];

const TAGS: readonly Spelled<string>[] = [
  same("app:checkout"),
  same("env:prod"),
  same("team:a.b_c"),
  same("no:such"),
  same("app"),
  { text: " APP:Checkout ", meaning: "app:checkout" },
];

const page = fc.record({
  limit: fc.constantFrom<Spelled<number> | null>(
    null,
    { text: "1", meaning: 1 },
    { text: "7", meaning: 7 },
    { text: "500", meaning: 500 },
    { text: "501", meaning: 100 },
    { text: "0", meaning: 100 },
    { text: "x", meaning: 100 },
  ),
  offset: fc.oneof(
    fc.constantFrom<Spelled<number> | null>(null, { text: "-1", meaning: 0 }, { text: "1.5", meaning: 0 }),
    fc.nat({ max: 60 }).map((offset) => ({ text: String(offset), meaning: offset })),
  ),
});

type GroupedBy = GroupQuestion["by"];

/** What is asked for, and what of it the report of one's own usage refuses. */
const GROUPED_BY: readonly Spelled<GroupedBy>[] = [
  ...(
    ["model", "principal", "provider", "client", "key", "tag:app", "tag:env", "tag:app-x", "tag:no"] as const
  ).map(same),
  { text: "tag: APP", meaning: "tag:app" },
  ...["tag", "tag:", "tag:a:b", "tag:-", "Model", "outcome"].map((text) => ({
    text,
    meaning: "refused" as const,
  })),
];

const grouping = fc.record({
  by: fc.oneof(
    { weight: 4, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constant({ text: "", meaning: null }) },
    { weight: 6, arbitrary: fc.constantFrom(...GROUPED_BY.slice(0, 10)) },
    { weight: 1, arbitrary: fc.constantFrom(...GROUPED_BY) },
  ),
  order: sometimes(fc.constantFrom(same("cost"), same("requests"), same("tokens"))),
  top: fc.constantFrom<Spelled<number> | null>(
    null,
    { text: "1", meaning: 1 },
    { text: "2", meaning: 2 },
    { text: "3", meaning: 3 },
    { text: "100", meaning: 100 },
    { text: "0", meaning: 10 },
    { text: "101", meaning: 10 },
    { text: "x", meaning: 10 },
  ),
});

const COUNTS: readonly Spelled<boolean>[] = [
  { text: "1", meaning: true },
  { text: "0", meaning: false },
  { text: "true", meaning: false },
];

/** Filters on single requests: the text of each in the query, with what it means. */
interface Bounds {
  readonly unpriced: Spelled<boolean> | null;
  readonly min_cost: Spelled<bigint | null> | null;
  readonly max_cost: Spelled<bigint | null> | null;
  readonly min_duration_ms: Spelled<number | null> | null;
  readonly max_duration_ms: Spelled<number | null> | null;
}

/** Each value with its text; an empty one means nothing. */
type Several<Meaning> = readonly Spelled<Meaning | null>[];

interface Filters {
  readonly principal: Several<string>;
  readonly key: Several<string>;
  readonly provider: Several<string>;
  readonly model: Several<string>;
  readonly client: Several<string>;
  readonly outcome: Several<readonly Outcome[]>;
  readonly error_kind: Several<string>;
  readonly status: Several<string>;
  readonly bounds: Bounds;
  readonly tags: readonly Spelled<string>[];
}

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

const COSTS: readonly Spelled<bigint>[] = [
  { text: "0", meaning: 0n },
  { text: "0.000000000001", meaning: 1n },
  { text: "0.01", meaning: 10_000_000_000n },
  { text: "12.5", meaning: 12_500_000_000_000n },
];
const MILLISECONDS: readonly Spelled<number>[] = [
  { text: "0", meaning: 0 },
  { text: "999.999", meaning: 999_999 },
  { text: "1000", meaning: 1_000_000 },
  { text: "59999.999", meaning: 59_999_999 },
];
const UNPRICED: Spelled<boolean> = { text: "true", meaning: true };

const arbitraryBounds: fc.Arbitrary<Bounds> = fc.record({
  unpriced: fc.oneof(
    { weight: 8, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constant({ text: "", meaning: false }) },
    { weight: 1, arbitrary: fc.constant(UNPRICED) },
  ),
  min_cost: bound(...COSTS),
  max_cost: bound(...COSTS),
  min_duration_ms: bound(...MILLISECONDS),
  max_duration_ms: bound(...MILLISECONDS),
});

const arbitraryFilters = (cast: Cast): fc.Arbitrary<Filters> =>
  fc.record({
    principal: anyOf(["alice", "bob", "carol", "Alice", "nobody"].map(same)),
    key: anyOf([cast.aliceKeyId, "key-deleted", "token-of-bob", "none"].map(same)),
    provider: anyOf(["openai", "local", "(deleted)", "transparent:messages", "deleted-1", "none"].map(same)),
    model: anyOf(["fast", "Renamed", "renamed", "team/slow", "fas"].map(same)),
    client: anyOf(["curl", "curl/8.5", "C", "%", "100%", "100_", "1", "日", "🦊", ...CLIENTS].map(same)),
    outcome: anyOf(OUTCOMES),
    error_kind: anyOf(["timeout", "rate_limit_error", "connection_error", "none"].map(same), 1),
    status: anyOf(["200", "429", "4xx", "5xx", "302"].map(same), 1),
    bounds: arbitraryBounds,
    tags: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 2, arbitrary: fc.array(fc.constantFrom(...TAGS), { maxLength: 4 }) },
    ),
  });

const BREAKDOWN_SORTS: readonly Spelled<BreakdownSort>[] = [
  ...(
    [
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
    ] as const
  ).map(same),
  { text: "", meaning: "cost" },
  { text: "tokens", meaning: "refused" },
];

const LOG_ORDERS: readonly Spelled<Question["order"]>[] = [
  ...(["newest", "oldest", "cost", "duration"] as const).map(same),
  { text: "", meaning: "newest" },
  { text: "tokens", meaning: "refused" },
];

/** Any question to any report: what is meant, and its path and query as a client spells them. */
export function arbitraryQuestion(cast: Cast, sceneUs: number): fc.Arbitrary<Question> {
  return fc
    .record({
      asked: fc.constantFrom(...REPORTS),
      filters: arbitraryFilters(cast),
      since: arbitraryBound(sceneUs),
      until: arbitraryBound(sceneUs),
      bucket: sometimes<BucketName>(
        fc.constantFrom(same("hour"), same("day"), same("week"), same("month")),
        4,
      ),
      page,
      counts: sometimes(fc.constantFrom(...COUNTS), 4),
      by: fc.constantFrom<Spelled<Question["by"]>>(
        same("endpoint"),
        ...GROUPED_BY.slice(0, 10),
        ...GROUPED_BY,
      ),
      sort: fc.option(fc.constantFrom(...BREAKDOWN_SORTS), { freq: 4 }),
      order: fc.option(fc.constantFrom(...LOG_ORDERS), { freq: 2 }),
      grouping,
    })
    .map((chosen) => toQuestion(cast, chosen));
}

interface Chosen {
  readonly asked: (typeof REPORTS)[number];
  readonly filters: Filters;
  readonly since: Spelled<number | null> | null;
  readonly until: Spelled<number | null> | null;
  readonly bucket: Spelled<BucketName | null> | null;
  readonly page: { readonly limit: Spelled<number> | null; readonly offset: Spelled<number> | null };
  readonly counts: Spelled<boolean | null> | null;
  readonly by: Spelled<Question["by"]>;
  readonly sort: Spelled<BreakdownSort> | null;
  readonly order: Spelled<Question["order"]> | null;
  readonly grouping: {
    readonly by: Spelled<GroupedBy | null> | null;
    readonly order: Spelled<GroupQuestion["order"] | null> | null;
    readonly top: Spelled<number> | null;
  };
}

function toQuestion(
  cast: Cast,
  {
    asked,
    filters: chosen,
    since,
    until,
    bucket,
    page: paged,
    counts,
    by: breakdownBy,
    sort,
    order: logOrder,
    grouping: grouped,
  }: Chosen,
): Question {
  const query = new URLSearchParams();
  const say = (name: string, value: { readonly text: string } | null) => {
    if (value !== null) query.append(name, value.text);
  };
  // All are said, also to reports that do not take them: those must not care.
  const { bounds, tags, ...values } = chosen;
  const { by, top } = grouped;
  // The log and the groups of a series have a parameter of that name each.
  const order = asked.report === "requests" ? logOrder : grouped.order;
  const spoken = {
    since,
    until,
    bucket,
    ...bounds,
    ...paged,
    counts,
    group_by: by,
    order,
    top,
    by: breakdownBy,
    sort,
  };
  for (const [name, value] of Object.entries(spoken)) say(name, value);
  for (const [name, several] of Object.entries({ ...values, tag: tags })) {
    for (const value of several) say(name, value);
  }
  const all = asked.filters === "all";
  const { principal, key, provider, model, client, outcome, error_kind: errorKind, status } = values;
  const valuesOf = <Meaning>(several: Several<Meaning>) => (all ? toMeanings(several) : []);
  return {
    path: `${asked.path}?${query.toString()}`,
    report: asked.report,
    grouping: asked.grouping,
    principalId: asked.own ? cast.bobId : null,
    principals: valuesOf(principal),
    keyIds: valuesOf(key),
    providers: valuesOf(provider),
    models: valuesOf(model),
    clientPrefixes: valuesOf(client),
    tags: all ? tags.map(({ meaning }) => meaning) : [],
    outcomes: valuesOf(outcome).flat(),
    errorKinds: valuesOf(errorKind),
    statuses: valuesOf(status),
    isUnpriced: all && bounds.unpriced?.meaning === true,
    minCostPico: all ? (bounds.min_cost?.meaning ?? null) : null,
    maxCostPico: all ? (bounds.max_cost?.meaning ?? null) : null,
    minDurationUs: all ? (bounds.min_duration_ms?.meaning ?? null) : null,
    maxDurationUs: all ? (bounds.max_duration_ms?.meaning ?? null) : null,
    by: asked.own && breakdownBy.meaning === "principal" ? "refused" : breakdownBy.meaning,
    sort: sort?.meaning ?? "cost",
    order: logOrder?.meaning ?? "newest",
    sinceUs: since?.meaning ?? null,
    untilUs: until?.meaning ?? null,
    bucket: bucket?.meaning ?? "day",
    // An admin's series has none.
    groupBy:
      asked.report === "series" && asked.grouping !== "admin" ? toGroupQuestion(asked.own, grouped) : null,
    limit: paged.limit?.meaning ?? 100,
    offset: paged.offset?.meaning ?? 0,
    counts: counts?.meaning ?? false,
  };
}

function toGroupQuestion(isOwn: boolean, { by, order, top }: Chosen["grouping"]): GroupQuestion | null {
  const meaning = by?.meaning ?? null;
  if (meaning === null) return null;
  return {
    // There is one principal in one's own usage.
    by: isOwn && meaning === "principal" ? "refused" : meaning,
    order: order?.meaning ?? "cost",
    top: top?.meaning ?? 10,
  };
}
