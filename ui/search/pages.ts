import { CAPABILITIES } from "#catalog/capability.ts";
import { ENDPOINTS } from "#catalog/endpoint.ts";
import { BREAKDOWNS, MEASURES } from "./breakdown.ts";
import { type Filters, LOG_ORDERS, type LogOrder, readFilters } from "./filters.ts";
import { readCount, readText, readTexts, readWord, type RawSearch } from "./query-string.ts";
import { readWindow, type WindowSearch } from "./window.ts";

/** What each page keeps in its address, told once: how a name is read says what it may be. What a page does not know is left out. */

type Reader<Value> = (search: RawSearch, name: string) => Value;
type Names = { readonly [name: string]: Reader<unknown> };
type SearchOf<Read extends Names> = { readonly [name in keyof Read]?: ReturnType<Read[name]> };

function reading<Read extends Names>(names: Read): (search: RawSearch) => SearchOf<Read>;
function reading(names: Names): (search: RawSearch) => object {
  const readers = Object.entries(names);
  return (search) => Object.fromEntries(readers.map(([name, read]) => [name, read(search, name)]));
}

function word<const Word extends string>(...words: readonly Word[]): Reader<Word | undefined> {
  return (search, name) => readWord(search, name, words);
}

/** What the cells of the heat map count: failures, all requests, or the share of failures. */
export const HEAT_MEASURES = ["failures", "all", "share"] as const;
export type HeatMeasure = (typeof HEAT_MEASURES)[number];

/** The number of rows on a page of the request log; the middle one when the address does not say. */
export const ROWS_A_PAGE = ["50", "100", "500"] as const;

export function isDefaultOrder(order: LogOrder | undefined): boolean {
  return order === undefined || order === "newest";
}

export type ReportSearch = WindowSearch & Filters;

export function readReportSearch(search: RawSearch): ReportSearch {
  return { ...readWindow(search), ...readFilters(search) };
}

/** What the charts count, and the order of the table. */
const USAGE = { show: word(...MEASURES), sort: readText };
const readUsage = reading(USAGE);
const readOverview = reading({
  ...USAGE,
  by: word(...BREAKDOWNS),
  /** The tag whose values are told apart when the usage is cut by tag. */
  tagged: readText,
});
const readErrors = reading({
  /** The bars also hold what went well. */
  ok: word("1"),
  heat: word(...HEAT_MEASURES),
});
const readRequests = reading({
  /** The log is followed unless it is `0`. */
  live: word("0"),
  order: word(...LOG_ORDERS),
  /** The id of the request whose details are open. */
  open: readText,
  /** From 0. */
  page: readCount,
  rows: word(...ROWS_A_PAGE),
});

export type OverviewSearch = ReportSearch & ReturnType<typeof readOverview>;
export function readOverviewSearch(search: RawSearch): OverviewSearch {
  return { ...readReportSearch(search), ...readOverview(search) };
}

export type ErrorsSearch = ReportSearch & ReturnType<typeof readErrors>;
export function readErrorsSearch(search: RawSearch): ErrorsSearch {
  return { ...readReportSearch(search), ...readErrors(search) };
}

export type RequestsSearch = ReportSearch & ReturnType<typeof readRequests>;
export function readRequestsSearch(search: RawSearch): RequestsSearch {
  return { ...readReportSearch(search), ...readRequests(search) };
}

/** Without filters: what one used oneself is asked for by its window alone. */
export function readUsageSearch(search: RawSearch): WindowSearch & ReturnType<typeof readUsage> {
  return { ...readWindow(search), ...readUsage(search) };
}

/** Lists with a search box and one row open. */
const LIST = { q: readText, open: readText };
export const readListSearch = reading(LIST);

export const readModelsSearch = reading({
  ...LIST,
  capability: word(...CAPABILITIES),
  /** Hidden models as well; an administrator's list always has them. */
  hidden: word("1"),
  provider: readText,
  /** The model whose route is shown, and the request that would be made. */
  resolve: readText,
  endpoint: word(...ENDPOINTS),
  stream: word("1"),
});
export type ModelsSearch = ReturnType<typeof readModelsSearch>;

/** What a re-pricing is planned with stands in the address while it is asked for: `plan=1`. */
export const readRepricingSearch = reading({
  ...LIST,
  plan: word("1"),
  of: readTexts,
  since: readText,
  until: readText,
  /** Only requests of which some unit has no price. */
  unpriced: word("1"),
  /** At the prices that were in force, and not at those of today. */
  at: word("history"),
});
export type RepricingSearch = ReturnType<typeof readRepricingSearch>;

/** Each `pair` is two models: whose usage, and at whose prices. */
const readPairs = reading({ pair: readTexts });
export function readWhatIfSearch(search: RawSearch): WindowSearch & { readonly pair: readonly string[] } {
  return { ...readWindow(search), pair: readPairs(search).pair ?? [] };
}

export const readPlaygroundSearch = reading({ model: readText });

/** `budget` is the person whose monthly budget is being made. */
export const readLimitsSearch = reading({ ...LIST, budget: readText });
export type LimitsSearch = ReturnType<typeof readLimitsSearch>;

/** People themselves, or what they hold. */
export const readPeopleSearch = reading({ ...LIST, tab: word("people", "keys", "relay-tokens") });
export type PeopleSearch = ReturnType<typeof readPeopleSearch>;

/** `2026-03`; the present month when absent. */
export const readStatementSearch = reading({
  month(search, name): string | undefined {
    const text = readText(search, name);
    return text !== undefined && /^\d{4}-(0[1-9]|1[0-2])$/.test(text) ? text : undefined;
  },
});

export const readAuditSearch = reading({ action: readText, actor: readText, target: readText });
export type AuditSearch = ReturnType<typeof readAuditSearch>;

/** `next` is a path of this page to go back to: an address of elsewhere would make the sign-in an open redirect. */
export const readSignInSearch = reading({
  next(search, name): string | undefined {
    const text = readText(search, name);
    return text !== undefined && isOwnPath(text) ? text : undefined;
  },
});

/** A browser reads `//host`, `/\host` and tabs within as another host. */
export function isOwnPath(text: string): boolean {
  if (!text.startsWith("/") || text.startsWith("//") || /[\\\t\n\r]/.test(text)) return false;
  return URL.parse(text, "http://own.invalid")?.host === "own.invalid";
}
