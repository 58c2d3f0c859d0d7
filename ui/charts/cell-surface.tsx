import type { KeyboardEvent, MouseEvent, PointerEvent, ReactNode } from "react";
import { useId, useRef, useState } from "react";

/** Which cell is pointed at, and whether by keyboard: only then is it also spoken. */
export interface CellCursor {
  readonly cell: number;
  readonly isKeyboard: boolean;
}

export interface CellSurfaceProps {
  readonly label: string;
  readonly help: string;
  readonly heightPx: number;
  readonly cellCount: number;
  /** The cell at a point of the surface, null between cells. */
  readonly toCell: (x: number, y: number) => number | null;
  /** Where a key leads, null for a key that leads nowhere. */
  readonly move: (cursor: number | null, key: string) => number | null;
  readonly toSpoken: (cell: number) => string;
  readonly onCell: ((cell: number) => void) | undefined;
  /** The chart, and what it shows of the cell that is pointed at. */
  readonly children: (cursor: CellCursor | null) => ReactNode;
}

/** The one thing in a grid of cells that takes the pointer and the keyboard: arrows move, Enter chooses, Escape leaves. */
export function CellSurface(props: CellSurfaceProps): ReactNode {
  const { label, help, heightPx, cellCount, toCell, move, toSpoken, onCell, children } = props;
  const [state, setCursor] = useState<CellCursor | null>(null);
  // Of cells that have become fewer it points at none that is gone.
  const cursor = state !== null && state.cell < cellCount ? state : null;
  const helpId = useId();
  const point = (cell: number | null) => {
    if (cell !== (cursor?.cell ?? null)) setCursor(cell === null ? null : { cell, isKeyboard: false });
  };
  // What was chosen becomes another view with other cells.
  const choose = (cell: number) => {
    if (onCell === undefined) return;
    onCell(cell);
    setCursor(null);
  };
  const type = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isChoice = event.key === "Enter" || event.key === " ";
    const next = move(cursor?.cell ?? null, event.key);
    if (cursor !== null && isChoice) choose(cursor.cell);
    else if (cursor !== null && event.key === "Escape") setCursor(null);
    else if (next !== null) setCursor({ cell: next, isKeyboard: true });
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  // A finger asks first and chooses with a second tap on the same cell.
  const isFirstTap = useRef(false);
  const press = (event: PointerEvent<HTMLElement>) => {
    const cell = cellAt(event, toCell);
    isFirstTap.current = event.pointerType === "touch" && cell !== cursor?.cell;
    point(cell);
  };
  const click = (event: MouseEvent<HTMLElement>) => {
    const cell = cellAt(event, toCell);
    if (cell !== null && !isFirstTap.current) choose(cell);
  };
  return (
    <div
      role="application"
      aria-label={label}
      aria-roledescription="chart"
      aria-describedby={helpId}
      tabIndex={0}
      className={`relative rounded select-none focus-visible:outline-2 focus-visible:outline-offset-2 focus-visible:outline-focus ${onCell !== undefined && cursor !== null ? "cursor-pointer" : ""}`}
      style={{ height: heightPx }}
      onPointerMove={(event) => point(cellAt(event, toCell))}
      onPointerDown={press}
      onPointerLeave={(event) => event.pointerType !== "touch" && point(null)}
      onBlur={() => setCursor(null)}
      onClick={click}
      onKeyDown={type}
    >
      {children(cursor)}
      <span id={helpId} hidden>
        {help}
      </span>
      <span className="sr-only" aria-live="polite">
        {cursor?.isKeyboard ? toSpoken(cursor.cell) : ""}
      </span>
    </div>
  );
}

function cellAt(event: MouseEvent<HTMLElement>, toCell: CellSurfaceProps["toCell"]): number | null {
  const box = event.currentTarget.getBoundingClientRect();
  return toCell(event.clientX - box.left, event.clientY - box.top);
}
