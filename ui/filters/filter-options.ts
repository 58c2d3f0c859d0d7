import type { Facets } from "../api/reports.ts";
import {
  type BoundFilter,
  type Filters,
  LIST_FILTERS,
  type ListFilter,
  type ReadFilters,
  toBoundText,
  toggleValue,
  toSpec,
  toValueText,
} from "../search/filters.ts";

/** One thing that the filter box can add, or take away when it is on. */
export interface FilterOption {
  /** Unique among the options: the filter and its value. */
  readonly id: string;
  readonly label: string;
  readonly isOn: boolean;
  /** The value for the address. */
  readonly patch: Filters;
  /** The number of requests in the window that have it; null where that is not counted. */
  readonly requests: number | null;
  /** The id of a request that is opened instead. */
  readonly request?: string | undefined;
}

export interface FilterGroup {
  readonly label: string;
  readonly items: readonly FilterOption[];
}

/** More would not be read, and would be slow to draw. */
export const OPTIONS_SHOWN_MAX = 60;

/** The text in the box. */
export interface Search {
  readonly typed: string;
  /** Nothing is guessed before it is known what there is: Enter takes what stands first. */
  readonly isGuessed: boolean;
  readonly contains: (label: string, typed: string) => boolean;
}

/** What is looked for most stands in the first look at the list; `null` is what has no values of its own. */
const ORDER = [
  "outcome",
  "principal",
  "model",
  "provider",
  "status",
  "error_kind",
  "tier",
  null,
  "tag",
  "client",
  "key",
] as const;

/**
 * What is in the window, by facet, and what the typed text itself may mean. Every facet has its share of what is shown; with
 * nothing typed the most used stand first. A text that nothing in the window matches has no option: as a filter it would only
 * show nothing.
 */
export function toFilterGroups(
  facets: Facets | undefined,
  filters: ReadFilters,
  { typed, isGuessed, contains }: Search,
): readonly FilterGroup[] {
  const groups = ORDER.map((name) =>
    name === null
      ? { label: "Cost and duration", items: toSizeOptions(filters) }
      : { label: toSpec(name).heading, items: toOptions(name, facets, filters) },
  );
  const text = typed.trim();
  const toShown = (toItems: (items: readonly FilterOption[]) => readonly FilterOption[]) =>
    groups.map(({ label, items }) => ({ label, items: toItems(items) }));
  const shown =
    text === ""
      ? toShares(toShown(byUse), (share) => `${share} most used`)
      : [
          ...toShares(
            toShown((items) => items.filter((one) => contains(one.label, text))),
            (share, total) => `${share} of ${total}`,
          ),
          // Outside the shares: where many match, this is what finds the one.
          { label: "As typed", items: isGuessed ? toTypedOptions(text, filters, facets) : [] },
        ];
  return shown.filter(({ items }) => items.length > 0);
}

/** The values of a filter: those that are always offered, or those of the window. */
function toOptions(
  name: ListFilter,
  facets: Facets | undefined,
  filters: ReadFilters,
): readonly FilterOption[] {
  const { facet, offered = [] } = toSpec(name);
  if (facet === undefined) {
    return offered.map((value) => {
      const text = toValueText(name, value, facets);
      return toListOption(filters, name, value, name === "status" ? `status ${text}` : text);
    });
  }
  if (facets === undefined) return [];
  const values = facet === "keys" ? facets.keys.map(({ id }) => id) : facets[facet];
  return values.map((value, index) =>
    Object.assign(toListOption(filters, name, value, toValueText(name, value, facets)), {
      requests: facets.counts?.[facet][index] ?? null,
    }),
  );
}

/** One value of a filter that takes several. */
function toListOption(filters: ReadFilters, name: ListFilter, value: string, label: string): FilterOption {
  const values: readonly string[] = filters[name] ?? [];
  return {
    id: `${name}=${value}`,
    label,
    isOn: values.includes(value),
    patch: toggleValue(filters, name, value),
    requests: null,
  };
}

const SIZES = [
  ["min_cost", "0.1"],
  ["min_cost", "1"],
  ["min_duration_ms", "10000"],
  ["min_duration_ms", "60000"],
] as const satisfies readonly (readonly [BoundFilter, string])[];

function toSizeOptions(filters: ReadFilters): readonly FilterOption[] {
  return [
    toSingleOption(filters, "unpriced", "true"),
    ...SIZES.map(([name, value]) => toSingleOption(filters, name, value)),
  ];
}

function toSingleOption(filters: ReadFilters, name: BoundFilter | "unpriced", value: string): FilterOption {
  const isOn = filters[name] === value;
  return {
    id: name === "unpriced" ? name : `${name}=${value}`,
    label: name === "unpriced" ? name : toBoundText(name, value),
    isOn,
    patch: { [name]: isOn ? undefined : value },
    requests: null,
  };
}

