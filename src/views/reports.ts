import type { SecretName } from "#identity/secret.ts";
import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { isRareUnit, picoToNumber, REPORT_UNITS, type ReportQuantities } from "#kernel/units.ts";
import { toCostPerRequest } from "#stats/breakdown.ts";
import { type CsvCell, toCsvRow } from "#stats/csv.ts";
import { toCost, toCostReported } from "#stats/series.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import type { Breakdown, BreakdownFigures, CostWindows, Facets, Percentiles } from "#stats/store.ts";
import { isUnmetered } from "#usage/event.ts";
import {
  CACHE_UNITS,
  type CacheCost,
  normaliseUsage,
  toCacheCost,
  toDisjointQuantities,
  toUnpricedReason,
} from "#usage/cost.ts";
import {
  type ComparedWindows,
  type CostWindow,
  explainCost,
  foldModels,
  type ModelChange,
  type WindowCost,
} from "#stats/cost-change.ts";
import { toConditionsView } from "#catalog/price-fields.ts";
import { toRequestUnits } from "./request-units.ts";

/** Reports → wire JSON (specification, sections 2.10 and 4.4, and the decisions, "Reports"). */

/** A row of the request log with what it joins from the catalog and from the keys that exist. */
export interface NamedRequestRow {
  readonly row: RequestLogRow;
  readonly providerName: string;
  readonly keyLabel: string | null;
}

export function toRequestView({ row, providerName, keyLabel }: NamedRequestRow) {
  const reason = findUnpricedReason(row);
  const cache = findRequestCache(row);
  return {
    id: row.id,
    ts: formatInstant(row.arrivedAtUs),
    principal: row.principal,
    key_id: row.keyId,
    key_label: keyLabel,
    relay_token_id: row.relayTokenId,
    provider: providerName,
    model: row.model,
    upstream_name: row.upstreamName,
    endpoint: row.endpoint,
    client: row.client,
    status_code: row.statusCode,
    outcome: row.outcome,
    error_kind: row.errorKind,
    ...(row.failure !== undefined && { failure: row.failure }),
    cancelled: row.outcome === "cancelled",
    streamed: row.streamed,
    duration_ms: row.durationUs / 1000,
    time_to_first_byte_ms: row.timeToFirstByteUs === null ? null : row.timeToFirstByteUs / 1000,
    cost: toCost(row.costPico),
    ...toRequestUnits(row.usage, row.prices),
    ...(cache !== undefined && { cache }),
    ...toCostReported({ costReportedPico: row.costReportedPico ?? null }),
    ...(row.tier !== undefined && { tier: row.tier }),
    ...(row.geo !== undefined && { geo: row.geo }),
    ...(row.prices.when !== undefined && { price_when: toConditionsView(row.prices.when) }),
    ...(reason !== undefined && { unpriced_reason: reason }),
    ...(isUnmetered(row) && { unmetered: true as const }),
    ...(row.usage?.shape === "pending" && { pending: true as const }),
    tags: row.tags,
  };
}

/** Why all that a request used is without a price, where that is no matter of prices alone. */
export function findUnpricedReason(
  row: Pick<RequestLogRow, "usage" | "tier" | "geo" | "prices" | "costPico">,
): string | undefined {
  if (row.usage === null || row.costPico !== null) return undefined;
  const isUsed = Object.values(row.usage.quantities).some((quantity) => quantity > 0);
  return isUsed ? toUnpricedReason(row) : undefined;
}

interface FacetsViewOptions {
  /** The keys that exist, by id: a deleted one has neither a label nor a suffix. */
  readonly keyNames: ReadonlyMap<string, SecretName>;
  readonly includeCounts: boolean;
}

export function toFacetsView(facets: Facets, { keyNames, includeCounts }: FacetsViewOptions) {
  return {
    principals: facets.principals,
    keys: facets.keyIds.map(({ id, principal }) => ({
      id,
      label: keyNames.get(id)?.label ?? null,
      key_suffix: keyNames.get(id)?.suffix ?? null,
      principal,
    })),
    providers: facets.providers,
    models: facets.models,
    clients: facets.clients,
    tags: facets.tags,
    truncated: facets.cut,
    ...(includeCounts && { counts: facets.counts }),
  };
}

/** The parts of a breakdown beside its rows: how it was asked for, and the keys that exist, where its values are keys. */
interface BreakdownViewOptions {
  readonly by: string;
  readonly sort: string;
  readonly keyNames: ReadonlyMap<string, SecretName> | null;
}

export function toBreakdownView(breakdown: Breakdown, { by, sort, keyNames }: BreakdownViewOptions) {
  return {
    by,
    sort,
    rows: breakdown.rows.map(({ value, figures }) => ({
      value,
      ...(keyNames !== null && {
        label: keyNames.get(value ?? "")?.label ?? null,
        key_suffix: keyNames.get(value ?? "")?.suffix ?? null,
      }),
      ...toBreakdownFigures(figures),
    })),
    total: toBreakdownFigures(breakdown.total),
    row_count: breakdown.rowCount,
    truncated: breakdown.truncated,
    percentiles: breakdown.percentiles,
  };
}

/** Models of an answer; the others stand together. */
const COST_MODELS_MAX = 100;

export function toCostChangeView({ before, now }: CostWindows, nowUs: InstantUs) {
  const change = explainCost(before, now);
  const rest = foldModels(change.models, COST_MODELS_MAX);
  const toWindowView = ({ window: { sinceUs, untilUs } }: CostWindow) => ({
    since: sinceUs === null ? null : formatInstant(sinceUs),
    until: formatInstant(untilUs ?? nowUs),
  });
  return {
    windows: { before: toWindowView(before), now: toWindowView(now) },
    total: toChangeView(change),
    models: change.models.slice(0, COST_MODELS_MAX).map(toModelChangeView),
    other_models: rest === null ? null : toChangeView(rest),
    rows: now.rows === "exact" ? before.rows : now.rows,
  };
}

