import type { Facets } from "../api/reports.ts";
import { addTag, type Filters, OUTCOME_FILTERS, type OutcomeFilter } from "../search/filters.ts";
import { toOutcomeWord } from "../text/outcomes.ts";

/** One thing that the filter box can add. */
export interface FilterOption {
  /** Unique among the options: the filter and its value. */
  readonly id: string;
  readonly label: string;
  /** What is added to the address. */
  readonly patch: Filters;
  /** How many requests in the window have it; null where that is not counted. */
  readonly requests: number | null;
}

export interface FilterGroup {
  readonly label: string;
  readonly items: readonly FilterOption[];
}

/** More would not be read, and would be slow to draw. */
export const OPTIONS_SHOWN_MAX = 60;

/** What stands in the box. */
export interface Search {
  readonly typed: string;
  /** Nothing is guessed before it is known what there is: Enter takes what stands first. */
  readonly isGuessed: boolean;
  readonly contains: (label: string, typed: string) => boolean;
}

/**
 * What is in the window, by facet, and what the typed text itself may mean. Every facet has its share of what is shown; with
 * nothing typed the most used stand first.
 */
export function toFilterGroups(
  facets: Facets | undefined,
  filters: Filters,
  { typed, isGuessed, contains }: Search,
): readonly FilterGroup[] {
  const outcomes = {
    label: "Outcome",
    items: OUTCOME_FILTERS.map((outcome) => option("outcome", toOutcomeText(outcome), { outcome })),
  };
  const groups = [outcomes, ...(facets === undefined ? [] : toFacetGroups(facets, filters))];
  const text = typed.trim();
  const shown =
    text === ""
      ? toShares(
          groups.map(({ label, items }) => ({ label, items: byUse(items) })),
          (share) => `${share} most used`,
        )
      : [
          ...toShares(
            groups.map(({ label, items }) => ({
              label,
              items: items.filter((one) => contains(one.label, text)),
            })),
            (share, total) => `${share} of ${total}`,
          ),
          // Outside the shares: where many match, this is what finds the one.
          { label: "As typed", items: isGuessed ? toTypedOptions(text, filters) : [] },
        ];
  return shown.filter(({ items }) => items.length > 0);
}

function toFacetGroups(facets: Facets, filters: Filters): readonly FilterGroup[] {
  return FACETS.map(({ label, facet, toOptions }) => ({
    label,
    items: toOptions(facets, filters).map(({ id, label: name, patch }, index) => ({
      id,
      label: name,
      patch,
      requests: facets.counts?.[facet][index] ?? null,
    })),
  }));
}

interface Facet {
  readonly label: string;
  readonly facet: keyof NonNullable<Facets["counts"]>;
  /** In the order of the facet's list. */
  readonly toOptions: (facets: Facets, filters: Filters) => readonly FilterOption[];
}

const FACETS: readonly Facet[] = [
  {
    label: "Person",
    facet: "principals",
    toOptions: (facets) => facets.principals.map((name) => option("principal", name, { principal: name })),
  },
  {
    label: "Model",
    facet: "models",
    toOptions: (facets) => facets.models.map((name) => option("model", name, { model: name })),
  },
  {
    label: "Provider",
    facet: "providers",
    toOptions: (facets) => facets.providers.map((name) => option("provider", name, { provider: name })),
  },
  {
    label: "Tag",
    facet: "tags",
    toOptions: (facets, filters) =>
      facets.tags.map((tag) => option("tag", tag, { tag: addTag(filters, tag) })),
  },
  {
    label: "Client",
    facet: "clients",
    toOptions: (facets) => facets.clients.map((client) => option("client", client, { client })),
  },
  {
    label: "Key",
    facet: "keys",
    toOptions: (facets) => facets.keys.map((key) => option("key", toKeyName(key), { key: key.id }, key.id)),
  },
];

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

/** A facet list stops at 500 values: what it leaves out can still be typed. */
function toTypedOptions(text: string, filters: Filters): readonly FilterOption[] {
  const options = [
    option("typed-client", `client begins with “${text}”`, { client: text }),
    option("typed-model", `model is “${text}”`, { model: text }),
    option("typed-principal", `person is “${text}”`, { principal: text }),
  ];
  return text.includes(":")
    ? [option("typed-tag", `tag is “${text}”`, { tag: addTag(filters, text.toLowerCase()) }), ...options]
    : options;
}

function option(kind: string, label: string, patch: Filters, value: string = label): FilterOption {
  return { id: `${kind}=${value}`, label, patch, requests: null };
}

export function toOutcomeText(outcome: OutcomeFilter): string {
  return outcome === "failed" ? "failed (not OK)" : toOutcomeWord(outcome);
}

/** `label ***abcd (owner)`; of a deleted key only the owner is known. */
export function toKeyName(key: Facets["keys"][number]): string {
  const name = key.label === null ? "deleted key" : key.label === "" ? "key without a label" : key.label;
  return key.key_suffix === null
    ? `${name} (${key.principal}, ${key.id.slice(0, 8)})`
    : `${name} ***${key.key_suffix} (${key.principal})`;
}
