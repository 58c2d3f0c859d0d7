import { type ReactNode, type Ref } from "react";
import { classNames } from "./class-names.ts";
import { type DrawnColumn, type TableEntry } from "./column.ts";

/** What all rows of a table share. */
export interface LineContext<Row> {
  readonly columns: readonly DrawnColumn<Row>[];
  readonly onRowActivate: ((row: Row) => void) | undefined;
  readonly rowLabel: ((row: Row) => string) | undefined;
  readonly activeRowId: string | null | undefined;
  /** Rows that have just come. */
  readonly freshRowIds: ReadonlySet<string> | undefined;
}

export interface TableLineProps<Row> extends LineContext<Row> {
  readonly entry: TableEntry<Row>;
  readonly index: number;
  /** Tab stops here. */
  readonly isStop: boolean;
  /** Writes the place among all rows, of which only some are in the document. */
  readonly isNumbered?: boolean | undefined;
  readonly measure?: Ref<HTMLTableRowElement> | undefined;
}

/** One row. When rows open, its header cell holds the button for keyboard and screen reader; the mouse may press anywhere. */
export function TableLine<Row>(props: TableLineProps<Row>): ReactNode {
  const {
    columns,
    entry,
    index,
    isNumbered = false,
    measure,
    onRowActivate,
    activeRowId,
    freshRowIds,
  } = props;
  const headerId = (columns.find(({ rowHeader }) => rowHeader === true) ?? columns[0])?.id;
  const isActive = activeRowId === entry.id;
  return (
    <tr
      ref={measure}
      data-index={index}
      aria-rowindex={isNumbered ? index + 2 : undefined}
      className={classNames(
        "border-b border-line last:border-0",
        onRowActivate !== undefined && LINK_ROW,
        isActive && "bg-accent-soft",
        freshRowIds?.has(entry.id) === true && "fresh-row",
      )}
    >
      {columns.map((column) => {
        const Cell = column.id === headerId ? "th" : "td";
        return (
          <Cell
            key={column.id}
            scope={column.id === headerId ? "row" : undefined}
            data-decimals={column.decimals}
            className={classNames(
              "relative h-9 px-2.5 py-1.5 text-left font-normal first:pl-4 last:pr-4",
              column.wrap === true ? "min-w-40" : "max-w-80 truncate whitespace-nowrap",
              column.align === "end" && "text-right",
            )}
          >
            {column.cell(entry.row)}
            {column.id === headerId && onRowActivate !== undefined && (
              <OpenButton {...props} isActive={isActive} />
            )}
          </Cell>
        );
      })}
    </tr>
  );
}

/** The button that opens a row, for the focus to return to; null while the row is not drawn. */
export function findRowButton(rowId: string): HTMLElement | null {
  const button = document.querySelector(`[data-row-id="${CSS.escape(rowId)}"]`);
  return button instanceof HTMLElement ? button : null;
}

function OpenButton<Row>(props: TableLineProps<Row> & { readonly isActive: boolean }): ReactNode {
  const { entry, index, isStop, rowLabel, isActive } = props;
  return (
    <button
      type="button"
      data-row-open={index}
      data-row-id={entry.id}
      tabIndex={isStop ? 0 : -1}
      aria-label={rowLabel?.(entry.row) ?? "Open details"}
      aria-current={isActive || undefined}
      // The ring is drawn around the row, in which other controls may follow, and a bar where the row begins; the mouse goes
      // through to the text below.
      className="pointer-events-none absolute inset-0 outline-hidden focus-visible:shadow-[inset_3px_0_0_var(--color-focus)]"
    />
  );
}

const LINK_ROW =
  "cursor-pointer hover:bg-hover has-[[data-row-open]:focus-visible]:outline-2 has-[[data-row-open]:focus-visible]:-outline-offset-2 has-[[data-row-open]:focus-visible]:outline-focus";
