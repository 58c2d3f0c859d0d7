import { CAPABILITIES, type Capability } from "#catalog/capability.ts";
import { ENDPOINTS, type Endpoint } from "#catalog/endpoint.ts";
import { BREAKDOWNS, MEASURES, type Breakdown, type Measure } from "./breakdown.ts";
import { type Filters, LOG_ORDERS, type LogOrder, readFilters } from "./filters.ts";
import { readCount, readText, readWord, type RawSearch } from "./query-string.ts";
import { readSort, type SortSearch } from "./sort.ts";
import { readWindow, type WindowSearch } from "./window.ts";

/** What each page keeps in its address. Reading never fails: what a page does not know is left out. */

export type ReportSearch = WindowSearch & Filters;

/** A page whose charts count one of several things. */
type MeasureSearch = { readonly show?: Measure | undefined };

export type OverviewSearch = ReportSearch &
  MeasureSearch &
  SortSearch & {
    readonly by?: Breakdown | undefined;
    /** The tag whose values are told apart when the usage is cut by tag. */
    readonly tagged?: string | undefined;
  };
/** What the cells of the heat map count: failures, all requests, or the share of failures. */
export const HEAT_MEASURES = ["failures", "all", "share"] as const;
export type HeatMeasure = (typeof HEAT_MEASURES)[number];
export type ErrorsSearch = ReportSearch & {
  /** The bars also hold what went well. */
  readonly ok?: "1" | undefined;
  readonly heat?: HeatMeasure | undefined;
};
export type UsageSearch = WindowSearch & MeasureSearch & SortSearch;
export type RequestsSearch = ReportSearch & {
  /** The log is followed unless it is `0`. */
  readonly live?: "0" | undefined;
  readonly order?: LogOrder | undefined;
  /** The id of the request whose details are open. */
  readonly open?: string | undefined;
  /** From 0. */
  readonly page?: number | undefined;
  readonly rows?: RowsAPage | undefined;
};
export function isDefaultOrder(order: LogOrder | undefined): boolean {
  return order === undefined || order === "newest";
}

/** How many rows of the request log stand on a page; the middle one when the address does not say. */
export const ROWS_A_PAGE = ["50", "100", "500"] as const;
export type RowsAPage = (typeof ROWS_A_PAGE)[number];
export type ModelsSearch = ListSearch & {
  readonly capability?: Capability | undefined;
  /** Hidden models as well; an administrator's list always has them. */
  readonly hidden?: "1" | undefined;
  readonly provider?: string | undefined;
  /** The model whose route is shown, and the request that would be made. */
  readonly resolve?: string | undefined;
  readonly endpoint?: Endpoint | undefined;
  readonly stream?: "1" | undefined;
};
export type PlaygroundSearch = { readonly model?: string | undefined };
/** Lists with a search box and one row open. */
export type ListSearch = {
  readonly q?: string | undefined;
  readonly open?: string | undefined;
};
/** What the page of people shows: themselves, or what they hold. */
const PEOPLE_TABS = ["people", "keys", "relay-tokens"] as const;
export type PeopleTab = (typeof PEOPLE_TABS)[number];
export type PeopleSearch = ListSearch & { readonly tab?: PeopleTab | undefined };
/** What the page of limits shows, and the person whose monthly budget is being made. */
export type LimitsSearch = ListSearch & { readonly budget?: string | undefined };
export type AuditSearch = {
  readonly action?: string | undefined;
  readonly actor?: string | undefined;
  readonly target?: string | undefined;
};
export type SignInSearch = {
  /** A path of this page to go back to. */
  readonly next?: string | undefined;
};

export function readReportSearch(search: RawSearch): ReportSearch {
  return { ...readWindow(search), ...readFilters(search) };
}

export function readOverviewSearch(search: RawSearch): OverviewSearch {
  return {
    ...readReportSearch(search),
    by: readWord(search, "by", BREAKDOWNS),
    tagged: readText(search, "tagged"),
    show: readWord(search, "show", MEASURES),
    ...readSort(search),
  };
}

export function readErrorsSearch(search: RawSearch): ErrorsSearch {
  return {
    ...readReportSearch(search),
    ok: readWord(search, "ok", ["1"]),
    heat: readWord(search, "heat", HEAT_MEASURES),
  };
}

/** Without filters: what one used oneself is asked for by its window alone. */
export function readUsageSearch(search: RawSearch): UsageSearch {
  return { ...readWindow(search), show: readWord(search, "show", MEASURES), ...readSort(search) };
}

export function readRequestsSearch(search: RawSearch): RequestsSearch {
  return {
    ...readReportSearch(search),
    live: readWord(search, "live", ["0"]),
    order: readWord(search, "order", LOG_ORDERS),
    open: readText(search, "open"),
    page: readCount(search, "page"),
    rows: readWord(search, "rows", ROWS_A_PAGE),
  };
}

export function readModelsSearch(search: RawSearch): ModelsSearch {
  return {
    ...readListSearch(search),
    capability: readWord(search, "capability", CAPABILITIES),
    hidden: readWord(search, "hidden", ["1"]),
    provider: readText(search, "provider"),
    resolve: readText(search, "resolve"),
    endpoint: readWord(search, "endpoint", ENDPOINTS),
    stream: readWord(search, "stream", ["1"]),
  };
}

export function readPlaygroundSearch(search: RawSearch): PlaygroundSearch {
  return { model: readText(search, "model") };
}

export function readListSearch(search: RawSearch): ListSearch {
  return { q: readText(search, "q"), open: readText(search, "open") };
}

export function readLimitsSearch(search: RawSearch): LimitsSearch {
  return { ...readListSearch(search), budget: readText(search, "budget") };
}

export function readPeopleSearch(search: RawSearch): PeopleSearch {
  return { ...readListSearch(search), tab: readWord(search, "tab", PEOPLE_TABS) };
}

export function readAuditSearch(search: RawSearch): AuditSearch {
  return {
    action: readText(search, "action"),
    actor: readText(search, "actor"),
    target: readText(search, "target"),
  };
}

export function readSignInSearch(search: RawSearch): SignInSearch {
  return { next: readNext(search) };
}

/** Only a path of this page: an address of elsewhere would make the sign-in an open redirect. */
function readNext(search: RawSearch): string | undefined {
  const text = readText(search, "next");
  return text !== undefined && isOwnPath(text) ? text : undefined;
}

/** A browser reads `//host`, `/\host` and tabs within as another host. */
export function isOwnPath(text: string): boolean {
  if (!text.startsWith("/") || text.startsWith("//") || /[\\\t\n\r]/.test(text)) return false;
  return URL.parse(text, "http://own.invalid")?.host === "own.invalid";
}
