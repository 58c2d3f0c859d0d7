import { type ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { type Column, type TableSort } from "./column.ts";
import { Icon } from "./icon.tsx";

export interface TableHeadProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly sort: TableSort | null;
  readonly onToggle: (column: Column<Row>) => void;
  readonly sticky: boolean;
}

/** The header row: a column that sorts has a button, and says its order in `aria-sort`. */
export function TableHead<Row>({ columns, sort, onToggle, sticky }: TableHeadProps<Row>): ReactNode {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th
            key={column.id}
            scope="col"
            aria-sort={toAriaSort(column, sort)}
            title={column.headerTitle}
            className={classNames(
              // The line is a shadow: a border of a sticky cell scrolls away in a collapsed table.
              "h-9 bg-surface px-2.5 first:pl-4 last:pr-4 text-xs font-medium whitespace-nowrap text-ink-soft shadow-[inset_0_-1px_var(--color-line)]",
              sticky && "sticky top-0 z-10",
              column.align === "end" && "text-right",
              column.width,
            )}
          >
            {column.sortValue === undefined ? (
              <span className={column.headerHidden === true ? "sr-only" : undefined}>{column.header}</span>
            ) : (
              <SortButton column={column} sort={sort} onToggle={onToggle} />
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface SortButtonProps<Row> extends Omit<TableHeadProps<Row>, "columns" | "sticky"> {
  readonly column: Column<Row>;
}

function SortButton<Row>({ column, sort, onToggle }: SortButtonProps<Row>): ReactNode {
  const isSorted = sort?.id === column.id;
  return (
    <button
      type="button"
      onClick={() => onToggle(column)}
      className={classNames(
        "group -mx-1.5 inline-flex h-7 items-center gap-1 rounded px-1.5 hover:bg-hover hover:text-ink focus-visible:outline-offset-0",
        column.align === "end" && "flex-row-reverse",
        isSorted && "text-ink",
      )}
    >
      {column.header}
      <Icon
        name={isSorted ? (sort.descending ? "arrow-down" : "arrow-up") : "chevrons-up-down"}
        size={12}
        className={isSorted ? "" : "opacity-0 group-hover:opacity-100 group-focus-visible:opacity-100"}
      />
    </button>
  );
}

function toAriaSort<Row>(
  column: Column<Row>,
  sort: TableSort | null,
): "ascending" | "descending" | "none" | undefined {
  if (column.sortValue === undefined) return undefined;
  if (sort?.id !== column.id) return "none";
  return sort.descending ? "descending" : "ascending";
}
