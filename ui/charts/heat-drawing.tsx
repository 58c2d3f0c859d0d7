import { group, range } from "d3-array";
import type { ReactNode } from "react";
import { memo } from "react";
import { toCellsPath } from "./cells.ts";
import type { Shades } from "./class-legend.tsx";
import { toShade, type ClassScale } from "./class-scale.ts";
import type { HeatLayout } from "./heat-layout.ts";
import { toFittedText, toTextWidth } from "./text-width.ts";

export interface HeatDrawingProps {
  readonly rows: readonly { readonly id: string; readonly label: string }[];
  readonly columns: readonly string[];
  /** Row by row. */
  readonly cells: readonly number[];
  readonly scale: ClassScale;
  readonly shades: Shades;
  readonly layout: HeatLayout;
  readonly widthPx: number;
  readonly format: (value: number) => string;
}

/** More numbers than this are slow to draw and not read anyway. */
const NUMBERS_MAX = 600;
/** How faint a cell without anything is. */
const NOTHING_OPACITY = 0.35;

/** Names and cells, one path for each shade; drawn once, wherever the pointer goes. */
export const HeatDrawing = memo(function HeatDrawing(props: HeatDrawingProps): ReactNode {
  return (
    <>
      <Names {...props} />
      <Cells {...props} />
      {props.cells.length > NUMBERS_MAX ? null : <Numbers {...props} />}
    </>
  );
});

function Names({ rows, columns, layout, widthPx }: HeatDrawingProps): ReactNode {
  const nameWidthPx = layout.isNarrow ? widthPx : layout.labelWidthPx - 8;
  return (
    <g fontSize={11} fill="var(--color-ink-soft)">
      {columns.map((name, column) => (
        <text key={column} {...layout.toHead(column)} textAnchor="middle">
          {name}
        </text>
      ))}
      {rows.map(({ id, label }, row) => (
        <text key={id} x={0} y={layout.toLabelY(row)} fill="var(--color-ink)">
          {toFittedText(label, nameWidthPx)}
        </text>
      ))}
    </g>
  );
}

function Cells({ cells, scale, shades, layout }: HeatDrawingProps): ReactNode {
  const byClass = group(range(cells.length), (cell) => scale.toClass(cells[cell] ?? null));
  return [...byClass].map(([place, members]) => (
    <path
      key={place}
      d={toCellsPath(members.map(layout.toBox))}
      fill={place === null ? "var(--color-line)" : shades.colour}
      fillOpacity={place === null ? NOTHING_OPACITY : toShade(place, scale.count, shades)}
    />
  ));
}

function Numbers({ cells, layout, format }: HeatDrawingProps): ReactNode {
  return (
    <g fontSize={11} textAnchor="middle" fill="var(--color-ink)">
      {cells.map((value, cell) => {
        const text = format(value);
        const { x, y, width, height } = layout.toBox(cell);
        if (!(value > 0) || toTextWidth(text) > width - 4) return null;
        return (
          <text key={cell} x={x + width / 2} y={y + height / 2} dy="0.35em">
            {text}
          </text>
        );
      })}
    </g>
  );
}
