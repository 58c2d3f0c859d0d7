import {
  type FocusEvent,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  type Ref,
  useState,
} from "react";
import { classNames } from "./class-names.ts";
import type { Column, DrawnColumn, TableEntry } from "./column.ts";
import { Skeleton } from "./skeleton.tsx";

export interface TableBodyProps<Row> extends LineContext<Row> {
  readonly entries: readonly TableEntry<Row>[];
  readonly region: HTMLDivElement | null;
  /** Above zero: that many grey rows instead. */
  readonly skeletonRows: number;
}

/** Every row in the document. */
export function TableBody<Row>(props: TableBodyProps<Row>): ReactNode {
  const { entries, region } = props;
  const rove = useRovingRow(props, (index) => focusRow(region, index));
  if (props.skeletonRows > 0) return <SkeletonBody columns={props.columns} rows={props.skeletonRows} />;
  return (
    <tbody {...rove.handlers}>
      {entries.map((entry, index) => (
        <TableLine key={entry.id} {...props} entry={entry} index={index} isStop={index === rove.stop} />
      ))}
    </tbody>
  );
}

interface SkeletonBodyProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: number;
}

/** Rows of grey. */
export function SkeletonBody<Row>({ columns, rows }: SkeletonBodyProps<Row>): ReactNode {
  return (
    <tbody>
      {Array.from({ length: rows }, (_, line) => (
        <tr key={line} className="border-b border-line last:border-0">
          {columns.map((column) => (
            <td key={column.id} className="h-9 px-2.5 first:pl-4 last:pr-4">
              <Skeleton className={classNames("h-4 w-16 max-w-full", column.align === "end" && "ml-auto")} />
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  );
}

export interface RovingRow {
  /** The one row that Tab reaches. */
  readonly stop: number;
  readonly handlers: {
    readonly onKeyDown?: (event: KeyboardEvent<HTMLElement>) => void;
    readonly onClick?: (event: MouseEvent<HTMLElement>) => void;
    readonly onAuxClick?: (event: MouseEvent<HTMLElement>) => void;
    readonly onMouseDown?: (event: MouseEvent<HTMLElement>) => void;
    readonly onFocus?: (event: FocusEvent<HTMLElement>) => void;
  };
}

/** Arrow keys between rows, one stop for Tab, and a press anywhere on a row that is not on a control of its own. */
export function useRovingRow<Row>(props: TableBodyProps<Row>, focus: (index: number) => void): RovingRow {
  const { entries, onRowActivate, rowHref } = props;
  const [current, setCurrent] = useState(0);
  const stop = Math.min(current, Math.max(0, entries.length - 1));
  if (onRowActivate === undefined) return { stop, handlers: {} };
  /** A press that asks for a tab of its own; the link of a row is opened there by the browser. */
  const openElsewhere = (event: MouseEvent) => {
    const index = toPressedRow(event.target);
    const entry = index === null ? undefined : entries[index];
    const href = entry === undefined ? null : (rowHref?.(entry.row) ?? null);
    if (href === null || isWithinLink(event.target)) return;
    window.open(href, "_blank", "noopener");
  };
  return {
    stop,
    handlers: {
      onKeyDown: (event) => {
        const from = toRowIndex(event.target);
        const to = from === null ? null : toMove(event.key, from, entries.length);
        if (to === null) return;
        event.preventDefault();
        setCurrent(to);
        focus(to);
      },
      onClick: (event) => {
        const index = toPressedRow(event.target);
        const entry = index === null ? undefined : entries[index];
        if (index === null || entry === undefined || rowHref?.(entry.row) === null) return;
        if (rowHref !== undefined && (event.ctrlKey || event.metaKey || event.shiftKey)) {
          openElsewhere(event);
          return;
        }
        event.preventDefault();
        setCurrent(index);
        onRowActivate(entry.row);
      },
      onAuxClick: (event) => {
        if (event.button === MIDDLE_BUTTON) openElsewhere(event);
      },
      onMouseDown: (event) => {
        // Else the middle button begins to scroll, and is no press of a row.
        if (event.button === MIDDLE_BUTTON && rowHref !== undefined) event.preventDefault();
      },
      // Also when a closed panel gives the focus back, to a row that may be another one by then.
      onFocus: (event) => {
        const index = toRowIndex(event.target);
        if (index !== null) setCurrent(index);
      },
    },
  };
}

const MIDDLE_BUTTON = 1;

function isWithinLink(target: EventTarget): boolean {
  return target instanceof Element && target.closest("a") !== null;
}

function toMove(key: string, from: number, count: number): number | null {
  const to = { ArrowDown: from + 1, ArrowUp: from - 1, Home: 0, End: count - 1 }[key];
  return to === undefined || to < 0 || to >= count ? null : to;
}

/** The row whose own button has the focus; arrows inside a field of a row are the field's. */
function toRowIndex(target: EventTarget): number | null {
  return target instanceof HTMLElement ? parseIndex(target.dataset["rowOpen"]) : null;
}

function toPressedRow(target: EventTarget): number | null {
  if (!(target instanceof Element)) return null;
  // Text that was just marked is to be copied, not opened.
  if (window.getSelection()?.isCollapsed === false) return null;
  const control = target.closest("a, button, input, select, textarea, label, [role=button], [role=dialog]");
  if (control instanceof HTMLElement) return parseIndex(control.dataset["rowOpen"]);
  const line = target.closest("tr[data-index]");
  return line instanceof HTMLElement ? parseIndex(line.dataset["index"]) : null;
}

function parseIndex(text: string | undefined): number | null {
  return text === undefined ? null : Number(text);
}

export function focusRow(region: HTMLDivElement | null, index: number): void {
  const button = region?.querySelector(`[data-row-open="${index}"]`);
  if (button instanceof HTMLElement) button.focus();
}

/** Properties that all rows of a table share. */
interface LineContext<Row> {
  readonly columns: readonly DrawnColumn<Row>[];
  readonly onRowActivate: ((row: Row) => void) | undefined;
  readonly rowLabel: ((row: Row) => string) | undefined;
  /** Makes rows links: the address that shows what a row opens, for a tab of its own; null for a row that opens nothing. */
  readonly rowHref?: ((row: Row) => string | null) | undefined;
  readonly activeRowId: string | null | undefined;
  /** Rows that have just come. */
  readonly freshRowIds: ReadonlySet<string> | undefined;
}

interface TableLineProps<Row> extends LineContext<Row> {
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
      // The ring is drawn around the row, and a bar where the row begins; the mouse goes through to the text below. It is as
      // high as a line: other controls may follow in a card, and a target that lies upon them would make them too small.
      className="pointer-events-none absolute inset-x-0 top-0 h-9 outline-hidden focus-visible:shadow-[inset_3px_0_0_var(--color-focus)]"
    />
  );
}

const LINK_ROW =
  "cursor-pointer hover:bg-hover has-[[data-row-open]:focus-visible]:outline-2 has-[[data-row-open]:focus-visible]:-outline-offset-2 has-[[data-row-open]:focus-visible]:outline-focus";
