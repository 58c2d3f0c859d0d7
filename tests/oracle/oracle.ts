import { formatInstant } from "#kernel/clock.ts";
import type { PriceConditions } from "#kernel/price-variants.ts";
import { picoToNumber } from "#kernel/units.ts";
import type { Outcome, UsageEvent } from "#usage/event.ts";
import { MODELS } from "./events.ts";
import { COUNTED_UNITS, PARTS, toMicros, toParts } from "./pricing.ts";
import type { BucketName } from "./calendar.ts";
import { listBucketStarts, toBucketStart, toNextStart } from "./calendar.ts";

/**
 * The answer that every report must give, by brute force: plain sums over the raw events, written from the specification and
 * sharing nothing with the product but how an instant and an amount are spelled.
 */

/** The world that there is to report on. */
export interface World {
  /** In the order in which they were written down. */
  readonly events: readonly UsageEvent[];
  readonly nowUs: number;
  /** Names of the providers that exist, by id. */
  readonly providers: ReadonlyMap<string, string>;
  /** The API keys that exist, by id. */
  readonly keys: ReadonlyMap<string, { readonly label: string; readonly suffix: string }>;
  /** The units that have a price now: of models of the catalog, and of names that prices are kept under. */
  readonly models: ReadonlyMap<string, readonly UnitName[]>;
  readonly named: ReadonlyMap<string, readonly UnitName[]>;
  /** Rows from before it were removed: the log lists what is left, and sums count everything. */
  readonly rowsFromUs?: number;
  /** The number of the replica that recorded them, which ids end with; 0 without it. */
  readonly lane?: number;
}

/** A question, as it is meant; `path` is how it is spelled. */
export interface Question {
  readonly path: string;
  readonly report:
    | "series"
    | "summary"
    | "requests"
    | "facets"
    | "errors"
    | "missing"
    | "breakdown"
    | "what-if";
  /** Tells the rows of a summary apart. */
  readonly grouping: "own" | "admin" | "team";
  /** Whose usage alone; null is everybody's. */
  readonly principalId: string | null;
  /** A request matches any of the values; an empty list matches everything. */
  readonly principals: readonly string[];
  readonly keyIds: readonly string[];
  readonly providers: readonly string[];
  readonly models: readonly string[];
  readonly clientPrefixes: readonly string[];
  readonly tags: readonly string[];
  readonly outcomes: readonly Outcome[];
  readonly errorKinds: readonly string[];
  /** As they are spelled: a code, or a class of them. */
  readonly statuses: readonly string[];
  /** `standard` stands for none. */
  readonly tiers: readonly string[];
  readonly isUnpriced: boolean;
  /** Bounds are inclusive; null is none. */
  readonly minCostPico: bigint | null;
  readonly maxCostPico: bigint | null;
  readonly minDurationUs: number | null;
  readonly maxDurationUs: number | null;
  readonly sinceUs: number | null;
  readonly untilUs: number | null;
  readonly bucket: BucketName;
  /** Null when the series is not cut into groups, or the report has none. */
  readonly groupBy: GroupQuestion | null;
  /** The field that a breakdown groups by. */
  readonly by: GroupQuestion["by"] | "endpoint" | "hour";
  /** True where a breakdown tells of prompt caches. */
  readonly cache: boolean;
  readonly sort: BreakdownSort;
  /** The order of the log; "refused" stands for a word that no order has. */
  readonly order: "newest" | "oldest" | "cost" | "duration" | "refused";
  readonly limit: number;
  readonly offset: number;
  /** True where facets tell how many requests have each value. */
  readonly counts: boolean;
}

export type BreakdownSort =
  | "cost"
  | "cost_per_request"
  | "requests"
  | "failed"
  | "failed_share"
  | "cancelled"
  | "unpriced"
  | "unmetered"
  | "p50"
  | "p95"
  | "refused";

export interface GroupQuestion {
  readonly by: "model" | "principal" | "provider" | "client" | "key" | "tier" | `tag:${string}` | "refused";
  readonly order: "cost" | "requests" | "tokens";
  readonly top: number;
}

export type Answer =
  | { readonly status: 200; readonly body: unknown }
  | { readonly status: 400; readonly code: string };

/** An event under the microsecond that is its own. */
interface Row {
  readonly atUs: number;
  readonly event: UsageEvent;
}

const RELAY = "transparent:messages";
const HOUR_US = 3_600_000_000;
const UNIT_NAMES = COUNTED_UNITS;
export type UnitName = (typeof UNIT_NAMES)[number];
const FACET_VALUES_MAX = 500;
/** Buckets of all groups together. */
const GROUP_BUCKETS_MAX = 10_000;

/** Answers about all events, or about the first so many of them: ids do not depend on what comes later. */
export type Oracle = (question: Question, eventCount?: number) => Answer;