/** Equals stay in the order that they had. */
function byUse(options: readonly FilterOption[]): readonly FilterOption[] {
  return options.toSorted((left, right) => (right.requests ?? 0) - (left.requests ?? 0));
}

/** Every group as long as it can be for all of them to be shown; one that is cut says so. */
function toShares(
  groups: readonly FilterGroup[],
  toNote: (share: number, total: number) => string,
): readonly FilterGroup[] {
  const shownUpTo = (share: number) =>
    groups.reduce((sum, { items }) => sum + Math.min(items.length, share), 0);
  let share = OPTIONS_SHOWN_MAX;
  while (shownUpTo(share) > OPTIONS_SHOWN_MAX) share -= 1;
  return groups.map(({ label, items }) => ({
    label: items.length > share ? `${label} · ${toNote(share, items.length)}` : label,
    items: items.slice(0, share),
  }));
}

/** As they are guessed. */
const TYPED = ["client", "model", "principal", "tag"] as const;

/** What the text says by itself, and names of which the facet list, which stops at 500 values, may have left this one out. */
function toTypedOptions(
  text: string,
  filters: ReadFilters,
  facets: Facets | undefined,
): readonly FilterOption[] {
  const said = parseTyped(text);
  if (said !== null) {
    const { name, value } = said;
    return [
      name === "status"
        ? toListOption(filters, name, value, `${LIST_FILTERS.status.label} ${value}`)
        : toSingleOption(filters, name, value),
    ];
  }
  return TYPED.flatMap((name) => {
    const { facet, typed } = LIST_FILTERS[name];
    const isOpen = facets === undefined || facets.truncated[facet];
    const isPrefix = name === "client" && facets?.clients.some((one) => one.startsWith(text)) === true;
    if (!(isOpen || isPrefix) || (name === "tag" && !text.includes(":"))) return [];
    const value = name === "tag" ? text.toLowerCase() : text;
    const option = toListOption(filters, name, value, `${typed} “${value}”`);
    return [{ ...option, id: `typed-${option.id}` }];
  });
}

/** A filter that a text spells out. */
export interface TypedFilter {
  readonly name: BoundFilter | "status";
  readonly value: string;
}

const STATUS = /^(?:[1-5]\d\d|[45]xx)$/i;
const COST = /^([<>])\s*\$\s*(\d{1,6}(?:\.\d{1,12})?)$/;
const DURATION = /^([<>])\s*(\d{1,6}(?:\.\d{1,3})?)\s*(ms|s|min)$/i;
const UNIT_MS: { readonly [unit: string]: number } = { ms: 1, s: 1_000, min: 60_000 };

/** `429`, `5xx`, `>$0.10`, `< 500 ms`, `>2s`; null for what says none of these. */
export function parseTyped(text: string): TypedFilter | null {
  if (STATUS.test(text)) return { name: "status", value: text.toLowerCase() };
  const [, costSign, cost] = COST.exec(text) ?? [];
  if (cost !== undefined) return { name: costSign === ">" ? "min_cost" : "max_cost", value: cost };
  const [, sign, count, unit] = DURATION.exec(text) ?? [];
  if (count === undefined || unit === undefined) return null;
  const ms = Math.round(Number(count) * (UNIT_MS[unit.toLowerCase()] ?? 1) * 1000) / 1000;
  return { name: sign === ">" ? "min_duration_ms" : "max_duration_ms", value: String(ms) };
}

/** Hexadecimal digits of a request's id, which is a UUIDv7, from its beginning: this many and more are looked for. */
const ID_DIGITS_MIN = 8;
const ID_BEGINNING = /^[\da-f]{8}(?:-[\da-f]{0,4}){0,4}(?:[\da-f]{0,8})$/;
const MS_DIGITS = 12;
/** The last year of four digits, which is the last that a report can be asked for. */
const LAST_DIGITS = "e677d21fdbff";

/** The beginning of a request's id, and the time within which such a request arrived. */
export interface IdBeginning {
  readonly beginning: string;
  readonly since: string;
  readonly until: string;
}

/** Null for what cannot be the beginning of an id. */
export function parseIdBeginning(text: string): IdBeginning | null {
  const beginning = text.trim().toLowerCase();
  if (!ID_BEGINNING.test(beginning) || beginning.length > 36) return null;
  // RFC 9562, section 5.7: the first 48 bits are milliseconds since 1970.
  const digits = beginning.replaceAll("-", "").slice(0, MS_DIGITS);
  if (digits.length < ID_DIGITS_MIN || digits > LAST_DIGITS) return null;
  const first = Number.parseInt(digits.padEnd(MS_DIGITS, "0"), 16);
  const last = Number.parseInt(digits.padEnd(MS_DIGITS, "f"), 16);
  return { beginning, since: toIso(first), until: toIso(last + 1) };
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}
