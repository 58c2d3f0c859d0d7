import { type ReactNode } from "react";

/** One column of a `DataTable`. */
export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  /** Longer words for the header, in its title. */
  readonly headerTitle?: string | undefined;
  /** The header is for a screen reader only: a column of buttons. */
  readonly headerHidden?: boolean | undefined;
  readonly cell: (row: Row) => ReactNode;
  /** What the column is sorted by; null goes last either way. A column without it is not sorted. */
  readonly sortValue?: ((row: Row) => string | number | null) | undefined;
  /** The first press on the header sorts from the largest; so it is for numbers at the end when absent. */
  readonly descendingFirst?: boolean | undefined;
  /** Numbers stand at the end, under one another. */
  readonly align?: "start" | "end" | undefined;
  /** Names the row: a header cell, and the one that holds the button when rows open. The first column when none says so. */
  readonly rowHeader?: boolean | undefined;
  /** A class of width, such as `w-40`; needed in a `virtual` table, whose columns are fixed. */
  readonly width?: string | undefined;
  /** Long text breaks into lines instead of keeping to one. */
  readonly wrap?: boolean | undefined;
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