/** Asked many times about one world: what does not depend on the question is worked out once. */
export function createOracle(world: World): Oracle {
  const all = toRows(world.events);
  return (question, eventCount = all.length) => {
    const rows = all.slice(0, eventCount).filter(({ atUs, event }) => matches(world, question, atUs, event));
    if (question.report === "series") return toSeries(world, question, rows);
    if (question.report === "errors") return toErrors(world, question, rows);
    if (question.report === "summary") return { status: 200, body: toSummary(world, question, rows) };
    if (question.report === "missing") return { status: 200, body: toMissing(world, rows) };
    if (question.report === "breakdown") return toBreakdown(world, question, { rows, all });
    if (question.report === "what-if") return toWhatIf(world, question, { rows, all });
    if (question.report === "facets") return { status: 200, body: toFacets(world, question, rows) };
    if (question.order === "refused") return { status: 400, code: "invalid_request" };
    return { status: 200, body: toPage(world, question, rows) };
  };
}

/** Each event's id is its arrival, or the next microsecond that no event before it has. */
function toRows(events: readonly UsageEvent[]): Row[] {
  const taken = new Set<number>();
  return events.map((event) => {
    let atUs = event.arrivedAtUs;
    while (taken.has(atUs)) atUs += 1;
    taken.add(atUs);
    return { atUs, event };
  });
}

function matches(world: World, question: Question, atUs: number, event: UsageEvent): boolean {
  const { sinceUs, untilUs } = question;
  if (sinceUs !== null && atUs < sinceUs) return false;
  if (untilUs !== null && atUs >= untilUs) return false;
  if (question.principalId !== null && event.principalId !== question.principalId) return false;
  if (!isAnyOf(question.principals, (name) => event.principalName === name)) return false;
  if (!isAnyOf(question.keyIds, (id) => event.keyId === id)) return false;
  if (!isAnyOf(question.providers, (name) => toProviderName(world, event) === name)) return false;
  if (!isAnyOf(question.models, (model) => event.model === model)) return false;
  if (!isAnyOf(question.clientPrefixes, (prefix) => event.client?.startsWith(prefix) === true)) return false;
  if (!question.tags.every((tag) => event.tags.includes(tag))) return false;
  if (!isAnyOf(question.outcomes, (outcome) => event.outcome === outcome)) return false;
  if (!isAnyOf(question.errorKinds, (kind) => event.errorKind === kind)) return false;
  if (!isAnyOf(question.statuses, (status) => isStatus(event.statusCode, status))) return false;
  if (!isAnyOf(question.tiers, (tier) => (event.tier ?? "standard") === tier)) return false;
  return isWithinBounds(question, event);
}

function isAnyOf<Value>(values: readonly Value[], matchesOne: (value: Value) => boolean): boolean {
  return values.length === 0 || values.some(matchesOne);
}

function isStatus(code: number, status: string): boolean {
  return status.endsWith("xx") ? Math.floor(code / 100) === Number(status[0]) : code === Number(status);
}

function isWithinBounds(question: Question, { unpriced, costPico, durationUs }: UsageEvent): boolean {
  const { isUnpriced, minCostPico, maxCostPico, minDurationUs, maxDurationUs } = question;
  if (isUnpriced && !unpriced) return false;
  if (minCostPico !== null && (costPico === null || costPico < minCostPico)) return false;
  if (maxCostPico !== null && (costPico === null || costPico > maxCostPico)) return false;
  if (minDurationUs !== null && durationUs < minDurationUs) return false;
  return maxDurationUs === null || durationUs <= maxDurationUs;
}

function toProviderName(world: World, { providerId }: UsageEvent): string {
  return providerId === RELAY ? RELAY : (world.providers.get(providerId) ?? "(deleted)");
}

/** The buckets of the window with the rows of each; null when there are too many. */
function toBuckets(world: World, { bucket, ...question }: Question, rows: readonly Row[]) {
  const endUs = question.untilUs ?? toNextStart(bucket, toBucketStart(bucket, world.nowUs));
  const firstUs = rows.reduce((first, { atUs }) => Math.min(first, atUs), Number.POSITIVE_INFINITY);
  const starts = listBucketStarts(bucket, question.sinceUs ?? firstUs, endUs);
  const byStart = Map.groupBy(rows, ({ atUs }) => toBucketStart(bucket, atUs));
  return starts?.map((startUs) => ({ startUs, rows: byStart.get(startUs) ?? [] })) ?? null;
}

const TOO_LARGE: Answer = { status: 400, code: "range_too_large" };

function toSeries(world: World, question: Question, rows: readonly Row[]): Answer {
  const { groupBy, bucket } = question;
  if (groupBy?.by === "refused") return { status: 400, code: "invalid_request" };
  const buckets = toBuckets(world, question, rows);
  if (buckets === null) return TOO_LARGE;
  const toSeriesOf = (members: ReadonlySet<Row>) =>
    buckets.map(({ startUs, rows: inBucket }) => ({
      start: formatInstant(startUs),
      ...toFigures(inBucket.filter((row) => members.has(row))),
    }));
  const inSeries = buckets.flatMap((one) => one.rows);
  const body = { bucket, series: toSeriesOf(new Set(inSeries)) };
  if (groupBy === null) return { status: 200, body };
  const toGroup = (members: readonly Row[]) => ({
    ...toFigures(members),
    series: toSeriesOf(new Set(members)),
  });
  const groups = [...Map.groupBy(inSeries, (row) => toGroupValue(world, groupBy, row))]
    .map(([value, members]) => ({ value, members }))
    .sort(
      (left, right) =>
        toSize(right.members, groupBy) - toSize(left.members, groupBy) ||
        right.members.length - left.members.length ||
        compareNull(left.value, right.value) ||
        compare(left.value, right.value),
    );
  const shown = Math.min(groupBy.top, Math.floor(GROUP_BUCKETS_MAX / Math.max(buckets.length, 1)));
  const rest = groups.slice(shown).flatMap(({ members }) => members);
  return {
    status: 200,
    body: Object.assign(body, {
      group_by: groupBy.by,
      order: groupBy.order,
      group_count: groups.length,
      groups: groups.slice(0, shown).map(({ value, members }) => Object.assign({ value }, toGroup(members))),
      other: rest.length === 0 ? null : toGroup(rest),
    }),
  };
}

