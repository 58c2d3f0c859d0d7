import { max } from "d3-array";
import { type ReactNode, useMemo } from "react";
import { type Box, Chart, useFrame } from "./chart.tsx";
import { Cells, ClassLegend, type ClassScale, type Shades, toClassScale, toShadeFill } from "./grid.tsx";
import { toFittedText, toTextWidth } from "./text-width.ts";

export interface HeatMapProps {
  readonly rows: readonly HeatRow[];
  readonly columns: readonly string[];
  /** The kind of a row, for the head of the table. */
  readonly rowsLabel: string;
  /** The chart's content in words. */
  readonly label: string;
  readonly format: (value: number) => string;
  readonly onCell: (rowId: string, column: number) => void;
  /** Bad for failures, accent for anything else. */
  readonly tone: "accent" | "bad";
  readonly empty?: ReactNode;
}

export interface HeatRow {
  readonly id: string;
  readonly label: string;
  /** A number for each column. */
  readonly values: readonly number[];
}

/** Never so dark that the numbers in the cells, in ink, cannot be read. */
export const HEAT_SHADES: { readonly [tone in "accent" | "bad"]: Shades } = {
  accent: { color: "var(--color-accent)", from: 0.08, to: 0.5 },
  bad: { color: "var(--color-upstream-error)", from: 0.08, to: 0.6 },
};
const EMPTY_HEIGHT_PX = 96;

/** Rows by columns in shades, with the number in each cell where it fits. */
export function HeatMap(props: HeatMapProps): ReactNode {
  const { rows, columns, label, format, tone, rowsLabel, onCell } = props;
  const shades = HEAT_SHADES[tone];
  const [frame, widthPx] = useFrame();
  const cells = useMemo(
    () => rows.flatMap(({ values }) => columns.map((_, column) => values[column] ?? 0)),
    [rows, columns],
  );
  const scale = useMemo(() => toClassScale(cells), [cells]);
  const layout = useMemo(
    () => toHeatLayout({ labels: rows.map((row) => row.label), columns, widthPx }),
    [rows, columns, widthPx],
  );
  const plot = useMemo(() => {
    const { toBox, toCell } = layout;
    const marks = cells.length > 0 && (
      <Marks {...{ rows, columns, cells, scale, shades, layout, widthPx, format }} />
    );
    return { marks, count: cells.length, isBand: false, toIndex: toCell, toBox };
  }, [rows, columns, cells, scale, shades, layout, widthPx, format]);
  const isEmpty = cells.length === 0;
  return (
    <Chart
      {...{ label, frame, widthPx }}
      plot={widthPx === 0 ? null : plot}
      heightPx={isEmpty ? EMPTY_HEIGHT_PX : layout.heightPx}
      legend={<ClassLegend {...{ scale, shades, format }} />}
      figures={{
        head: [rowsLabel, ...columns],
        rowCount: rows.length,
        toRow: (row) => [
          rows[row]?.label ?? "",
          ...columns.map((_, column) => format(rows[row]?.values[column] ?? 0)),
        ],
      }}
      empty={isEmpty ? (props.empty ?? "No data in this window") : null}
      help="Arrow keys move between cells. Enter chooses it."
      move={(cursor, key) => moveInRows(cursor, key, { columns: columns.length, count: cells.length })}
      onChoose={({ from }) => {
        const row = rows[Math.floor(from / columns.length)];
        if (row !== undefined) onCell(row.id, from % columns.length);
      }}
      read={({ from }) => {
        const title = rows[Math.floor(from / columns.length)]?.label ?? "";
        const column = columns[from % columns.length] ?? "";
        const value = format(cells[from] ?? 0);
        return {
          title,
          spoken: `${title}, ${column}: ${value}`,
          body: (
            <p className="flex justify-between gap-2 text-ink-soft tabular-nums">
              {column} <span className="font-medium text-ink">{value}</span>
            </p>
          ),
        };
      }}
    />
  );
}

interface MarksProps extends Pick<HeatMapProps, "rows" | "columns" | "format"> {
  /** Row by row. */
  readonly cells: readonly number[];
  readonly scale: ClassScale;
  readonly shades: Shades;
  readonly layout: HeatLayout;
  readonly widthPx: number;
}

/** More numbers than this are slow to draw and not read anyway. */
const NUMBERS_MAX = 600;
const NOTHING_FILL = { fill: "var(--color-line)", fillOpacity: 0.35 };

function Marks({ rows, columns, cells, scale, shades, layout, widthPx, format }: MarksProps): ReactNode {
  const nameWidthPx = layout.isNarrow ? widthPx : layout.labelWidthPx - 8;
  return (
    <g fontSize={11} fill="var(--color-ink)">
      {columns.map((name, column) => (
        <text key={column} {...layout.toHead(column)} textAnchor="middle" fill="var(--color-ink-soft)">
          {name}
        </text>
      ))}
      {rows.map(({ id, label }, row) => (
        <text key={id} x={0} y={layout.toLabelY(row)}>
          {toFittedText(label, nameWidthPx)}
        </text>
      ))}
      <Cells
        count={cells.length}
        toClass={(cell) => scale.toClass(cells[cell] ?? null)}
        toBox={layout.toBox}
        toFill={(place) => (place === null ? NOTHING_FILL : toShadeFill(place, scale, shades))}
      />
      {cells.length <= NUMBERS_MAX &&
        cells.map((value, cell) => {
          const text = format(value);
          const { x, y, width, height } = layout.toBox(cell);
          if (!(value > 0) || toTextWidth(text) > width - 4) return null;
          return (
            <text key={cell} x={x + width / 2} y={y + height / 2} dy="0.35em" textAnchor="middle">
              {text}
            </text>
          );
        })}
    </g>
  );
}

const MOVES = new Map([
  ["ArrowLeft", { down: 0, across: -1 }],
  ["ArrowRight", { down: 0, across: 1 }],
  ["ArrowUp", { down: -1, across: 0 }],
  ["ArrowDown", { down: 1, across: 0 }],
]);

/** The cell that a key leads to in rows of `columns` cells; the first from nowhere, null for a key that leads nowhere. */
export function moveInRows(
  cursor: number | null,
  key: string,
  { columns, count }: { readonly columns: number; readonly count: number },
): number | null {
  if (count === 0) return null;
  const rowStart = (cursor ?? 0) - ((cursor ?? 0) % columns);
  if (key === "Home") return rowStart;
  if (key === "End") return rowStart + columns - 1;
  const move = MOVES.get(key);
  if (move === undefined) return null;
  if (cursor === null) return 0;
  const column = Math.min(columns - 1, Math.max(0, (cursor % columns) + move.across));
  const row = Math.min(count / columns - 1, Math.max(0, Math.floor(cursor / columns) + move.down));
  return row * columns + column;
}

/** Where the cells of a heat map lie. In a narrow one each row's name stands above its cells, else to their left. */
interface HeatLayout {
  readonly isNarrow: boolean;
  readonly labelWidthPx: number;
  readonly cellWidthPx: number;
  readonly heightPx: number;
  /** The box of a cell, counted row by row. */
  readonly toBox: (cell: number) => Box;
  /** The middle of a column's name, moved inwards at the edge, and its baseline: every other one is lower where they would touch. */
  readonly toHead: (column: number) => { readonly x: number; readonly y: number };
  /** The baseline of a row's name. */
  readonly toLabelY: (row: number) => number;
  readonly toCell: (x: number, y: number) => number | null;
}

interface HeatLayoutRequest {
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
