import { truncateCodePoints } from "#kernel/text.ts";
import { type ReportQuantities, type ReportUnit, findUnitPrice, toReportUnit, UNITS } from "#kernel/units.ts";
import { type Outcome, type ReportedUsage, type UsageEnding, RELAY_PROVIDER, isUnmetered } from "./event.ts";
import { findLack, toDisjointQuantities, toUnpricedReason } from "./cost.ts";

/** The labels of one request. `provider` is the name it had at the time; an empty `model` is a relay call without one. */
type RequestLabels = {
  readonly endpoint: string;
  readonly provider: string;
  readonly model: string;
};

type UnitLabels = Omit<RequestLabels, "endpoint">;
/** `reason`: why prices do not hold for it, where it lacks more than them (`toUnpricedReason`). */
type UnpricedLabels = Pick<RequestLabels, "model"> & { readonly reason?: string };

interface RequestSeries {
  readonly labels: RequestLabels;
  readonly requests: { readonly [outcome in Outcome]: number };
  /** From arrival to the end, summed over all outcomes. */
  readonly durationUs: number;
  /** Requests that ended without their usage (`isUnmetered`). */
  readonly unmeteredCount: number;
  /** Requests whose usage was told after their end. */
  readonly settledCount: number;
}

/** Quantities as in reports; a unit that was never seen above zero is absent. */
export interface UnitSeries<Labels> {
  readonly labels: Labels;
  readonly quantities: ReportQuantities;
}

/** Counters of the process since it started (specification, section 6). Never by principal. */
export interface UsageMetrics {
  /** Counts many requests of the same labels. Until the first is counted, it makes no series and takes nobody's place. */
  open(request: CountedRequest): UsageCounter;
  requests(): readonly RequestSeries[];
  units(): readonly UnitSeries<UnitLabels>[];
  /** Quantities of units that had no price. */
  unpricedUnits(): readonly UnitSeries<UnpricedLabels>[];
  /** Requests that used something without a price, by the kind of condition that no price names; null for none. */
  unpricedRequests(): ReadonlyMap<"tier" | "geo" | null, number>;
}

export interface UsageCounter {
  /** Called once per usage event, when its end is written. Takes a fraction of a microsecond; never throws. */
  count(ending: UsageEnding): void;
  /** Adds what a request used that was counted while its usage was pending. */
  settle(ending: UsageEnding): void;
}

export interface CountedRequest {
  /** The served endpoint, or the relayed path. */
  readonly endpoint: string;
  /** The provider's name, or `RELAY_PROVIDER`. */
  readonly provider: string;
  readonly model: string | null;
}

/**
 * Combinations of endpoint, provider and model that are told apart; each has up to four series, one per outcome or unit.
 * Names of relayed requests have a share of their own, so that no caller can use up what the catalog's models need.
 */
export const CATALOG_LABEL_SETS_MAX = 1_000;
export const RELAY_LABEL_SETS_MAX = 100;
/** Reasons that are told apart: providers call their tiers what they like. */
export const REASONS_MAX = 16;
/** The label value of everything past a limit. */
export const OTHER = "(other)";
/** Code points; longer values are cut. As long as an alias may be. */
export const LABEL_VALUE_LENGTH_MAX = 200;
/** The paths that a relay's callers meter by; any other is `(other)`. */
const RELAYED_PATHS: ReadonlySet<string> = new Set(["/v1/messages", "/v1/messages/count_tokens"]);

type Sums = { [unit in ReportUnit]?: number };

interface Units<Labels> {
  readonly labels: Labels;
  readonly quantities: Sums;
}

interface Requests {
  readonly labels: RequestLabels;
  readonly requests: { [outcome in Outcome]: number };
  durationUs: number;
  unmeteredCount: number;
  settledCount: number;
  readonly units: Units<UnitLabels>;
  readonly unpriced: UnpricedOfModel;
}

/** Without a reason, and by reason. */
interface UnpricedOfModel {
  readonly plain: Units<UnpricedLabels>;
  ofReason(reason: string): Units<UnpricedLabels>;
}

interface OfModel {
  readonly unpriced: UnpricedOfModel;
  readonly providers: Map<string, OfProvider>;
}

interface OfProvider {
  readonly units: Units<UnitLabels>;
  readonly endpoints: Map<string, Requests>;
}

