import type { BillFiles, BillSummary } from "#bills/bill.ts";
import type { Reconciliation } from "#bills/reconciliation.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { AppliedPrices } from "#kernel/price-variants.ts";
import type { Unit, Pico, ReportQuantities, ReportUnit } from "#kernel/units.ts";
import type { Bucket } from "./bucket.ts";
import type { RowState, Ranking } from "./breakdown-query.ts";
import type { ClientChange } from "./client-changes.ts";
import type { CostWindow } from "./cost-change.ts";
import type { LedgerFilter, ProviderIds, Window } from "./filter.ts";
import type { RecordedRows, RequestLogRow, LogOrder } from "./request-log.ts";
import type { RetryStorm } from "./retry-storms.ts";
import type { SeriesGrouping } from "./series-grouping.ts";
import type { BilledQuantities, CacheCost } from "#usage/cost.ts";

export interface StatsQuery {
  readonly window: Window;
  readonly filter: LedgerFilter;
  /** `include: null` is every provider but the excluded ones: `(deleted)` excludes all that exist and the relay. */
  readonly providers: ProviderIds;
  /** Only what this principal used, whatever it was called; null is every principal. */
  readonly principalId: string | null;
}

/** What a report needs to know beside the ledger. */
export interface ReportContext {
  readonly nowUs: InstantUs;
  /** Names of the providers that exist, by id; every other id but the relay's is `(deleted)`. */
  readonly providerNames: ReadonlyMap<string, string>;
}

/** What every report says of the window that it was made for. */
export interface ReportNotes {
  /**
   * Set when retention has removed rows that a ragged end of the window needed: the whole days (for filtered hours: the
   * hours that still have rows) that were counted instead; and where rows of its newest hours alone were read.
   */
  readonly snapped: { readonly sinceUs: InstantUs; readonly untilUs: InstantUs } | null;
  /** True when rows beyond a named limit were left out, or stand together as `(other)`: then nothing is missing in the sums. */
  readonly truncated: boolean;
}

/** What a part of a series adds up to. */
export interface SeriesFigures {
  readonly requests: number;
  readonly ok: number;
  readonly cancelled: number;
  readonly upstreamError: number;
  readonly unreachable: number;
  readonly unpricedRequests: number;
  /** Requests whose usage is still to come. */
  readonly pendingRequests: number;
  /** Null when nothing in it was priced. */
  readonly costPico: Pico | null;
  /** The sum of what providers told; null where none told a cost. */
  readonly costReportedPico: Pico | null;
  /** Normalised as reports count them; a unit that nothing reported is absent. */
  readonly units: ReportQuantities;
}

export interface SeriesBucket extends SeriesFigures {
  readonly startUs: InstantUs;
}

export interface Series extends ReportNotes {
  readonly bucket: Bucket;
  readonly buckets: readonly SeriesBucket[];
}

/** By nearest rank; null where there is nothing to rank, and where durations could not be read. */
export interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
}

/** Percentiles are those of requests that ended `ok`, of first bytes only where they were streamed. */
export interface BreakdownFigures extends SeriesFigures {
  readonly pricedRequests: number;
  /** Ended without their usage (`isUnmetered`). */
  readonly unmeteredRequests: number;
  /** The arrival of the newest request that ended `ok`. */
  readonly lastOkUs: InstantUs | null;
  readonly durationUs: Percentiles;
  readonly firstByteUs: Percentiles;
  /** Absent where it was not asked for; null where rows were not read. */
  readonly cacheCost?: CacheCost | null;
}

export interface BreakdownRow {
  /** Null for requests that have no value. */
  readonly value: string | null;
  readonly figures: BreakdownFigures;
}

/** `truncated` when there are more values than rows. */
export interface Breakdown extends ReportNotes {
  readonly rows: readonly BreakdownRow[];
  readonly total: BreakdownFigures;
  /** How many values there are. */
  readonly rowCount: number;
  /** Tells why there are no percentiles, and no costs of caches. */
  readonly percentiles: RowState;
}

/**
 * How a summary is grouped: `own` by (model, endpoint), `admin` by (principal, model, endpoint), `team` by (principal,
 * provider, model, endpoint, client, tags).
 */
