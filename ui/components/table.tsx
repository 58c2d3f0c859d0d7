import { createElement, type ReactNode, Suspense, useMemo, useState } from "react";
import { lazyLoaded } from "../lazy-part.tsx";
import { classNames } from "./class-names.ts";
import type { Column, DrawnColumn, TableEntry, TableSort } from "./column.ts";
import { countDecimals } from "./cost.tsx";
import { Icon } from "./icon.tsx";
import { useIsWide } from "./room.ts";
import { SkeletonBody, TableBody, type TableBodyProps } from "./table-body.tsx";

interface SortOptions<Row> {
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

export interface DataTableProps<Row> extends SortOptions<Row> {
  /** The name of the table and of its scroll region, for a screen reader. */
  readonly caption: string;
  /** Opens a row, by a press on it or by Enter. */
  readonly onRowActivate?: ((row: Row) => void) | undefined;
  /** A row where there is no room for columns (below 640 px); always the same function. By default its columns beneath one another. */
  readonly card?: ((row: Row) => ReactNode) | undefined;
  /** The name of the button that opens a row: `Open the request of 12:00:01`. */
  readonly rowLabel?: ((row: Row) => string) | undefined;
  /**
   * Makes rows links to this address, all but those without one; a plain press still opens the row by `onRowActivate`. Keep it
   * in a memo.
   */
  readonly rowHref?: ((row: Row) => string | null) | undefined;
  /** The row whose details are open. */
  readonly activeRowId?: string | null | undefined;
  /** Rows that have just come, by themselves: they are seen to come. */
  readonly freshRowIds?: ReadonlySet<string> | undefined;
  readonly stickyHeader?: boolean | undefined;
  /** Content in the place of rows when there are none. */
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
  const isWide = useIsWide();
  const ownCard = props.card;
  const card = useMemo(
    () =>
      isWide ? undefined : (ownCard ?? (columns.length > COLUMNS_NARROW_MAX ? toCard(columns) : undefined)),
    [isWide, ownCard, columns],
  );
  const drawn = useMemo(
    () =>
      card === undefined ? columns.map((column) => toDrawn(column, rows)) : [toCardColumn(columns, card)],
    [columns, rows, card],
  );
  const isLoading = busy && rows.length === 0;
  const isEmpty = rows.length === 0 && !busy;
  const isLong = props.hasFixedColumns === true && rows.length > ROWS_DRAWN_MAX;
  const virtual = props.body !== undefined || isLong;
  const Body = props.body ?? (isLong ? LateVirtualBody : TableBody);
  const isFixed = virtual || (props.hasFixedColumns === true && card === undefined);
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
        className={classNames(
          "w-full text-left",
          // Its `max-content` is endless in Firefox, which then shows the first column alone.
          isFixed && "min-w-min table-fixed",
          card !== undefined && "table-fixed",
        )}
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
        {props.footer !== undefined && !isEmpty && card === undefined && (
          <TableFoot columns={drawn} cells={props.footer} />
        )}
      </table>
      {/* Beneath the headers, which may be wider than there is room: it leads on, and has to be in sight. */}
      {isEmpty && <div className="sticky left-0">{empty}</div>}
    </div>
  );
}

/** Columns that have room beside one another on a phone. */
const COLUMNS_NARROW_MAX = 2;

/** The name of a row, and beneath it the other columns side by side, each under its header. */
function toCard<Row>(columns: readonly Column<Row>[]): (row: Row) => ReactNode {
  const named = findNamed(columns);
  return (row) => (
    <div className="flex min-w-0 flex-col gap-1.5 py-1">
      <div className="min-w-0 font-medium">{named?.cell(row)}</div>
      <div className="flex flex-wrap gap-x-5 gap-y-1.5">
        {columns.map(
          ({ id, header, headerHidden = false, wrap = false, cell }) =>
            id !== named?.id && (
              <div
                key={id}
                className={classNames(
                  "flex max-w-full flex-col items-start",
                  headerHidden || wrap ? "w-full" : "min-w-16",
                )}
              >
                {!headerHidden && <span className="text-xs text-ink-soft">{header}</span>}
                <div className="max-w-full min-w-0">{cell(row)}</div>
              </div>
            ),
        )}
      </div>
    </div>
  );
}

function findNamed<Row>(columns: readonly Column<Row>[]): Column<Row> | undefined {
  return columns.find(({ rowHeader }) => rowHeader === true) ?? columns[0];
}

/** The whole row in the column that names it. */
function toCardColumn<Row>(columns: readonly Column<Row>[], card: (row: Row) => ReactNode): DrawnColumn<Row> {
  const named = findNamed(columns);
  return { id: named?.id ?? "row", header: named?.header ?? "", rowHeader: true, wrap: true, cell: card };
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

interface TableHeadProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly sort: TableSort | null;
  readonly onToggle: (column: Column<Row>) => void;
  readonly sticky: boolean;
}

/** The header row: a column that sorts has a button, and says its order in `aria-sort`. */
function TableHead<Row>({ columns, sort, onToggle, sticky }: TableHeadProps<Row>): ReactNode {
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

interface SortButtonProps<Row> extends Pick<TableHeadProps<Row>, "sort" | "onToggle"> {
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

interface SortedRows<Row> {
  readonly sorted: readonly TableEntry<Row>[];
  readonly sort: TableSort | null;
  /** One press on a header sorts, the next turns the order round. */
  readonly toggleSort: (column: Column<Row>) => void;
}

function useSortedRows<Row>(options: SortOptions<Row>): SortedRows<Row> {
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

/** Sorts person-2 before person-10. */
const BY_NAME = new Intl.Collator("en", { numeric: true });

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
      : BY_NAME.compare(String(left), String(right));
  return descending ? -ascending : ascending;
}

export function toNextSort<Row>(column: Column<Row>, sort: TableSort | null): TableSort {
  if (sort?.id === column.id) return { id: column.id, descending: !sort.descending };
  return { id: column.id, descending: column.descendingFirst ?? column.align === "end" };
}

const ROWS_MEANWHILE = 8;

const useVirtualBody = lazyLoaded(async () => (await import("./virtual-body.tsx")).VirtualBody);

/** A `VirtualBody` for tables that are seldom so long: it is loaded when one is. */
export function LateVirtualBody<Row>(props: TableBodyProps<Row>): ReactNode {
  return (
    <Suspense fallback={<SkeletonBody columns={props.columns} rows={ROWS_MEANWHILE} />}>
      <Loaded {...props} />
    </Suspense>
  );
}

function Loaded<Row>(props: TableBodyProps<Row>): ReactNode {
  return createElement<TableBodyProps<Row>>(useVirtualBody(), props);
}