function toFigures(rows: readonly Row[]) {
  return {
    requests: rows.length,
    ok: countOutcomes(rows, "ok"),
    cancelled: countOutcomes(rows, "cancelled"),
    failed: countOutcomes(rows, "upstream_error", "unreachable"),
    unpriced_requests: rows.filter(({ event }) => event.unpriced).length,
    ...toPending(rows),
    cost: toCost(rows),
    ...toCostReported(rows),
    units: toUnits(rows),
  };
}

/** Null for an event without a model, a User-Agent, a key or the tag. */
function toGroupValue(
  world: World,
  { by }: { readonly by: Question["by"] },
  { atUs, event }: Row,
): string | null {
  if (by === "endpoint") return event.endpoint;
  if (by === "hour") return formatInstant(toBucketStart("hour", atUs));
  if (by === "model") return event.model;
  if (by === "principal") return event.principalName;
  if (by === "provider") return toProviderName(world, event);
  if (by === "client") return event.client;
  if (by === "key") return event.keyId;
  if (by === "tier") return event.tier ?? "standard";
  const prefix = `${by.slice("tag:".length)}:`;
  return event.tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length) ?? null;
}

/** Below every number where there is none: nothing was priced, or no token reported. */
function toSize(rows: readonly Row[], { order }: GroupQuestion): number {
  if (order === "requests") return rows.length;
  if (order === "cost") return toCost(rows) ?? -1;
  const { input_tokens, output_tokens, cached_input_tokens } = toUnits(rows);
  const reported = [input_tokens, output_tokens, cached_input_tokens].filter((sum) => sum !== undefined);
  return reported.length === 0 ? -1 : reported.reduce((sum, quantity) => sum + quantity, 0);
}

function toErrors(world: World, question: Question, rows: readonly Row[]): Answer {
  const buckets = toBuckets(world, question, rows);
  if (buckets === null) return TOO_LARGE;
  const series = buckets.map(({ startUs, rows: inBucket }) => ({
    start: formatInstant(startUs),
    ok: countOutcomes(inBucket, "ok"),
    upstream_error: countOutcomes(inBucket, "upstream_error"),
    unreachable: countOutcomes(inBucket, "unreachable"),
    cancelled: countOutcomes(inBucket, "cancelled"),
  }));
  const breakdown = toGroups(rows, ({ event }) => [
    toProviderName(world, event),
    event.model,
    event.endpoint,
    event.client,
    event.tags,
    event.outcome,
    event.errorKind,
    event.statusCode,
    event.failure ?? null,
  ]).map(({ key, rows: inGroup }) => {
    const [provider, model, endpoint, client, tags, outcome, error_kind, status_code, failure] = key;
    const durationUs = inGroup.reduce((sum, { event }) => sum + event.durationUs, 0);
    const row = {
      provider,
      model,
      endpoint,
      client,
      tags,
      outcome,
      error_kind,
      status_code,
      requests: inGroup.length,
      avg_duration_ms: durationUs / inGroup.length / 1000,
      last_seen: formatInstant(inGroup.reduce((last, { atUs }) => Math.max(last, atUs), -Infinity)),
      bands: toBands(inGroup),
    };
    return Object.assign(row, failure !== null && { failure });
  });
  return { status: 200, body: { bucket: question.bucket, series, breakdown } };
}

function toBands(rows: readonly Row[]) {
  const count = (fromSeconds: number, toSeconds: number) =>
    rows.filter(({ event }) => event.durationUs >= fromSeconds * 1e6 && event.durationUs < toSeconds * 1e6)
      .length;
  return {
    "<1s": count(0, 1),
    "1-5s": count(1, 5),
    "5-15s": count(5, 15),
    "15-30s": count(15, 30),
    "30-60s": count(30, 60),
    "60-120s": count(60, 120),
    ">=120s": count(120, Number.POSITIVE_INFINITY),
  };
}

/** Failures and calls without a model are left out (section 4.4). */
function toSummary(world: World, { grouping }: Question, rows: readonly Row[]) {
  const counted = rows.filter(
    ({ event }) => event.model !== null && (event.outcome === "ok" || event.outcome === "cancelled"),
  );
  const usage = toGroups(counted, ({ event }) => [
    grouping === "own" ? null : event.principalName,
    grouping === "team" ? toProviderName(world, event) : null,
    event.model,
    event.endpoint,
    grouping === "team" ? event.client : null,
    grouping === "team" ? event.tags : null,
  ]).map(({ key, rows: inGroup }) => {
    const [principal, provider, model, endpoint, client, tags] = key;
    const app = inGroup[0]?.event.tags.find((tag) => tag.startsWith("app:"))?.slice(4) ?? "untagged";
    const figures = {
      model,
      endpoint,
      requests: inGroup.length,
      cancelled: countOutcomes(inGroup, "cancelled"),
      cost: toCost(inGroup),
      units: toUnits(inGroup),
    };
    Object.assign(figures, toPending(inGroup), toCostReported(inGroup));
    if (grouping === "own") return figures;
    return Object.assign(figures, { principal }, grouping === "team" ? { provider, client, tags, app } : {});
  });
  return { usage };
}