export type SummaryGrouping = "own" | "admin" | "team";

export type ReportFormat = "json" | "csv";

/** Content codings that a report can come in, the quickest to make first. */
export const REPORT_CODINGS = ["zstd", "br", "gzip", "identity"] as const;
export type ReportCoding = (typeof REPORT_CODINGS)[number];

/** How an encoded report is to come; small ones are not compressed. */
export interface ReportTransfer {
  readonly coding: ReportCoding;
}

/**
 * A report with up to tens of thousands of rows, spelled and encoded by the thread that read it, since doing that on the
 * serving thread would hold up requests. The chunks in order are the whole response body.
 */
export interface EncodedReport extends ReportNotes {
  readonly chunks: readonly Uint8Array<ArrayBuffer>[];
  /** Absent where the chunks are not compressed. */
  readonly coding?: ReportCoding;
}

/** Distinct values in the window by code unit, 500 of each at most: the most used when there are more, which `cut` says. */
export interface Facets extends ReportNotes, Readonly<Record<Exclude<FacetName, "keys">, readonly string[]>> {
  readonly keyIds: readonly { readonly id: string; readonly principal: string }[];
  /** Requests in the window and under its filters that have each value, in the order of the values. */
  readonly counts: { readonly [facet in FacetName]: readonly number[] };
  readonly cut: { readonly [facet in FacetName]: boolean };
}
export const FACET_NAMES = ["principals", "keys", "providers", "models", "clients", "tags"] as const;
export type FacetName = (typeof FACET_NAMES)[number];

/** What was used of one unit of one name, by requests that had no price for it. */
export interface UnpricedUnit {
  readonly model: string;
  /** Passed on by the relay, whose prices are those of exactly this name. */
  readonly isRelayed: boolean;
  /** The service tier or the region that they were answered at, for which there are no prices; null where prices hold. */
  readonly lack: { readonly kind: "tier" | "geo"; readonly value: string } | null;
  readonly unit: ReportUnit;
  readonly requests: number;
  /** Normalised as reports count it. */
  readonly quantity: number;
  readonly lastSeenUs: InstantUs;
  /** What decided between prices; none of names that stand together. */
  readonly facts: readonly UnpricedFacts[];
}

/** Requests that were answered at one tier and in one region, from the shortest whole input to the longest. */
export interface UnpricedFacts {
  readonly tier: string | null;
  readonly geo: string | null;
  readonly inputMin: number;
  readonly inputMax: number;
}

export interface MissingPrices extends ReportNotes {
  readonly rows: readonly UnpricedUnit[];
}

/** Files of bills, and whose usage each vendor's is compared with. */
export interface BillQuery extends BillFiles {
  readonly providersOf: { readonly [vendor: string]: ProviderIds };
}

/** Bills held against the ledger. */
export interface ComparedBills extends Reconciliation, ReportNotes {
  readonly bills: readonly BillSummary[];
}

/** One unit of one model, tier and region that one key used on one day, UTC, at one price or without one. */
export interface BilledUnit extends Pick<
  RequestLogRow,
  "principal" | "keyId" | "providerId" | "model" | "upstreamName"
> {
  readonly principalId: string;
  readonly tier: string | null;
  readonly geo: string | null;
  /** Null for the cost of requests whose rows were removed: totals do not tell what each unit cost. */
  readonly unit: Unit | null;
  /** Each token once, as it was billed; null where `unit` is. */
  readonly quantity: number | null;
  /** Null where there is none, and where prices changed during the day. */
  readonly pricePico: number | null;
  /** Null where it is not known, which `reason` then says. */
  readonly costPico: Pico | null;
  /** Why there is no cost, or no unit; null where there are both. */
  readonly reason: string | null;
}

/** Costs of a day add up to what the ledger has for it, to the pico. */
export interface BilledDay extends ReportNotes {
  readonly rows: readonly BilledUnit[];
}

type StatementFigures = Pick<
  BreakdownFigures,
  "requests" | "unpricedRequests" | "unmeteredRequests" | "costPico"
>;

export interface StatementRow extends StatementFigures {
  readonly by: (typeof STATEMENT_PARTS)[number];
  /** A principal's name, a key's id, or a tag. */
  readonly value: string;
}
export const STATEMENT_PARTS = ["principal", "key", "tag"] as const;