export function createUsageMetrics(): UsageMetrics {
  /** Nested, so that a request is found without putting a key together. */
  const models = new Map<string, OfModel>();
  const requests: Requests[] = [];
  const units: Units<UnitLabels>[] = [];
  const unpricedUnits: Units<UnpricedLabels>[] = [];
  const unpricedRequests = new Map<"tier" | "geo" | null, number>();
  const reasons = new Set<string>();
  let catalogCount = 0;
  let relayCount = 0;

  const find = ({ endpoint, provider, model }: RequestLabels) =>
    models.get(model)?.providers.get(provider)?.endpoints.get(endpoint);

  /** For values that are new, or have to be bounded first. */
  function findOrOpen(given: RequestLabels): Requests {
    const labels = toBounded(given);
    const known = find(labels);
    if (known !== undefined) return known;
    if (labels.provider === RELAY_PROVIDER) {
      const overflow = { ...labels, model: OTHER };
      if (relayCount >= RELAY_LABEL_SETS_MAX) return find(overflow) ?? open(overflow);
      relayCount += 1;
    } else {
      if (catalogCount >= CATALOG_LABEL_SETS_MAX) return find(OVERFLOW) ?? open(OVERFLOW);
      catalogCount += 1;
    }
    return open(labels);
  }

  function open(labels: RequestLabels): Requests {
    const { endpoint, provider, model } = labels;
    const ofModel = getOrAdd(models, model, () => ({
      unpriced: openUnpriced(model),
      providers: new Map<string, OfProvider>(),
    }));
    const ofProvider = getOrAdd(ofModel.providers, provider, () => ({
      units: addTo(units, { provider, model }),
      endpoints: new Map<string, Requests>(),
    }));
    const opened: Requests = {
      labels,
      requests: { ok: 0, upstream_error: 0, unreachable: 0, cancelled: 0 },
      durationUs: 0,
      unmeteredCount: 0,
      settledCount: 0,
      units: ofProvider.units,
      unpriced: ofModel.unpriced,
    };
    ofProvider.endpoints.set(endpoint, opened);
    requests.push(opened);
    return opened;
  }

  function openUnpriced(model: string): UnpricedOfModel {
    const byReason = new Map<string, Units<UnpricedLabels>>();
    const ofReason = (given: string) => {
      if (!reasons.has(given) && reasons.size < REASONS_MAX) reasons.add(given);
      const reason = reasons.has(given) ? given : OTHER;
      return getOrAdd(byReason, reason, () => addTo(unpricedUnits, { model, reason }));
    };
    return { plain: addTo(unpricedUnits, { model }), ofReason };
  }

  const countUnpriced = (ending: UsageEnding) => {
    const lack = findLack(ending) ?? null;
    unpricedRequests.set(lack, (unpricedRequests.get(lack) ?? 0) + 1);
  };

  const getSeries = ({ endpoint, provider, model }: CountedRequest) => {
    const labels = { endpoint, provider, model: model ?? "" };
    return find(labels) ?? findOrOpen(labels);
  };

  return {
    open(request) {
      let series: Requests | null = null;
      return {
        count(ending) {
          countEnding((series ??= getSeries(request)), ending);
          if (ending.unpriced) countUnpriced(ending);
        },
        settle(ending) {
          countSettled((series ??= getSeries(request)), ending);
          if (ending.unpriced) countUnpriced(ending);
        },
      };
    },
    requests: () => requests,
    units: () => units,
    unpricedUnits: () => unpricedUnits,
    unpricedRequests: () => unpricedRequests,
  };
}

function countEnding(series: Requests, ending: UsageEnding): void {
  const { outcome, durationUs } = ending;
  series.requests[outcome] += 1;
  series.durationUs += durationUs;
  countUsage(series, ending);
}

function countSettled(series: Requests, ending: UsageEnding): void {
  series.settledCount += 1;
  countUsage(series, ending);
}

function countUsage(series: Requests, ending: UsageEnding): void {
  const { usage } = ending;
  if (usage !== null) addUsage(series, usage, ending);
  if (isUnmetered(ending)) series.unmeteredCount += 1;
}

function addUsage(series: Requests, usage: ReportedUsage, ending: UsageEnding): void {
  const { prices } = ending;
  const reason = toUnpricedReason(ending);
  const unpriced = reason === undefined ? series.unpriced.plain : series.unpriced.ofReason(reason);
  const disjoint = toDisjointQuantities(usage);
  for (const unit of UNITS) {
    const quantity = disjoint[unit];
    if (quantity === undefined || quantity <= 0) continue;
    add(series.units.quantities, toReportUnit(unit), quantity);
    if (findUnitPrice(prices, unit) === null) add(unpriced.quantities, toReportUnit(unit), quantity);
  }
}

const OVERFLOW: RequestLabels = { endpoint: OTHER, provider: OTHER, model: OTHER };

/** Values of a length that is bounded, and of the relay only the endpoints that are known. */
function toBounded({ endpoint, provider, model }: RequestLabels): RequestLabels {
  const isRelay = provider === RELAY_PROVIDER;
  return {
    endpoint: isRelay && !RELAYED_PATHS.has(endpoint) ? OTHER : toLabelValue(endpoint),
    provider: toLabelValue(provider),
    model: toLabelValue(model),
  };
}

/** Well-formed, so that it is the same text again in UTF-8, and a copy, so that it does not hold on to a longer one. */
function toLabelValue(text: string): string {
  return Buffer.from(truncateCodePoints(text, LABEL_VALUE_LENGTH_MAX)).toString();
}

function add(sums: Sums, unit: ReportUnit, quantity: number): void {
  sums[unit] = (sums[unit] ?? 0) + quantity;
}

function addTo<Labels>(list: Units<Labels>[], labels: Labels): Units<Labels> {
  const added = { labels, quantities: {} };
  list.push(added);
  return added;
}

function getOrAdd<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