/** The usage without a price of its time, of requests with a model. */
function toMissing(world: World, rows: readonly Row[]) {
  const uses = rows.flatMap(({ atUs, event }) => {
    const { model, usage, prices, providerId, tier, geo } = event;
    if (model === null || usage === null) return [];
    const parts = toParts(usage);
    return UNIT_NAMES.flatMap((unit, place) => {
      const own = prices[unit] ?? null;
      // A unit tells of its parts that have no price either.
      const quantity = PARTS.filter(([, whole]) => whole === unit).reduce(
        (sum, [part]) => sum + ((prices[part] ?? own) === null ? (parts[part] ?? 0) : 0),
        own === null ? (parts[unit] ?? 0) : 0,
      );
      if (quantity === 0) return [];
      const total = unit === "audio_seconds" ? Math.round(quantity * 1e6) : quantity;
      const isStandard = tier === undefined && geo === undefined;
      const key = [model, Number(providerId === RELAY), toReason(event), place];
      return { key, atUs, unit, total, isStandard };
    });
  });
  const groups = Map.groupBy(uses, ({ key }) => JSON.stringify(key));
  const missing = [...groups.values()]
    .flatMap((group) => (group[0] === undefined ? [] : [{ group, key: group[0].key, unit: group[0].unit }]))
    .sort((left, right) => compareKeys(left.key, right.key))
    .map(({ group, key: [model = "", isRelayed, reason], unit }) => {
      const found = isRelayed === 1 ? undefined : world.models.get(String(model));
      const total = group.reduce((sum, one) => sum + one.total, 0);
      const row = {
        model,
        kind: isRelayed === 1 ? "relay" : found === undefined ? "gone" : "model",
        unit,
        requests: group.length,
        quantity: unit === "audio_seconds" ? total / 1e6 : total,
        last_seen: formatInstant(Math.max(...group.map(({ atUs }) => atUs))),
        // No model of these has prices for a tier or a region.
        has_price:
          group.every(({ isStandard }) => isStandard) &&
          (found ?? world.named.get(String(model)) ?? []).includes(unit),
      };
      return Object.assign(row, reason !== "" && { reason });
    });
  return { missing };
}

function toFacets(world: World, { counts }: Question, rows: readonly Row[]) {
  const principalOfKey = new Map(rows.map(({ event }) => [event.keyId, event.principalName]));
  const facets = {
    principals: toFacet(rows, (event) => [event.principalName]),
    keys: toFacet(rows, (event) => [event.keyId]),
    providers: toFacet(rows, (event) => [toProviderName(world, event)]),
    models: toFacet(rows, (event) => [event.model]),
    clients: toFacet(rows, (event) => [event.client]),
    tags: toFacet(rows, (event) => event.tags),
  };
  return {
    principals: facets.principals.values,
    keys: facets.keys.values.map((id) => ({
      id,
      label: world.keys.get(id)?.label ?? null,
      key_suffix: world.keys.get(id)?.suffix ?? null,
      principal: principalOfKey.get(id),
    })),
    providers: facets.providers.values,
    models: facets.models.values,
    clients: facets.clients.values,
    tags: facets.tags.values,
    truncated: Object.fromEntries(Object.entries(facets).map(([name, { isCut }]) => [name, isCut])),
    ...(counts && {
      counts: Object.fromEntries(Object.entries(facets).map(([name, facet]) => [name, facet.counts])),
    }),
  };
}

function toFacet(rows: readonly Row[], pick: (event: UsageEvent) => readonly (string | null)[]) {
  const uses = new Map<string, number>();
  for (const { event } of rows) {
    for (const value of pick(event)) if (value !== null) uses.set(value, (uses.get(value) ?? 0) + 1);
  }
  const byUse = [...uses].sort(([a, m], [b, n]) => n - m || compare(a, b));
  const shown = byUse.slice(0, FACET_VALUES_MAX).sort(([a], [b]) => compare(a, b));
  return {
    values: shown.map(([value]) => value),
    counts: shown.map(([, requests]) => requests),
    isCut: byUse.length > FACET_VALUES_MAX,
  };
}

/** Nothing says what was used, though something was: a success, or a caller that left before an error. */
function isPending({ usage }: UsageEvent): boolean {
  return usage?.shape === "pending";
}

/** Absent where there are none. */
function toPending(rows: readonly Row[]): { readonly pending_requests?: number } {
  const count = rows.filter(({ event }) => isPending(event)).length;
  return count === 0 ? {} : { pending_requests: count };
}

