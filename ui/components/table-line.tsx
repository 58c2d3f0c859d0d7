import { type ReactNode, type Ref } from "react";
import { classNames } from "./class-names.ts";
import { type DrawnColumn, type TableEntry } from "./column.ts";

/** What all rows of a table share. */
export interface LineContext<Row> {
  readonly columns: readonly DrawnColumn<Row>[];
  readonly onRowActivate: ((row: Row) => void) | undefined;
  readonly rowLabel: ((row: Row) => string) | undefined;
  /** Makes rows links: the address that shows what a row opens, for a tab of its own; null for a row that opens nothing. */
  readonly rowHref?: ((row: Row) => string | null) | undefined;
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

/** One row. When rows open, its header cell holds the button or link for keyboard and screen reader; the mouse may press anywhere. */
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
  const opener = { ...props, isActive };
  const href = props.rowHref?.(entry.row) ?? null;
  const opens = onRowActivate !== undefined && (props.rowHref === undefined || href !== null);
  return (
    <tr
      ref={measure}
      data-index={index}
      aria-rowindex={isNumbered ? index + 2 : undefined}
      className={classNames(
        "border-b border-line last:border-0",
        opens && LINK_ROW,
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
            {column.id === headerId && href !== null ? (
              <OpenLink {...opener} href={href}>
                {column.cell(entry.row)}
              </OpenLink>
            ) : (
              column.cell(entry.row)
            )}
            {column.id === headerId && opens && href === null && <OpenButton {...opener} />}
          </Cell>
        );
      })}
    </tr>
  );
}

/** The button or link that opens a row, for the focus to return to; null while the row is not drawn. */
export function findRowButton(rowId: string): HTMLElement | null {
  const button = document.querySelector(`[data-row-id="${CSS.escape(rowId)}"]`);
  return button instanceof HTMLElement ? button : null;
}

type OpenerProps<Row> = TableLineProps<Row> & { readonly isActive: boolean };

function toOpenerProps<Row>({ entry, index, isStop, isActive }: OpenerProps<Row>) {
  return {
    "data-row-open": index,
    "data-row-id": entry.id,
    tabIndex: isStop ? 0 : -1,
    "aria-current": isActive || undefined,
  };
}

function toLabel<Row>({ entry, rowLabel }: OpenerProps<Row>): string {
  return rowLabel?.(entry.row) ?? "Open details";
}

type OpenLinkProps<Row> = OpenerProps<Row> & { readonly href: string; readonly children: ReactNode };

/** A link around the text of the cell: the browser's own menu and keys open it elsewhere; the row takes a plain press. */
function OpenLink<Row>({ href, children, ...props }: OpenLinkProps<Row>): ReactNode {
  return (
    <a
      {...toOpenerProps(props)}
      href={href}
      draggable={false}
      className="block min-w-0 truncate text-inherit no-underline outline-hidden focus-visible:after:absolute focus-visible:after:inset-0 focus-visible:after:shadow-[inset_3px_0_0_var(--color-focus)]"
    >
      {children}
      <span className="sr-only"> {toLabel(props)}</span>
    </a>
  );
}

function OpenButton<Row>(props: OpenerProps<Row>): ReactNode {
  return (
    <button
      type="button"
      {...toOpenerProps(props)}
      aria-label={toLabel(props)}
      // The ring is drawn around the row, in which other controls may follow, and a bar where the row begins; the mouse goes
      // through to the text below.
      className="pointer-events-none absolute inset-0 outline-hidden focus-visible:shadow-[inset_3px_0_0_var(--color-focus)]"
    />
  );
}

const LINK_ROW =
  "cursor-pointer hover:bg-hover has-[[data-row-open]:focus-visible]:outline-2 has-[[data-row-open]:focus-visible]:-outline-offset-2 has-[[data-row-open]:focus-visible]:outline-focus";
