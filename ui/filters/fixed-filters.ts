import { toOutcomeText } from "../search/filter-words.ts";
import { type BoundFilter, OUTCOME_FILTERS, type ReadFilters } from "../search/filters.ts";
import { boundOption, type FilterGroup, listOption, unpricedOption } from "./filter-option.ts";

export function toOutcomeGroup(filters: ReadFilters): FilterGroup {
  return {
    label: "Outcome",
    items: OUTCOME_FILTERS.map((outcome) => listOption(filters, "outcome", outcome, toOutcomeText(outcome))),
  };
}

/** What a request can be filtered by whatever there is in the window. */
export function toFixedGroups(filters: ReadFilters): readonly FilterGroup[] {
  return [
    {
      label: "Status",
      items: ["4xx", "5xx", "429"].map((status) => listOption(filters, "status", status, `status ${status}`)),
    },
    {
      label: "Error kind",
      items: ERROR_KINDS.map((kind) => listOption(filters, "error_kind", kind)),
    },
    {
      label: "Cost and duration",
      items: [unpricedOption(filters), ...BOUNDS.map(([name, value]) => boundOption(filters, name, value))],
    },
  ];
}

/** Lockport's own, and what most providers say; the others are reached from Errors. */
const ERROR_KINDS = [
  "timeout",
  "connection_error",
  "interrupted",
  "rate_limit_error",
  "overloaded_error",
  "server_error",
];

const BOUNDS = [
  ["min_cost", "0.1"],
  ["min_cost", "1"],
  ["min_duration_ms", "10000"],
  ["min_duration_ms", "60000"],
] as const satisfies readonly (readonly [BoundFilter, string])[];