function isUntold({ outcome, statusCode, usage }: UsageEvent): boolean {
  const isSuccess = Math.floor(statusCode / 100) === 2;
  if (usage !== null) return false;
  return outcome === "cancelled" ? isSuccess || statusCode === 499 : outcome === "ok" && isSuccess;
}

function toBreakdown(
  world: World,
  question: Question,
  { rows, all }: { readonly rows: readonly Row[]; readonly all: readonly Row[] },
): Answer {
  const { by, sort, limit, cache } = question;
  if (by === "refused" || sort === "refused") return { status: 400, code: "invalid_request" };
  const percentiles = isRemoved(world, question, all) ? "rows_removed" : "exact";
  const isKept = percentiles === "exact";
  const toValues = (members: readonly Row[]) =>
    Object.assign(toBreakdownFigures(members, isKept), cache && { cache: toCache(members, isKept) });
  const groups = [...Map.groupBy(rows, (row) => toGroupValue(world, { by }, row))]
    .map(([value, members]) => ({ value, members, figures: toValues(members) }))
    .sort(
      (left, right) =>
        toBreakdownSize(right.figures, sort) - toBreakdownSize(left.figures, sort) ||
        right.members.length - left.members.length ||
        compareNull(left.value, right.value) ||
        compare(left.value, right.value),
    );
  const named = (value: string | null) => {
    const key = world.keys.get(value ?? "");
    return by === "key" ? { label: key?.label ?? null, key_suffix: key?.suffix ?? null } : {};
  };
  const body = {
    by,
    sort,
    rows: groups.slice(0, limit).map(({ value, figures }) => Object.assign({ value }, named(value), figures)),
    total: toValues(rows),
    row_count: groups.length,
    truncated: groups.length > limit,
    percentiles,
  };
  return { status: 200, body };
}

/** The prices of `fast`, in pico. */
const PRICES_OF_FAST: { readonly [unit in UnitName]?: bigint } = {
  input_tokens: 1_000_000n,
  audio_seconds: 2_000_000n,
};

/** Each model at the prices of `fast`, of the models that are asked for, or all. */
function toWhatIf(
  world: World,
  question: Question,
  { rows, all }: { readonly rows: readonly Row[]; readonly all: readonly Row[] },
): Answer {
  const isKept = !isRemoved(world, question, all);
  const names = question.models.length === 0 ? MODELS : [...new Set(question.models)];
  const compared = names.map((from) => {
    const ofModel = rows.filter(({ event }) => event.model === from);
    const parts = toGroups(ofModel, ({ event }) => [event.tier ?? "", event.geo ?? ""]).map(
      ({ key: [tier, geo], rows: members }) =>
        toComparedPart(members, { from, tier: String(tier), geo: String(geo), isKept }),
    );
    const units = parts.flatMap((part) => part.units);
    return { from, units, rows: ofModel, isKnown: parts.every(({ isWhole }) => isWhole) };
  });
  const toSum = (parts: typeof compared) => {
    const members = parts.flatMap((part) => part.rows);
    const other = addPico(parts.flatMap(({ units }) => units.map(({ otherPico }) => otherPico)));
    const cost = addPico(members.map(({ event }) => event.costPico));
    return {
      requests: members.length,
      unpriced_requests: members.filter(({ event }) => event.unpriced).length,
      cost: toAmount(cost),
      other_cost: toAmount(other),
      difference: parts.every(({ isKnown }) => isKnown) ? toAmount((other ?? 0n) - (cost ?? 0n)) : null,
    };
  };
  return {
    status: 200,
    body: {
      note: "Same tokens, other prices; no forecast.",
      units: compared.flatMap(({ units }) => units.map(({ view }) => view)),
      models: compared.map((one) => ({
        from: one.from,
        to: "fast",
        ...toSum([one]),
        cache_writes_as_input: false,
      })),
      total: toSum(compared),
      unit_costs: isKept ? "exact" : "rows_removed",
    },
  };
}

interface ComparedPart {
  readonly from: string;
  readonly tier: string;
  readonly geo: string;
  readonly isKept: boolean;
}

function toComparedPart(rows: readonly Row[], { from, tier, geo, isKept }: ComparedPart) {
  const isStandard = tier === "" && geo === "";
  const reason = tier === "" ? `geo: ${geo}` : `tier: ${tier}`;
  const quantities = toUnits(rows);
  const isRecorded = rows.every(({ event }) => !event.unpriced);
  const units = UNIT_NAMES.flatMap((unit) => {
    const quantity = quantities[unit];
    if (quantity === undefined) return [];
    const price = isStandard ? PRICES_OF_FAST[unit] : undefined;
    const micros = toMicros(quantity);
    const otherPico = price === undefined ? null : (micros * price + 500_000n) / 1_000_000n;
    const costPico = isKept ? toUnitCost(rows, unit) : null;
    const isUnpriced = price === undefined && quantity > 0;
    const isKnown = isRecorded && otherPico !== null && costPico !== null;
    const view = Object.assign(
      { from, to: "fast", unit, quantity },
      tier !== "" && { tier },
      geo !== "" && { geo },
      {
        cost: toAmount(costPico),
        other_cost: toAmount(otherPico),
        difference: isKnown ? toAmount(otherPico - costPico) : null,
      },
      isUnpriced && { unpriced_reason: isStandard ? "no price" : reason },
    );
    return [{ view, otherPico, isUnpriced }];
  });
  return { units, isWhole: isRecorded && units.every(({ isUnpriced }) => !isUnpriced) };
}

