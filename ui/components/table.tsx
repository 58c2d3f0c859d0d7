import {
  type ColumnDef,
  createSortedRowModel,
  type Row as TableRow,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { type ReactNode, useMemo, useState } from "react";
import { compareCodeUnits } from "#kernel/text.ts";
import { classNames } from "./class-names.ts";
import { type Column, type DrawnColumn, type TableEntry, type TableSort } from "./column.ts";
import { countDecimals } from "./cost.tsx";
import { LateVirtualBody } from "./late-virtual-body.tsx";
import { TableBody, type TableBodyProps } from "./table-body.tsx";
import { TableHead } from "./table-head.tsx";

export interface DataTableProps<Row> {
  /** The name of the table and of its scroll region, for a screen reader. */
  readonly caption: string;
  /** Keep the array at module level or in a memo: a new one is a new table. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Keep it at module level: another function is another order to be worked out. */
  readonly getRowId: (row: Row) => string;
  /** The first order. Null keeps the rows as they come. */
  readonly sort?: TableSort | null | undefined;
  /** The rows are in the order of `sort` already: the server sorted them. */
  readonly isSorted?: boolean | undefined;
  /** Takes the order that a header asks for: `sort` is then what is shown, and not only the first order. */
  readonly onSort?: ((columnId: string) => void) | undefined;
  /** Opens a row, by a press on it or by Enter. */
  readonly onRowActivate?: ((row: Row) => void) | undefined;
  /** The name of the button that opens a row: `Open the request of 12:00:01`. */
  readonly rowLabel?: ((row: Row) => string) | undefined;
  /** Makes rows links to this address; a plain press still opens the row by `onRowActivate`. Keep it in a memo. */
  readonly rowHref?: ((row: Row) => string) | undefined;
  /** The row whose details are open. */
  readonly activeRowId?: string | null | undefined;
  /** Rows that have just come, by themselves: they are seen to come. */
  readonly freshRowIds?: ReadonlySet<string> | undefined;
  readonly stickyHeader?: boolean | undefined;
  /** What stands in the place of rows when there are none. */
  readonly empty: ReactNode;
  /** Before the first answer: rows of grey. With rows there, they stay, dimmed, and the table is `aria-busy`. */
  readonly busy?: boolean | undefined;
  readonly skeletonRows?: number | undefined;
  /**
   * Draws the rows. `VirtualBody` draws only those in sight: give the columns a `width`, and the table a height. Without
   * it a table with fixed columns draws all rows up to `ROWS_DRAWN_MAX`, and those in sight of more.
   */
  readonly body?: VirtualTableBody | undefined;
  /** Columns keep the `width` that they are given, whatever comes to stand in them: what comes moves no header. */
  readonly hasFixedColumns?: boolean | undefined;
  /** Classes for the scroll region, such as `max-h-[70vh]`. */
  readonly className?: string | undefined;
  /** A row of totals: the cells by column. */
  readonly footer?: { readonly [columnId: string]: ReactNode } | undefined;
}

const ROWS_DRAWN_MAX = 200;

type VirtualTableBody = <Row>(props: TableBodyProps<Row>) => ReactNode;

/** A table that sorts by its headers, opens its rows and scrolls inside its own region, which the keyboard reaches. */
export function DataTable<Row>(props: DataTableProps<Row>): ReactNode {
  const { caption, columns, rows, busy = false, stickyHeader = false, empty } = props;
  // In a state and not in a ref: the rows below are drawn once it is there to be measured.
  const [region, setRegion] = useState<HTMLDivElement | null>(null);
  const { sorted, sort, toggleSort } = useSortedRows(props);
  const drawn = useMemo(() => columns.map((column) => toDrawn(column, rows)), [columns, rows]);
  const isLoading = busy && rows.length === 0;
  const isEmpty = rows.length === 0 && !busy;
  const isLong = props.hasFixedColumns === true && rows.length > ROWS_DRAWN_MAX;
  const virtual = props.body !== undefined || isLong;
  const Body = props.body ?? (isLong ? LateVirtualBody : TableBody);
  const isFixed = virtual || props.hasFixedColumns === true;
  return (
    <div
      ref={setRegion}
      role="region"
      aria-label={caption}
      tabIndex={0}
      className={classNames(
        "relative min-w-0 overflow-auto focus-visible:-outline-offset-2",
        virtual && props.className === undefined && "max-h-[70vh]",
        props.className,
      )}
    >
      <table
        aria-busy={busy || undefined}
        data-outdated={(busy && !isLoading) || undefined}
        aria-rowcount={virtual ? rows.length + 1 : undefined}
        className={classNames("w-full text-left", isFixed && "min-w-max table-fixed")}
      >
        <caption className="sr-only">{caption}</caption>
        <TableHead columns={drawn} sort={sort} onToggle={toggleSort} sticky={stickyHeader || virtual} />
        {!isEmpty && (
          <Body
            columns={drawn}
            entries={sorted}
            region={region}
            skeletonRows={isLoading ? (props.skeletonRows ?? 8) : 0}
            onRowActivate={props.onRowActivate}
            rowLabel={props.rowLabel}
            rowHref={props.rowHref}
            activeRowId={props.activeRowId}
            freshRowIds={props.freshRowIds}
          />
        )}
        {props.footer !== undefined && !isEmpty && <TableFoot columns={drawn} cells={props.footer} />}
      </table>
      {/* Beneath the headers, which may be wider than there is room: it leads on, and has to be in sight. */}
      {isEmpty && <div className="sticky left-0">{empty}</div>}
    </div>
  );
}

/** A column of money reserves the decimals of the amount that has most of them. */
function toDrawn<Row>(column: Column<Row>, rows: readonly Row[]): DrawnColumn<Row> {
  const { amount } = column;
  if (amount === undefined) return column;
  return { ...column, decimals: Math.max(0, ...rows.map((row) => countDecimals(amount(row)))) };
}

interface TableFootProps<Row> {
  readonly columns: readonly DrawnColumn<Row>[];
  readonly cells: { readonly [columnId: string]: ReactNode };
}

function TableFoot<Row>({ columns, cells }: TableFootProps<Row>): ReactNode {
  return (
    <tfoot>
      <tr className="border-t border-line-strong font-medium">
        {columns.map(({ id, align, decimals }) => (
          <td
            key={id}
            data-decimals={decimals}
            className={classNames(
              "px-2.5 py-2 whitespace-nowrap first:pl-4 last:pr-4",
              align === "end" && "text-right",
            )}
          >
            {cells[id]}
          </td>
        ))}
      </tr>
    </tfoot>
  );
}

const FEATURES = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() });

