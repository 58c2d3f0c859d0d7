import { max } from "d3-array";
import type { CellBox } from "./cells.ts";
import { toTextWidth } from "./text-width.ts";

/** Where the cells of a heat map lie. In a narrow one each row's name stands above its cells, else to their left. */
export interface HeatLayout {
  readonly isNarrow: boolean;
  readonly labelWidthPx: number;
  readonly cellWidthPx: number;
  readonly heightPx: number;
  /** The box of a cell, counted row by row. */
  readonly toBox: (cell: number) => CellBox;
  /** The middle of a column's name, moved inwards at the edge, and its baseline: every other one is lower where they would touch. */
  readonly toHead: (column: number) => { readonly x: number; readonly y: number };
  /** The baseline of a row's name. */
  readonly toLabelY: (row: number) => number;
  readonly toCell: (x: number, y: number) => number | null;
}

export interface HeatLayoutRequest {
  readonly labels: readonly string[];
  readonly columns: readonly string[];
  readonly widthPx: number;
}

const HEAD_LINE_PX = 14;
const HEAD_GAP_PX = 8;
const CELL_HEIGHT_PX = 28;
const CELL_GAP_PX = 2;
const NAME_HEIGHT_PX = 18;
const NARROW_BELOW_PX = 480;
/** Names take this share of the width at most; longer ones are cut. */
const NAME_SHARE_MAX = 0.34;
const NAME_GAP_PX = 10;

export function toHeatLayout({ labels, columns, widthPx }: HeatLayoutRequest): HeatLayout {
  const columnCount = columns.length;
  const isNarrow = widthPx < NARROW_BELOW_PX;
  const longest = (max(labels, toTextWidth) ?? 0) + NAME_GAP_PX;
  const labelWidthPx = isNarrow ? 0 : Math.ceil(Math.min(longest, widthPx * NAME_SHARE_MAX));
  const cellWidthPx = (widthPx - labelWidthPx) / Math.max(1, columnCount);
  const isCrowded = columns.some((name) => toTextWidth(name) + HEAD_GAP_PX > cellWidthPx);
  const headHeightPx = HEAD_LINE_PX * (isCrowded ? 2 : 1) + HEAD_GAP_PX;
  const nameHeightPx = isNarrow ? NAME_HEIGHT_PX : 0;
  const rowHeightPx = nameHeightPx + CELL_HEIGHT_PX;
  const toTop = (row: number) => headHeightPx + row * rowHeightPx;
  return {
    isNarrow,
    labelWidthPx,
    cellWidthPx,
    heightPx: toTop(labels.length),
    toBox: (cell) => {
      const column = cell % columnCount;
      const x = Math.round(labelWidthPx + column * cellWidthPx);
      const right = Math.round(labelWidthPx + (column + 1) * cellWidthPx);
      return {
        x,
        y: toTop(Math.floor(cell / columnCount)) + nameHeightPx,
        width: right - x - CELL_GAP_PX,
        height: CELL_HEIGHT_PX - CELL_GAP_PX,
      };
    },
    toHead: (column) => ({
      x: Math.min(
        widthPx - toTextWidth(columns[column] ?? "") / 2,
        labelWidthPx + (column + 0.5) * cellWidthPx,
      ),
      y: HEAD_LINE_PX * (isCrowded && column % 2 === 1 ? 2 : 1),
    }),
    toLabelY: (row) => toTop(row) + (isNarrow ? NAME_HEIGHT_PX - 5 : CELL_HEIGHT_PX / 2 + 3),
    toCell: (x, y) => {
      const row = Math.floor((y - headHeightPx) / rowHeightPx);
      const column = Math.floor((x - labelWidthPx) / cellWidthPx);
      const isInside = row >= 0 && row < labels.length && column >= 0 && column < columnCount;
      return isInside && y >= toTop(row) + nameHeightPx ? row * columnCount + column : null;
    },
  };
}