/** What one of a report's units cost with its parts, rounded once for each set of prices. */
function toUnitCost(rows: readonly Row[], unit: UnitName): bigint | null {
  const byPrices = Map.groupBy(rows, ({ event }) => JSON.stringify(event.prices));
  return addPico(
    [...byPrices.values()].map((members) => {
      const micros = addPico(members.map(({ event }) => toUnitMicros(event, unit)));
      return micros === null ? null : (micros + 500_000n) / 1_000_000n;
    }),
  );
}

function toUnitMicros({ usage, prices }: UsageEvent, unit: UnitName): bigint | null {
  if (usage === null) return null;
  const parts = toParts(usage);
  const named = PARTS.filter(([part, whole]) => whole === unit && (parts[part] ?? 0) > 0);
  return addPico(
    [unit, ...named.map(([part]) => part)].map((name) => {
      const [quantity, price] = [parts[name], prices[name] ?? prices[unit] ?? null];
      return quantity === undefined || price === null ? null : toMicros(quantity) * BigInt(price);
    }),
  );
}

function addPico(amounts: readonly (bigint | null)[]): bigint | null {
  return amounts.reduce((sum, amount) => (amount === null ? sum : (sum ?? 0n) + amount), null);
}

function toAmount(pico: bigint | null): number | null {
  return pico === null ? null : picoToNumber(pico);
}

/** Tells whether rows of the window may have been removed; a filter on single requests leaves such a window out. */
function isRemoved({ rowsFromUs }: World, question: Question, all: readonly Row[]): boolean {
  if (rowsFromUs === undefined || hasBounds(question) || all.length === 0) return false;
  const hours = all.map(({ atUs }) => Math.floor(atUs / HOUR_US));
  const firstUs = Math.min(...hours) * HOUR_US;
  const endUs = (Math.max(...hours) + 1) * HOUR_US;
  const fromUs = Math.max(question.sinceUs ?? firstUs, firstUs);
  if (fromUs >= Math.min(question.untilUs ?? endUs, endUs)) return false;
  return rowsFromUs > firstUs && fromUs < Math.min(rowsFromUs, endUs);
}

/** Tells whether only rows can tell what is asked. */
export function hasBounds(question: Question): boolean {
  const { isUnpriced, minCostPico, maxCostPico, minDurationUs, maxDurationUs } = question;
  return (
    isUnpriced || [minCostPico, maxCostPico, minDurationUs, maxDurationUs].some((bound) => bound !== null)
  );
}

function toBreakdownFigures(rows: readonly Row[], hasPercentiles: boolean) {
  const ok = rows.filter(({ event }) => event.outcome === "ok");
  const costs = rows.flatMap(({ event }) => event.costPico ?? []);
  const costPico = costs.reduce((sum, cost) => sum + cost, 0n);
  const count = BigInt(costs.length);
  const toPercentiles = (values: readonly number[]) => ({
    p50: hasPercentiles ? toNearestRank(values, 50) : null,
    p95: hasPercentiles ? toNearestRank(values, 95) : null,
  });
  return {
    requests: rows.length,
    ok: ok.length,
    failed: countOutcomes(rows, "upstream_error", "unreachable"),
    cancelled: countOutcomes(rows, "cancelled"),
    unpriced: rows.filter(({ event }) => event.unpriced).length,
    unmetered: rows.filter(({ event }) => isUntold(event)).length,
    ...toPending(rows),
    cost: toCost(rows),
    ...toCostReported(rows),
    cost_per_request: costs.length === 0 ? null : picoToNumber((costPico + count / 2n) / count),
    units: toUnits(rows),
    duration_ms: toPercentiles(ok.map(({ event }) => event.durationUs)),
    time_to_first_byte_ms: toPercentiles(
      ok.flatMap(({ event }) => (event.streamed ? (event.timeToFirstByteUs ?? []) : [])),
    ),
    last_ok_at: ok.length === 0 ? null : formatInstant(Math.max(...ok.map(({ atUs }) => atUs))),
  };
}

const WRITES = ["cache_write_tokens", "cache_write_1h_tokens"] as const;
const CACHED = ["cached_input_tokens", ...WRITES] as const;

/** What was read from caches, what writes cost, and how much more all of it would have cost as input. */
function toCache(rows: readonly Row[], isKept: boolean) {
  const { input_tokens: input = 0, cached_input_tokens: cached = 0 } = toUnits(rows);
  const [own, asInput] = [toCachePico(rows, CACHED, false), toCachePico(rows, CACHED, true)];
  const saving = own === null || asInput === null ? null : asInput - own;
  return {
    read_share: input + cached === 0 ? null : cached / (input + cached),
    write_cost: toAmount(isKept ? toCachePico(rows, WRITES, false) : null),
    saving: toAmount(isKept ? saving : null),
  };
}

