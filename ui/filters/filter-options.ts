import type { Facets } from "../api/reports.ts";
import { FILTER_LABELS } from "../search/filter-words.ts";
import type { ListFilter, ReadFilters } from "../search/filters.ts";
import { boundOption, type FilterGroup, type FilterOption, listOption } from "./filter-option.ts";
import { toFixedGroups, toOutcomeGroup } from "./fixed-filters.ts";
import { parseTyped } from "./typed-filter.ts";

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
 * nothing typed the most used stand first. A text that nothing in the window matches has no option: as a filter it would only
 * show nothing.
 */
export function toFilterGroups(
  facets: Facets | undefined,
  filters: ReadFilters,
  { typed, isGuessed, contains }: Search,
): readonly FilterGroup[] {
  const named = facets === undefined ? [] : toFacetGroups(facets, filters);
  // What is looked for most stands in the first look at the list.
  const groups = [
    toOutcomeGroup(filters),
    ...named.slice(0, 3),
    ...toFixedGroups(filters),
    ...named.slice(3),
  ];
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
          { label: "As typed", items: isGuessed ? toTypedOptions(text, filters, facets) : [] },
        ];
  return shown.filter(({ items }) => items.length > 0);
}

function toFacetGroups(facets: Facets, filters: ReadFilters): readonly FilterGroup[] {
  return FACETS.map(({ label, facet, toOptions }) => ({
    label,
    items: toOptions(facets, filters).map(({ id, label: name, isOn, patch }, index) => ({
      id,
      label: name,
      isOn,
      patch,
      requests: facets.counts?.[facet][index] ?? null,
    })),
  }));
}

interface Facet {
  readonly label: string;
  readonly facet: keyof NonNullable<Facets["counts"]>;
  /** In the order of the facet's list. */
  readonly toOptions: (facets: Facets, filters: ReadFilters) => readonly FilterOption[];
}

const FACETS: readonly Facet[] = [
  {
    label: "Person",
    facet: "principals",
    toOptions: ({ principals }, filters) => principals.map((name) => listOption(filters, "principal", name)),
  },
  {
    label: "Model",
    facet: "models",
    toOptions: ({ models }, filters) => models.map((name) => listOption(filters, "model", name)),
  },
  {
    label: "Provider",
    facet: "providers",
    toOptions: ({ providers }, filters) => providers.map((name) => listOption(filters, "provider", name)),
  },
  {
    label: "Tag",
    facet: "tags",
    toOptions: ({ tags }, filters) => tags.map((tag) => listOption(filters, "tag", tag)),
  },
  {
    label: "Client",
    facet: "clients",
    toOptions: ({ clients }, filters) => clients.map((client) => listOption(filters, "client", client)),
  },
  {
    label: "Key",
    facet: "keys",
    toOptions: ({ keys }, filters) => keys.map((key) => listOption(filters, "key", key.id, toKeyName(key))),
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

/** What the text says by itself, and names of which the facet list, which stops at 500 values, may have left this one out. */
function toTypedOptions(
  text: string,
  filters: ReadFilters,
  facets: Facets | undefined,
): readonly FilterOption[] {
  const said = parseTyped(text);
  if (said !== null) {
    return [
      "bound" in said
        ? boundOption(filters, said.bound, said.value)
        : listOption(filters, said.list, said.value, `${FILTER_LABELS[said.list]} ${said.value}`),
    ];
  }
  const isOpen = (facet: keyof Facets["truncated"]) => facets === undefined || facets.truncated[facet];
  const isPrefix = facets?.clients.some((client) => client.startsWith(text)) === true;
  const named = (name: ListFilter, verb: string, value: string = text) => ({
    ...listOption(filters, name, value, `${verb} “${value}”`),
    id: `typed-${name}=${value}`,
  });
  return [
    ...(isPrefix || isOpen("clients") ? [named("client", "client begins with")] : []),
    ...(isOpen("models") ? [named("model", "model is")] : []),
    ...(isOpen("principals") ? [named("principal", "person is")] : []),
    ...(text.includes(":") && isOpen("tags") ? [named("tag", "tag is", text.toLowerCase())] : []),
  ];
}

/** `label ***abcd (owner)`; of a deleted key only the owner is known. */
export function toKeyName(key: Facets["keys"][number]): string {
  const name = key.label === null ? "deleted key" : key.label === "" ? "key without a label" : key.label;
  return key.key_suffix === null
    ? `${name} (${key.principal}, ${key.id.slice(0, 8)})`
    : `${name} ***${key.key_suffix} (${key.principal})`;
}
