import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { type Outcome, OUTCOMES, RELAY_PROVIDER } from "#usage/event.ts";
import { STANDARD_TIER, toTierName } from "#kernel/price-variants.ts";
import { normaliseTag } from "#kernel/tags.ts";
import type { Pico } from "#kernel/units.ts";

/** `since` inclusive, `until` exclusive; null is open. `since` ≥ `until` is an empty window. */
export interface Window {
  readonly sinceUs: InstantUs | null;
  readonly untilUs: InstantUs | null;
}

/**
 * The filters of specification section 4.4, and those of single requests (docs/decisions.md). Each matches any of its
 * values, and all of them have to match; null matches everything.
 */
interface UsageFilter {
  readonly principals: Values;
  readonly keyIds: Values;
  readonly providers: Values;
  readonly models: Values;
  /** Literal prefixes of the stored User-Agent. */
  readonly clientPrefixes: Values;
  /** As `toClientVersion` has them: a prefix `Continue/1.3.2` would also match `Continue/1.3.21`. */
  readonly clientVersions: Values;
  /** Normalised `key:value` pairs, four at most; all must match. */
  readonly tags: readonly string[];
  readonly outcomes: readonly Outcome[] | null;
  readonly errorKinds: Values;
  readonly statuses: readonly StatusRange[] | null;
  /** As `toTierName` has them; `standard` stands for none. */
  readonly tiers: Values;
  /** What only the rows of single requests tell. */
  readonly rows: RowFilter | null;
}

type Values = readonly string[] | null;

/** `[from, to)`: one status code, or a class of them. */
interface StatusRange {
  readonly from: number;
  readonly to: number;
}

/** What a provider filter means in the ledger: the catalog decides which ids a name stands for. */
export interface ProviderIds {
  readonly include: readonly string[] | null;
  readonly exclude: readonly string[];
}

/** The filters of reports that the ledger reads by itself; what providers it may be is `ProviderIds`. */
export type LedgerFilter = Omit<UsageFilter, "providers">;

const NO_FILTER: LedgerFilter = {
  principals: null,
  keyIds: null,
  models: null,
  clientPrefixes: null,
  clientVersions: null,
  tags: [],
  outcomes: null,
  errorKinds: null,
  statuses: null,
  tiers: null,
  rows: null,
};

/** Matches what is chosen, and `filterBy({})` everything. A spread of an object would also take a key that no filter has. */
export function filterBy(chosen: Partial<LedgerFilter>): LedgerFilter {
  return { ...NO_FILTER, ...chosen };
}

export const EVERY_PROVIDER: ProviderIds = { include: null, exclude: [] };

/** Values of one filter in one query. */
export const FILTER_VALUES_MAX = 20;
/** Filter tags in one query (specification, section 8). */
export const FILTER_TAGS_MAX = 4;
/** Values of the outcome filter: one outcome, everything that is not `ok`, or `refused`, which no request of the ledger is. */
export const OUTCOME_FILTERS = [...OUTCOMES, "failed", "refused"] as const;
/** Stands for every provider that no longer exists. */
export const DELETED_PROVIDER = "(deleted)";

/**
 * The filters of a query string; empty values are ignored. Throws `invalid_outcome`, and `invalid_request` with `param` for
 * a fifth tag, for more than `FILTER_VALUES_MAX` values of one filter, and for a status, an amount or a duration that is none.
 */
export function parseUsageFilter(query: URLSearchParams): UsageFilter {
  return {
    principals: parseValues(query, "principal"),
    keyIds: parseValues(query, "key"),
    providers: parseValues(query, "provider"),
    models: parseValues(query, "model"),
    clientPrefixes: parseValues(query, "client"),
    clientVersions: parseValues(query, "client_version"),
    tags: parseTags(query),
    outcomes: parseOutcomes(query),
    errorKinds: parseValues(query, "error_kind"),
    statuses: parseValues(query, "status")?.map(toStatusRange) ?? null,
    tiers: parseValues(query, "tier")?.map((tier) => toTierName(tier) ?? STANDARD_TIER) ?? null,
    rows: parseRowFilter(query),
  };
}

/**
 * What names of providers mean in the ledger, which keeps internal ids: `providers` is every provider that exists. A name
 * that no provider has matches nothing.
 */
export function toProviderIds(
  names: readonly string[] | null,
  providers: readonly { readonly id: string; readonly name: string }[],
): ProviderIds {
  if (names === null) return EVERY_PROVIDER;
  const named = [
    ...providers.filter(({ name }) => names.includes(name)).map(({ id }) => id),
    ...(names.includes(RELAY_PROVIDER) ? [RELAY_PROVIDER] : []),
  ];
  if (!names.includes(DELETED_PROVIDER)) return { include: named, exclude: [] };
  const living = [...providers.map(({ id }) => id), RELAY_PROVIDER];
  return { include: null, exclude: living.filter((id) => !named.includes(id)) };
}

