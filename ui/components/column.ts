import { createElement, type ReactNode } from "react";
import { formatCount, formatPercent } from "../text/format.ts";
import { Cost, type CostProps } from "./cost.tsx";
import { Instant } from "./instant.tsx";

/** One column of a `DataTable`. */
export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  /** Longer words for the header, in its title. */
  readonly headerTitle?: string | undefined;
  /** The header is for a screen reader only: a column of buttons. */
  readonly headerHidden?: boolean | undefined;
  readonly cell: (row: Row) => ReactNode;
  /** The value that the column is sorted by; null goes last either way. A column without it is not sorted. */
  readonly sortValue?: ((row: Row) => string | number | null) | undefined;
  /** The first press on the header sorts from the largest; so it is for numbers at the end when absent. */
  readonly descendingFirst?: boolean | undefined;
  /** Numbers stand at the end, under one another. */
  readonly align?: "start" | "end" | undefined;
  /** The dollars that its cells write as `Cost`: their decimal points stand under one another. */
  readonly amount?: ((row: Row) => number | null) | undefined;
  /** Names the row: a header cell, and the one that holds the button when rows open. The first column when none says so. */
  readonly rowHeader?: boolean | undefined;
  /** A class of width, such as `w-40`; needed in a `virtual` table, whose columns are fixed. */
  readonly width?: string | undefined;
  /** Long text breaks into lines instead of keeping to one. */
  readonly wrap?: boolean | undefined;
}

/** As a table draws it: with the decimals that its amounts have at most. */
export interface DrawnColumn<Row> extends Column<Row> {
  readonly decimals?: number | undefined;
}

export interface TableSort {
  readonly id: string;
  readonly descending: boolean;
}

/** A row with its id. */
export interface TableEntry<Row> {
  readonly id: string;
  readonly row: Row;
}

type FigureColumn<Row, Value> = Pick<Column<Row>, "id" | "header" | "headerTitle" | "width" | "align"> & {
  readonly value: (row: Row) => Value;
};

/** A column of short texts, sorted by them; one that is cut off is told whole by its title. */
export function textColumn<Row>({
  value,
  ...column
}: FigureColumn<Row, string> & Pick<Column<Row>, "rowHeader">): Column<Row> {
  const cell = (row: Row) =>
    createElement("span", { className: "block truncate", title: value(row) }, value(row));
  return { ...column, sortValue: value, cell };
}

/** A column of whole numbers, sorted by them. */
export function countColumn<Row>({ value, ...column }: FigureColumn<Row, number>): Column<Row> {
  return { ...column, align: "end", sortValue: value, cell: (row) => formatCount(value(row)) };
}

/** A column of shares from 0 to 1, as percentages. */
export function shareColumn<Row>({ value, ...column }: FigureColumn<Row, number>): Column<Row> {
  return { ...column, align: "end", sortValue: value, cell: (row) => formatPercent(value(row)) };
}

/**
 * A column of money, sorted by it unless `sortValue` says otherwise, the decimal points under one another; `inCents` with two
 * decimals in each cell, which then end where the header does.
 */
export function costColumn<Row>({
  value,
  inCents = false,
  ...column
}: FigureColumn<Row, CostProps> &
  Pick<Column<Row>, "sortValue"> & { readonly inCents?: boolean }): Column<Row> {
  const amount = (row: Row) => value(row).value;
  return {
    sortValue: amount,
    ...column,
    align: "end",
    ...(!inCents && { amount }),
    cell: (row) => createElement(Cost, { ...value(row), inCents }),
  };
}

/** A column that tells how long ago something was. */
export function agoColumn<Row>({ value, ...column }: FigureColumn<Row, string | null>): Column<Row> {
  return {
    ...column,
    descendingFirst: true,
    sortValue: value,
    cell: (row) => createElement(Instant, { value: value(row), format: "relative" }),
  };
}