/** Null where something has no price; rounded once for each set of prices. */
function toCachePico(
  rows: readonly Row[],
  units: readonly (typeof CACHED)[number][],
  isAsInput: boolean,
): bigint | null {
  let pico = 0n;
  for (const members of Map.groupBy(rows, ({ event }) => JSON.stringify(event.prices)).values()) {
    let micros = 0n;
    for (const { event } of members) {
      const parts = event.usage === null ? {} : toParts(event.usage);
      for (const unit of units) {
        const { input_tokens: inputPrice = null, [unit]: ownPrice = null } = event.prices;
        const price = isAsInput ? inputPrice : (ownPrice ?? (unit === CACHED[0] ? null : inputPrice));
        const quantity = parts[unit] ?? 0;
        if (quantity === 0) continue;
        if (price === null) return null;
        micros += toMicros(quantity) * BigInt(price);
      }
    }
    pico += (micros + 500_000n) / 1_000_000n;
  }
  return pico;
}

/** The smallest value that so many percent are not above; in milliseconds. */
function toNearestRank(values: readonly number[], percent: number): number | null {
  const sorted = [...values].sort((left, right) => left - right);
  const found = sorted.find(
    (value) => sorted.filter((one) => one <= value).length * 100 >= percent * sorted.length,
  );
  return found === undefined ? null : found / 1000;
}

function toBreakdownSize(
  figures: ReturnType<typeof toBreakdownFigures>,
  sort: Exclude<BreakdownSort, "refused">,
): number {
  if (sort === "p50" || sort === "p95") return figures.duration_ms[sort] ?? -1;
  if (sort === "failed_share")
    return figures.requests === figures.cancelled
      ? -1
      : figures.failed / (figures.requests - figures.cancelled);
  return figures[sort] ?? -1;
}

/** By size, what has none comes last, and of equals the newest first. */
const LOG_ORDERS = {
  newest: (left: Row, right: Row) => right.atUs - left.atUs,
  oldest: (left: Row, right: Row) => left.atUs - right.atUs,
  cost: (left: Row, right: Row) =>
    Number((right.event.costPico ?? -1n) - (left.event.costPico ?? -1n)) || right.atUs - left.atUs,
  duration: (left: Row, right: Row) =>
    right.event.durationUs - left.event.durationUs || right.atUs - left.atUs,
};

function toPage(world: World, { limit, offset, order }: Question, all: readonly Row[]) {
  const from = world.rowsFromUs ?? 0;
  // Retention passes over what is pending.
  const rows = all.filter(({ atUs, event }) => atUs >= from || isPending(event));
  const requests = [...rows]
    .sort(LOG_ORDERS[order === "refused" ? "newest" : order])
    .slice(offset, offset + limit)
    .map(({ atUs, event }) => {
      const { quantities = {} } = event.usage ?? {};
      const reported = UNIT_NAMES.filter((unit) => quantities[unit] !== undefined);
      const row = {
        id: toUuid(atUs, world.lane ?? 0),
        ts: formatInstant(atUs),
        principal: event.principalName,
        key_id: event.keyId,
        key_label: world.keys.get(event.keyId ?? "")?.label ?? null,
        relay_token_id: event.relayTokenId,
        provider: toProviderName(world, event),
        model: event.model,
        upstream_name: event.upstreamName,
        endpoint: event.endpoint,
        client: event.client,
        status_code: event.statusCode,
        outcome: event.outcome,
        error_kind: event.errorKind,
        cancelled: event.outcome === "cancelled",
        streamed: event.streamed,
        duration_ms: event.durationUs / 1000,
        time_to_first_byte_ms: event.timeToFirstByteUs === null ? null : event.timeToFirstByteUs / 1000,
        cost: event.costPico === null ? null : picoToNumber(event.costPico),
        units: Object.fromEntries(reported.map((unit) => [unit, quantities[unit]])),
        unit_prices: Object.fromEntries(
          reported.map((unit) => {
            const pico = event.prices[unit] ?? null;
            return [unit, pico === null ? null : pico / 1e6];
          }),
        ),
        tags: event.tags,
      };
      const usesCache = CACHED.some((unit) => (quantities[unit] ?? 0) > 0);
      return Object.assign(
        row,
        toCostReported([{ atUs, event }]),
        toUnitDetails(event),
        toConditions(event),
        usesCache && { cache: toCache([{ atUs, event }], true) },
      );
    });
  return { requests, limit, offset, total: rows.length };
}

/** Returns what was billed otherwise than units and prices say: quantities to a millionth, cache writes and input at the full rate. */
function toConditions(event: UsageEvent): object {
  const { tier, geo, failure, usage, costPico, prices } = event;
  const isUsed = Object.values(usage?.quantities ?? {}).some((quantity) => quantity > 0);
  const reason = toReason(event);
  return Object.assign(
    {},
    tier !== undefined && { tier },
    geo !== undefined && { geo },
    prices.when !== undefined && { price_when: toWhen(prices.when) },
    reason !== "" && costPico === null && isUsed && { unpriced_reason: reason },
    failure !== undefined && { failure },
    isUntold(event) && { unmetered: true },
    isPending(event) && { pending: true },
  );
}

/** Why no price holds; empty where prices do. An event of before lacks prices for the tier that it tells. */
function toReason({ tier = "", geo = "", prices }: UsageEvent): string {
  if (prices.lacks === "geo") return `geo: ${geo}`;
  const isFormer = tier !== "" && prices.when === undefined;
  return prices.lacks === "tier" || isFormer ? `tier: ${tier}` : "";
}