/** A pair that is none is no error of the interface's, but matches nothing. */
export function isTagPair(text: string): boolean {
  return normaliseTag(text) !== null;
}

function parseValues(query: URLSearchParams, param: string): Values {
  const values = [...new Set(query.getAll(param).filter((value) => value !== ""))];
  if (values.length > FILTER_VALUES_MAX) {
    throw new ProxyError("invalid_request", `${param} takes at most ${FILTER_VALUES_MAX} values.`, { param });
  }
  return values.length === 0 ? null : values;
}

function parseTags(query: URLSearchParams): readonly string[] {
  const given = query.getAll("tag").filter((pair) => pair.trim() !== "");
  if (given.length > FILTER_TAGS_MAX) {
    throw new ProxyError("invalid_request", `At most ${FILTER_TAGS_MAX} tags can be filtered by.`, {
      param: "tag",
    });
  }
  // A pair that is none stays as it is: no event carries it, so it matches nothing.
  return [...new Set(given.map((pair) => normaliseTag(pair) ?? pair))];
}

function parseOutcomes(query: URLSearchParams): readonly Outcome[] | null {
  const values = parseValues(query, "outcome");
  if (values === null) return null;
  const known: readonly string[] = OUTCOME_FILTERS;
  if (!values.every((value) => known.includes(value))) {
    throw new ProxyError(
      "invalid_outcome",
      `outcome must be one of ${OUTCOMES.join(", ")}, failed or refused.`,
      {
        param: "outcome",
      },
    );
  }
  const isFailed = values.includes("failed");
  return OUTCOMES.filter((outcome) => values.includes(outcome) || (isFailed && outcome !== "ok"));
}

const STATUS_PATTERN = /^([1-9])(\d\d|xx)$/;

function toStatusRange(text: string): StatusRange {
  const [, hundreds, rest] = STATUS_PATTERN.exec(text) ?? [];
  if (rest === undefined) {
    throw new ProxyError("invalid_request", "status must be a status code such as 429, or 4xx or 5xx.", {
      param: "status",
    });
  }
  const from = Number(hundreds) * 100;
  return rest === "xx" ? { from, to: from + 100 } : { from: Number(text), to: Number(text) + 1 };
}

/** Filters that no total can answer; each bound is inclusive, null is open. */
export interface RowFilter {
  /** True: only requests of which some unit was used without a price. */
  readonly isUnpriced: boolean;
  /** A request without a cost lies within no bounds. */
  readonly minCostPico: Pico | null;
  readonly maxCostPico: Pico | null;
  readonly minDurationUs: number | null;
  readonly maxDurationUs: number | null;
}

/** Dollars, as amounts are written: `0.25`. */
const AMOUNT = /^\d{1,6}(?:\.\d{1,12})?$/;
/** Milliseconds, to the microsecond: the longest is about 31 years. */
const MILLISECONDS = /^\d{1,12}(?:\.\d{1,3})?$/;
const PICO_DIGITS = 12;

/** The row filters of a query string; null where there is none. Throws `invalid_request` with `param`. */
function parseRowFilter(query: URLSearchParams): RowFilter | null {
  const filter = {
    isUnpriced: parseUnpriced(query),
    minCostPico: parseCost(query, "min_cost"),
    maxCostPico: parseCost(query, "max_cost"),
    minDurationUs: parseDuration(query, "min_duration_ms"),
    maxDurationUs: parseDuration(query, "max_duration_ms"),
  };
  const isOpen = Object.values(filter).every((bound) => bound === null || bound === false);
  return isOpen ? null : filter;
}

function parseUnpriced(query: URLSearchParams): boolean {
  const text = findOne(query, "unpriced");
  if (text !== null && text !== "true") {
    throw new ProxyError("invalid_request", "unpriced can only be true.", { param: "unpriced" });
  }
  return text !== null;
}

function parseCost(query: URLSearchParams, param: string): Pico | null {
  const text = findOne(query, param);
  if (text === null) return null;
  if (!AMOUNT.test(text)) {
    throw new ProxyError("invalid_request", `${param} must be an amount such as 0.25.`, { param });
  }
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(PICO_DIGITS, "0"));
}

function parseDuration(query: URLSearchParams, param: string): number | null {
  const text = findOne(query, param);
  if (text === null) return null;
  if (!MILLISECONDS.test(text)) {
    throw new ProxyError("invalid_request", `${param} must be milliseconds such as 1500.`, { param });
  }
  return Math.round(Number(text) * 1000);
}

function findOne(query: URLSearchParams, param: string): string | null {
  const [text = null, ...more] = query.getAll(param).filter((value) => value !== "");
  if (more.length > 0) throw new ProxyError("invalid_request", `${param} takes one value.`, { param });
  return text;
}