function toModelChangeView({ model, ...compared }: ModelChange) {
  return { model, ...toChangeView(compared) };
}

function toChangeView({ before, now, differencePico, terms }: ComparedWindows) {
  return {
    before: toWindowCostView(before),
    now: toWindowCostView(now),
    difference: picoToNumber(differencePico),
    terms: {
      volume: picoToNumber(terms.volume),
      models: picoToNumber(terms.models),
      tokens: picoToNumber(terms.tokens),
      cache: picoToNumber(terms.cache),
      unpriced: picoToNumber(terms.unpriced),
      price: picoToNumber(terms.price),
      unexplained: picoToNumber(terms.unexplained),
    },
  };
}

function toWindowCostView({ requests, failed, unpricedRequests, costPico, units }: WindowCost) {
  return { requests, failed, unpriced_requests: unpricedRequests, cost: toCost(costPico), units };
}

type BreakdownColumn = readonly [name: string, toCell: (figures: BreakdownFigures) => CsvCell];

const RARE_FIGURES: readonly BreakdownColumn[] = [
  ["pending_requests", ({ pendingRequests }) => pendingRequests || null],
  ["cost_reported", ({ costReportedPico }) => costReportedPico],
];

/** The rows of a breakdown as CSV, with exact costs; what is rare has a column only where some row has it. */
export function toBreakdownCsv({ rows }: Breakdown, { by, keyNames }: Omit<BreakdownViewOptions, "sort">) {
  const isUsed = ([, toCell]: BreakdownColumn) => rows.some(({ figures }) => toCell(figures) !== null);
  const units = REPORT_UNITS.map((unit): BreakdownColumn => [
    // The count of all requests is a column `requests` already.
    unit === "requests" ? "billed_requests" : unit,
    (figures) => figures.units[unit] ?? null,
  ]);
  const shown = units.filter(
    (column, index) => !isRareUnit(REPORT_UNITS[index] ?? "requests") || isUsed(column),
  );
  const columns: readonly BreakdownColumn[] = [
    ["requests", ({ requests }) => requests],
    ["ok", ({ ok }) => ok],
    ["failed", ({ upstreamError, unreachable }) => upstreamError + unreachable],
    ["cancelled", ({ cancelled }) => cancelled],
    ["unpriced", ({ unpricedRequests }) => unpricedRequests],
    ["unmetered", ({ unmeteredRequests }) => unmeteredRequests],
    ...shown,
    ["cost", ({ costPico }) => costPico],
    ["cost_per_request", (figures) => toCostPerRequest(figures)],
    ["duration_p50_ms", ({ durationUs }) => toMilliseconds(durationUs).p50],
    ["duration_p95_ms", ({ durationUs }) => toMilliseconds(durationUs).p95],
    ["first_byte_p50_ms", ({ firstByteUs }) => toMilliseconds(firstByteUs).p50],
    ["first_byte_p95_ms", ({ firstByteUs }) => toMilliseconds(firstByteUs).p95],
    ...RARE_FIGURES.filter(isUsed),
  ];
  const toNames = (value: string | null) => {
    const name = keyNames?.get(value ?? "");
    return keyNames === null ? [value] : [value, name?.label ?? null, name?.suffix ?? null];
  };
  const names = keyNames === null ? [by] : [by, "key_label", "key_suffix"];
  return [
    toCsvRow([...names, ...columns.map(([name]) => name)]),
    ...rows.map(({ value, figures }) =>
      toCsvRow([...toNames(value), ...columns.map(([, toCell]) => toCell(figures))]),
    ),
  ].join("");
}

function toBreakdownFigures(figures: BreakdownFigures) {
  return {
    requests: figures.requests,
    ok: figures.ok,
    failed: figures.upstreamError + figures.unreachable,
    cancelled: figures.cancelled,
    unpriced: figures.unpricedRequests,
    unmetered: figures.unmeteredRequests,
    ...(figures.pendingRequests > 0 && { pending_requests: figures.pendingRequests }),
    cost: toCost(figures.costPico),
    ...toCostReported(figures),
    cost_per_request: toCost(toCostPerRequest(figures)),
    units: figures.units,
    duration_ms: toMilliseconds(figures.durationUs),
    time_to_first_byte_ms: toMilliseconds(figures.firstByteUs),
    last_ok_at: figures.lastOkUs === null ? null : formatInstant(figures.lastOkUs),
    ...(figures.cacheCost !== undefined && { cache: toCacheView(figures.units, figures.cacheCost) }),
  };
}

/** Undefined for a request that neither read nor wrote a prompt cache. */
function findRequestCache({ usage, prices }: RequestLogRow) {
  if (usage === null || !CACHE_UNITS.some((unit) => (usage.quantities[unit] ?? 0) > 0)) return undefined;
  const cost = toCacheCost([{ prices, quantities: toDisjointQuantities(usage) }]);
  return toCacheView(normaliseUsage(usage), cost);
}

/** What a prompt cache gave, cost and saved. */
function toCacheView(units: ReportQuantities, cost: CacheCost | null) {
  const { input_tokens: input = 0, cached_input_tokens: cached = 0 } = units;
  return {
    read_share: input + cached === 0 ? null : cached / (input + cached),
    write_cost: toCost(cost?.writeCostPico ?? null),
    saving: toCost(cost?.savingPico ?? null),
  };
}

function toMilliseconds({ p50, p95 }: Percentiles) {
  return { p50: p50 === null ? null : p50 / 1000, p95: p95 === null ? null : p95 / 1000 };
}
