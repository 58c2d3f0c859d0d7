import { type FocusEvent, type KeyboardEvent, type MouseEvent, type ReactNode, useState } from "react";
import { classNames } from "./class-names.ts";
import { type Column, type TableEntry } from "./column.ts";
import { Skeleton } from "./skeleton.tsx";
import { type LineContext, TableLine } from "./table-line.tsx";

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
