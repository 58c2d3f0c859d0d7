import { toBoundText } from "../search/filter-words.ts";
import {
  type BoundFilter,
  type Filters,
  type ListFilter,
  type ReadFilters,
  toggleValue,
} from "../search/filters.ts";

/** One thing that the filter box can add, or take away when it is on. */
export interface FilterOption {
  /** Unique among the options: the filter and its value. */
  readonly id: string;
  readonly label: string;
  readonly isOn: boolean;
  /** What the address gets. */
  readonly patch: Filters;
  /** How many requests in the window have it; null where that is not counted. */
  readonly requests: number | null;
  /** The id of a request that is opened instead. */
  readonly request?: string | undefined;
}

export interface FilterGroup {
  readonly label: string;
  readonly items: readonly FilterOption[];
}

/** One value of a filter that takes several. */
export function listOption(
  filters: ReadFilters,
  name: ListFilter,
  value: string,
  label: string = value,
): FilterOption {
  const values: readonly string[] = filters[name] ?? [];
  return {
    id: `${name}=${value}`,
    label,
    isOn: values.includes(value),
    patch: toggleValue(filters, name, value),
    requests: null,
  };
}

/** The bound of a size. */
export function boundOption(filters: ReadFilters, name: BoundFilter, value: string): FilterOption {
  const isOn = filters[name] === value;
  return {
    id: `${name}=${value}`,
    label: toBoundText(name, value),
    isOn,
    patch: { [name]: isOn ? undefined : value },
    requests: null,
  };
}

export function unpricedOption({ unpriced }: ReadFilters): FilterOption {
  const isOn = unpriced !== undefined;
  return {
    id: "unpriced",
    label: "unpriced",
    isOn,
    patch: { unpriced: isOn ? undefined : "true" },
    requests: null,
  };
}
