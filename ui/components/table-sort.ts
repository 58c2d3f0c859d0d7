import { useMemo, useState } from "react";
import { compareCodeUnits } from "#kernel/text.ts";
import type { Column, TableEntry, TableSort } from "./column.ts";

export interface SortOptions<Row> {
  /** Keep the array at module level or in a memo: a new one is a new table. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Keep it at module level: another function is another order to be worked out. */
  readonly getRowId: (row: Row) => string;
  /** The order at first, or always when `onSort` is there. Null keeps the rows as they come. */
  readonly sort?: TableSort | null | undefined;
  /** Is told of another order, which comes back as `sort`; without it the table keeps its order itself. */
  readonly onSort?: ((sort: TableSort) => void) | undefined;
  /** The rows are in the order of `sort` already. */
  readonly isSorted?: boolean | undefined;
}

export interface SortedRows<Row> {
  readonly sorted: readonly TableEntry<Row>[];
  readonly sort: TableSort | null;
  /** One press on a header sorts, the next turns the order round. */
  readonly toggleSort: (column: Column<Row>) => void;
}

export function useSortedRows<Row>(options: SortOptions<Row>): SortedRows<Row> {
  const { columns, rows, getRowId, isSorted = false, onSort } = options;
  const [own, setOwn] = useState<TableSort | null>(options.sort ?? null);
  const sort = onSort === undefined ? own : (options.sort ?? null);
  const by = isSorted ? undefined : columns.find(({ id }) => id === sort?.id)?.sortValue;
  const descending = sort?.descending ?? false;
  const sorted = useMemo(() => {
    const ordered = by === undefined ? rows : sortRows(rows, by, descending);
    return ordered.map((row) => ({ id: getRowId(row), row }));
  }, [rows, by, descending, getRowId]);
  return {
    sorted,
    sort,
    toggleSort: (column) => (onSort ?? setOwn)(toNextSort(column, sort)),
  };
}

type SortValue = string | number | null;

/** Rows of the same value keep their order; null goes last either way. */
export function sortRows<Row>(
  rows: readonly Row[],
  toValue: (row: Row) => SortValue,
  descending: boolean,
): readonly Row[] {
  return rows
    .map((row) => ({ row, value: toValue(row) }))
    .toSorted((left, right) => compare(left.value, right.value, descending))
    .map(({ row }) => row);
}

function compare(left: SortValue, right: SortValue, descending: boolean): number {
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  const ascending =
    typeof left === "number" && typeof right === "number"
      ? left - right
      : compareCodeUnits(String(left), String(right));
  return descending ? -ascending : ascending;
}

export function toNextSort<Row>(column: Column<Row>, sort: TableSort | null): TableSort {
  if (sort?.id === column.id) return { id: column.id, descending: !sort.descending };
  return { id: column.id, descending: column.descendingFirst ?? column.align === "end" };
}