/** A month by person, key and tag. */
export interface Statement extends ReportNotes {
  /** Hexadecimal SHA-256 over the usage and the costs of each day: equal for the same month on every engine. */
  readonly hash: string;
  readonly total: StatementFigures;
  readonly rows: readonly StatementRow[];
  /** Those that have changed costs of the window, or are doing so, the last first. */
  readonly repricings: readonly StatementRepricing[];
}

export const STATEMENT_REPRICING_STATES = ["running", "applied", "reverting", "reverted"] as const;

export interface StatementRepricing {
  readonly state: (typeof STATEMENT_REPRICING_STATES)[number];
  /** When it was applied, or taken back, last; null while it is applied for the first time. */
  readonly changedAtUs: InstantUs | null;
}

/** The usage of a model at one tier and in one region, to which other prices can be applied. */
export interface ModelUse extends Pick<
  SeriesFigures,
  "requests" | "unpricedRequests" | "costPico" | "units"
> {
  readonly model: string;
  /** Null for the standard one. */
  readonly tier: string | null;
  /** Null where the standard prices hold. */
  readonly geo: string | null;
  /** Null where rows were not read. */
  readonly billed: readonly BilledUse[] | null;
}

/** Requests that were billed at one set of prices, and that no bound of `RequestBounds` tells apart. */
export interface BilledUse extends BilledQuantities {
  readonly prices: AppliedPrices;
  /** As it was recorded, each request rounded by itself. */
  readonly costPico: Pico;
  /** A whole input, and a moment of the end, that each of them could have had. */
  readonly inputTokens: number;
  readonly endedAtUs: InstantUs;
}

/** Where prices that depend on each request change, so that requests between two bounds have the same. Each in ascending order. */
export interface RequestBounds {
  /** Tokens of the whole input: more than it. */
  readonly inputOver: readonly number[];
  /** Minutes of the UTC day by a request's end: from it on. */
  readonly minutes: readonly number[];
}

export interface ModelUseQuery extends StatsQuery {
  readonly bounds: RequestBounds;
}

export interface ModelUses extends ReportNotes {
  /** By model, tier and region, the standard ones first. */
  readonly uses: readonly ModelUse[];
  /** Tells why there are no costs by unit. */
  readonly unitCosts: RowState;
}

/** Two windows of one ledger at one moment. `snapped` is that of `now`. */
export interface CostWindows extends ReportNotes {
  readonly before: CostWindow;
  readonly now: CostWindow;
}

/** The versions of clients that fail more often than before. */
export interface ClientChanges extends ReportNotes {
  /** The days that were looked at. */
  readonly window: Window;
  readonly changes: readonly ClientChange[];
}

/** Storms of retries, those with the most attempts first; `truncated` where there are more. */
export interface RetryStorms extends ReportNotes {
  readonly storms: readonly (Omit<RetryStorm, "subject"> &
    Pick<RequestLogRow, "principal" | "keyId" | "relayTokenId" | "model" | "client">)[];
  /** The sum of all storms, also of those that the list has no room for. */
  readonly total: { readonly storms: number; readonly attempts: number; readonly costPico: Pico | null };
}

/** Aborting drops a question that is still waiting, and the answer of one that is under way. */
export interface ReportOptions {
  readonly signal?: AbortSignal | undefined;
  /** The principal that asks: reports are read in turn by principals. Questions without one share a turn. */
  readonly askerId?: string | undefined;
}

export interface RequestListOptions extends ReportOptions {
  /** `newest` when absent. */
  readonly order?: LogOrder;
  /** False for a page whose total is not shown: it is then 0, and nothing is counted for it. */
  readonly isTotalWanted?: boolean;
  /** True to be told what few rows have: units, regions, costs that providers told. All rows of the window are looked at for it. */
  readonly areUnitsWanted?: boolean;
}

export type RequestLog = Paged<RequestLogRow> &
  ReportNotes & {
    /** Only where it was asked for. */
    readonly rareUnits?: readonly Unit[];
    /** As the rare units. */
    readonly hasPending?: boolean;
    readonly hasGeo?: boolean;
    readonly hasCostReported?: boolean;
  };

