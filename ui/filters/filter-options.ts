import type { Facets } from "../api/reports.ts";
import { addTag, OUTCOME_FILTERS, type Filters, type OutcomeFilter } from "../search/filters.ts";
import { toOutcomeWord } from "../text/outcomes.ts";

/** One thing that the filter box can add. */
export interface FilterOption {
  /** Unique among the options: the filter and its value. */
  readonly id: string;
  readonly label: string;
  /** What is added to the address. */
  readonly patch: Filters;
}

export interface FilterGroup {
  readonly label: string;
  readonly items: readonly FilterOption[];
}

/** What is in the window, by facet, and what the typed text itself may mean. */
export function toFilterGroups(
  facets: Facets | undefined,
  filters: Filters,
  typed: string,
): readonly FilterGroup[] {
  const groups: FilterGroup[] = [
    {
      label: "Outcome",
      items: OUTCOME_FILTERS.map((outcome) => option("outcome", toOutcomeText(outcome), { outcome })),
    },
  ];
  if (facets !== undefined) {
    groups.push(
      {
        label: "Person",
        items: facets.principals.map((name) => option("principal", name, { principal: name })),
      },
      { label: "Model", items: facets.models.map((name) => option("model", name, { model: name })) },
      {
        label: "Provider",
        items: facets.providers.map((name) => option("provider", name, { provider: name })),
      },
      { label: "Tag", items: facets.tags.map((tag) => option("tag", tag, { tag: addTag(filters, tag) })) },
      { label: "Client", items: facets.clients.map((client) => option("client", client, { client })) },
      {
        label: "Key",
        items: facets.keys.map((key) => option("key", toKeyName(key), { key: key.id }, key.id)),
      },
    );
  }
  const text = typed.trim();
  if (text !== "") groups.push({ label: "As typed", items: toTypedOptions(text, filters) });
  return groups.filter(({ items }) => items.length > 0);
}

export function toOutcomeText(outcome: OutcomeFilter): string {
  return outcome === "failed" ? "failed (everything not ok)" : toOutcomeWord(outcome);
}

/** `label ***abcd (owner)`; of a deleted key only the owner is known. */
export function toKeyName(key: Facets["keys"][number]): string {
  const name = key.label === null ? "deleted key" : key.label === "" ? "key without a label" : key.label;
  return key.key_suffix === null
    ? `${name} (${key.principal}, ${key.id.slice(0, 8)})`
    : `${name} ***${key.key_suffix} (${key.principal})`;
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
  return { id: `${kind}=${value}`, label, patch };
}