function toWhen({ inputOver, ...when }: PriceConditions) {
  return Object.assign({}, when, inputOver !== undefined && { input_over: inputOver });
}

function toUnitDetails({ usage, prices }: UsageEvent): { readonly unit_details?: object } {
  const { quantities = {} } = usage ?? {};
  const parts = usage === null ? {} : toParts(usage);
  const perMillion = (pico: number | null | undefined) => (typeof pico === "number" ? pico / 1e6 : null);
  const reported = UNIT_NAMES.map((unit) => {
    const billed = toMillionths(parts[unit] ?? 0);
    return [unit, billed, perMillion(prices[unit]), billed !== (quantities[unit] ?? 0)] as const;
  });
  const details = PARTS.map(([unit, whole]) => {
    const billed = toMillionths(parts[unit] ?? 0);
    return [unit, billed, perMillion(prices[unit] ?? prices[whole]), billed > 0] as const;
  });
  const told = [...reported, ...details].filter(([, , , isTold]) => isTold);
  if (told.length === 0) return {};
  return {
    unit_details: Object.fromEntries(told.map(([unit, quantity, price]) => [unit, { quantity, price }])),
  };
}

function toMillionths(quantity: number): number {
  const whole = Math.trunc(quantity);
  return Number((whole + Math.round((quantity - whole) * 1e6) / 1e6).toFixed(6));
}

/** RFC 9562, section 6.2, method 3: milliseconds, then the microseconds within them; the rest is the lane. */
function toUuid(atUs: number, lane: number): string {
  const hex = (number: bigint, digits: number) => number.toString(16).padStart(digits, "0");
  const [ms, us] = [BigInt(atUs) / 1000n, BigInt(atUs) % 1000n];
  const digits = `${hex(ms, 12)}7${hex(us, 3)}8000${hex(BigInt(lane), 12)}`;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function countOutcomes(rows: readonly Row[], ...outcomes: readonly Outcome[]): number {
  return rows.filter(({ event }) => outcomes.includes(event.outcome)).length;
}

function toCost(rows: readonly Row[]): number | null {
  const costs = rows.flatMap(({ event }) => event.costPico ?? []);
  return costs.length === 0 ? null : picoToNumber(costs.reduce((sum, cost) => sum + cost, 0n));
}

/** The sum of what providers told, which is no part of ours; absent where none told any. */
function toCostReported(rows: readonly Row[]): { readonly cost_reported?: number } {
  const told = rows.flatMap(({ event }) => event.costReportedPico ?? []);
  return told.length === 0 ? {} : { cost_reported: picoToNumber(told.reduce((sum, cost) => sum + cost, 0n)) };
}

/** Sums of what was reported; a unit that nobody reported is absent, one that was reported as zero is zero. */
function toUnits(rows: readonly Row[]): { [unit in UnitName]?: number } {
  const units: { [unit in UnitName]?: number } = {};
  let audioUs = 0;
  for (const { event } of rows) {
    if (event.usage === null) continue;
    const { audio_seconds } = event.usage.quantities;
    const parts = toParts(event.usage);
    for (const unit of UNIT_NAMES) {
      const ofUnit = [
        parts[unit],
        ...PARTS.map(([part, whole]) => (whole === unit ? parts[part] : undefined)),
      ];
      const reported = ofUnit.filter((quantity) => quantity !== undefined);
      if (unit === "audio_seconds" || reported.length === 0) continue;
      units[unit] = reported.reduce((sum, quantity) => sum + quantity, units[unit] ?? 0);
    }
    // Kept to the microsecond, so that a sum does not depend on its order.
    if (audio_seconds !== undefined) {
      audioUs += Math.round(audio_seconds * 1e6);
      units.audio_seconds = audioUs / 1e6;
    }
  }
  return units;
}

type KeyPart = string | number | readonly string[] | null;

/** Rows by key, sorted by it: code units, null first, lists by their elements. */
function toGroups(rows: readonly Row[], toKey: (row: Row) => readonly KeyPart[]) {
  const groups = new Map<string, { readonly key: readonly KeyPart[]; readonly rows: Row[] }>();
  for (const row of rows) {
    const key = toKey(row);
    const text = JSON.stringify(key);
    const group = groups.get(text);
    if (group === undefined) groups.set(text, { key, rows: [row] });
    else group.rows.push(row);
  }
  return [...groups.values()].sort((left, right) => compareKeys(left.key, right.key));
}

function compareKeys(left: readonly KeyPart[], right: readonly KeyPart[]): number {
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const [a, b] = [left[index] ?? null, right[index] ?? null];
    const order =
      Array.isArray(a) && Array.isArray(b)
        ? compareKeys(a, b)
        : a === null || b === null
          ? compareNull(a, b)
          : compare(a, b);
    if (order !== 0) return order;
  }
  return 0;
}

function compareNull(left: unknown, right: unknown): number {
  return Number(left !== null) - Number(right !== null);
}

function compare<Part extends KeyPart>(left: Part, right: Part): number {
  return left === right ? 0 : left! < right! ? -1 : 1;
}