/**
 * Reports over the ledger, read away from the data plane on read-only connections, those of one principal one after the
 * other. Each is bounded before it starts; refusals are `range_too_large` (more than 1000 buckets, or more rows to look
 * at than a named limit) and `reports_busy` (too many questions wait, or this one has waited too long). An aborted one rejects with the signal's reason.
 */
export interface StatsStore {
  /**
   * With the exact total. A page may be longer than those of the interface. Throws `range_too_large` where an order by size or
   * a filter on single requests would look at too many rows.
   */
  listRequests(query: StatsQuery, page: Page, options?: RequestListOptions): Promise<RequestLog>;
  /**
   * What was recorded since `after` was given, by the order of recording, since a request that began earlier may end later.
   * An empty one means from now on. A look that finds nothing new asks no reader, and none waits for reports.
   */
  listRecorded(
    query: StatsQuery,
    page: Page & { readonly after: string },
    options?: ReportOptions,
  ): Promise<RecordedRows>;
  /** Gap-filled. Without `since` it starts at the first event that matches; without `until` it ends with the present bucket. */
  readSeries(
    query: StatsQuery & { readonly bucket: Bucket; readonly nowUs: InstantUs },
    options?: ReportOptions,
  ): Promise<Series>;
  /**
   * `UsageSeries`, with its groups where it is cut into some: the same window and buckets as `readSeries`, and sums that add up
   * to it exactly.
   */
  readGroupedSeries(
    query: StatsQuery & {
      readonly bucket: Bucket;
      readonly grouping: SeriesGrouping | null;
      readonly context: ReportContext;
    } & Partial<ReportTransfer>,
    options?: ReportOptions,
  ): Promise<EncodedReport>;
  /** `{usage: [row]}`, or rows of CSV. Failed and model-less requests are left out. */
  readSummary(
    query: StatsQuery & {
      readonly grouping: SummaryGrouping;
      readonly format: ReportFormat;
      readonly context: ReportContext;
    } & Partial<ReportTransfer>,
    options?: ReportOptions,
  ): Promise<EncodedReport>;
  /** A row for each value of one dimension, the largest first. */
  readBreakdown(
    query: StatsQuery & Ranking & { readonly context: ReportContext },
    options?: ReportOptions,
  ): Promise<Breakdown>;
  readFacets(
    query: StatsQuery & { readonly context: ReportContext },
    options?: ReportOptions,
  ): Promise<Facets>;
  /** `{bucket, series, breakdown}` of `GET /stats/errors`. */
  readErrors(
    query: StatsQuery & {
      readonly bucket: Bucket;
      readonly context: ReportContext;
    } & Partial<ReportTransfer>,
    options?: ReportOptions,
  ): Promise<EncodedReport>;
  readClientChanges(
    query: StatsQuery & { readonly nowUs: InstantUs },
    options?: ReportOptions,
  ): Promise<ClientChanges>;
  readRetryStorms(query: StatsQuery, options?: ReportOptions): Promise<RetryStorms>;
  /** By model and unit. Of requests that name a model, however they ended; the prices are those in force when they were recorded. */
  readMissingPrices(query: StatsQuery, options?: ReportOptions): Promise<MissingPrices>;
  /** What was billed on the day that the window is. Throws `range_too_large` for more rows than are held in memory. */
  readBilledDay(query: StatsQuery, options?: ReportOptions): Promise<BilledDay>;
  /** The statement of the days that the window is. Throws `range_too_large` for more sums than are held in memory. */
  readStatement(query: StatsQuery, options?: ReportOptions): Promise<Statement>;
  /**
   * Reads bills and holds them against what was recorded, by day, upstream model and tier; nothing of them is kept. Throws
   * `invalid_bill`, `invalid_request` and `range_too_large`.
   */
  reconcile(query: BillQuery, options?: ReportOptions): Promise<ComparedBills>;
  /** What was used of each model that the filter names, and what it cost. */
  readModelUse(query: ModelUseQuery, options?: ReportOptions): Promise<ModelUses>;
  /** Costs of the window and of the one that it is compared with, by model, with the quantities that were billed. */
  readCostWindows(
    query: StatsQuery & { readonly before: Window },
    options?: ReportOptions,
  ): Promise<CostWindows>;
}
