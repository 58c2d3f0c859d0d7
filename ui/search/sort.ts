import { readText, type RawSearch } from "./query-string.ts";

/** The order of a table in the address: the id of a column, with a minus before it from the largest. */
export interface SortSearch {
  readonly sort?: string | undefined;
}

interface Sort {
  readonly id: string;
  readonly descending: boolean;
}

export function readSort(search: RawSearch): SortSearch {
  return { sort: readText(search, "sort") };
}

/** Null: the address says none, and the table has the order that it begins with. */
export function toSort({ sort }: SortSearch): Sort | null {
  if (sort === undefined) return null;
  const descending = sort.startsWith("-");
  return { id: descending ? sort.slice(1) : sort, descending };
}

export function toSortSearch({ id, descending }: Sort): SortSearch {
  return { sort: `${descending ? "-" : ""}${id}` };
}