interface SortedRows<Row> {
  readonly sorted: readonly TableEntry<Row>[];
  readonly sort: TableSort | null;
  readonly toggleSort: (column: Column<Row>) => void;
}

function useSortedRows<Row>(props: DataTableProps<Row>): SortedRows<Row> {
  const { columns, rows, getRowId, isSorted = false, onSort } = props;
  const [own, setOwn] = useState<TableSort | null>(props.sort ?? null);
  const sort = onSort === undefined ? own : (props.sort ?? null);
  const definitions = useMemo(() => columns.map((column) => toDefinition(column)), [columns]);
  const data = useMemo(() => rows.map((row) => ({ id: getRowId(row), row })), [rows, getRowId]);
  // The same array for the same order: another one would have Table sort again at each drawing.
  const sortId = sort?.id ?? null;
  const descending = sort?.descending ?? false;
  const sorting = useMemo(
    () => (sortId === null ? [] : [{ id: sortId, desc: descending }]),
    [sortId, descending],
  );
  const table = useTable({
    features: FEATURES,
    columns: definitions,
    data,
    getRowId: (entry) => entry.id,
    manualSorting: isSorted,
    state: { sorting },
  });
  const model = table.getRowModel();
  const sorted = useMemo(() => model.rows.map(({ original }) => original), [model]);
  return {
    sorted,
    sort,
    toggleSort: (column) => (onSort === undefined ? setOwn(toNextSort(column, sort)) : onSort(column.id)),
  };
}

function toDefinition<Row>({ id, sortValue }: Column<Row>): ColumnDef<typeof FEATURES, TableEntry<Row>> {
  return {
    id,
    // Table keeps `undefined` last in both directions; null would be compared.
    accessorFn: ({ row }) => sortValue?.(row) ?? undefined,
    sortUndefined: "last",
    sortFn: compareValues,
  };
}

type AnyRow = Pick<TableRow<typeof FEATURES, TableEntry<unknown>>, "getValue">;

function compareValues(left: AnyRow, right: AnyRow, columnId: string): number {
  const leftValue: unknown = left.getValue(columnId);
  const rightValue: unknown = right.getValue(columnId);
  if (typeof leftValue === "number" && typeof rightValue === "number") return leftValue - rightValue;
  return compareCodeUnits(String(leftValue), String(rightValue));
}

/** One press sorts, the next turns the order round. */
function toNextSort<Row>(column: Column<Row>, sort: TableSort | null): TableSort {
  if (sort?.id === column.id) return { id: column.id, descending: !sort.descending };
  return { id: column.id, descending: column.descendingFirst ?? column.align === "end" };
}
