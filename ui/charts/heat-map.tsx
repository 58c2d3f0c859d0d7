import type { ReactNode } from "react";
import { useMemo } from "react";
import { CellSurface } from "./cell-surface.tsx";
import { moveInRows } from "./cells.ts";
import { ChartFrame } from "./chart-frame.tsx";
import { ChartTable } from "./chart-table.tsx";
import { ClassLegend, type Shades } from "./class-legend.tsx";
import { toClassScale, type ClassScale } from "./class-scale.ts";
import { HeatDrawing } from "./heat-drawing.tsx";
import { toHeatLayout } from "./heat-layout.ts";
import { Tooltip, toTooltipPlace } from "./tooltip.tsx";

export interface HeatMapProps {
  readonly rows: readonly { readonly id: string; readonly label: string }[];
  readonly columns: readonly string[];
  /** What a row is, for the head of the table. */
  readonly rowsLabel?: string | undefined;
  /** One list for each row, with a number for each column. */
  readonly values: readonly (readonly number[])[];
  /** What the chart shows, in words. */
  readonly label: string;
  readonly format: (value: number) => string;
  readonly onCell?: ((rowId: string, column: number) => void) | undefined;
  /** Bad for failures, accent for anything else. */
  readonly tone?: "accent" | "bad" | undefined;
  readonly empty?: ReactNode;
}

/** Never so dark that the numbers in the cells, in ink, cannot be read. */
export const HEAT_SHADES: { readonly [tone in "accent" | "bad"]: Shades } = {
  accent: { colour: "var(--color-accent)", from: 0.08, to: 0.5 },
  bad: { colour: "var(--color-upstream-error)", from: 0.08, to: 0.6 },
};
const EMPTY_HEIGHT_PX = 96;

/** Rows by columns in shades, with the number in each cell where it fits; read by arrow keys, and as a table. */
export function HeatMap(props: HeatMapProps): ReactNode {
  const { rows, columns, values, label, format, tone = "accent", rowsLabel = "Name" } = props;
  const cells = useMemo(
    () => rows.flatMap((_, row) => columns.map((_name, column) => values[row]?.[column] ?? 0)),
    [rows, columns, values],
  );
  const scale = useMemo(() => toClassScale(cells), [cells]);
  const labels = useMemo(() => rows.map((row) => row.label), [rows]);
  return (
    <ChartFrame
      label={label}
      legend={<ClassLegend scale={scale} shades={HEAT_SHADES[tone]} format={format} />}
      toHeight={(widthPx) =>
        cells.length === 0 ? EMPTY_HEIGHT_PX : toHeatLayout({ labels, columns, widthPx }).heightPx
      }
      plot={(widthPx) =>
        cells.length === 0 ? (
          <div className="grid h-full place-items-center text-sm text-ink-soft">
            {props.empty ?? "No data in this window"}
          </div>
        ) : (
          <Plot {...{ props, cells, scale, widthPx }} labels={labels} shades={HEAT_SHADES[tone]} />
        )
      }
      table={(heightPx) => (
        <ChartTable
          {...{ label, heightPx }}
          head={[rowsLabel, ...columns]}
          rowCount={rows.length}
          toRow={(row) => [
            labels[row] ?? "",
            ...columns.map((_, column) => format(values[row]?.[column] ?? 0)),
          ]}
        />
      )}
    />
  );
}

interface PlotProps {
  readonly props: HeatMapProps;
  readonly cells: readonly number[];
  readonly scale: ClassScale;
  readonly shades: Shades;
  readonly labels: readonly string[];
  readonly widthPx: number;
}

function Plot({ props, cells, scale, shades, labels, widthPx }: PlotProps): ReactNode {
  const { rows, columns, label, format, onCell } = props;
  const layout = useMemo(() => toHeatLayout({ labels, columns, widthPx }), [labels, columns, widthPx]);
  const toName = (cell: number) => ({
    row: rows[Math.floor(cell / columns.length)],
    column: columns[cell % columns.length] ?? "",
    value: format(cells[cell] ?? 0),
  });
  const choose = (cell: number) => {
    const { row } = toName(cell);
    if (row !== undefined) onCell?.(row.id, cell % columns.length);
  };
  return (
    <CellSurface
      label={label}
      help={`Arrow keys move between cells.${onCell === undefined ? "" : " Enter chooses it."}`}
      heightPx={layout.heightPx}
      cellCount={cells.length}
      toCell={layout.toCell}
      move={(cursor, key) => moveInRows(cursor, key, { columns: columns.length, count: cells.length })}
      toSpoken={(cell) => {
        const { row, column, value } = toName(cell);
        return `${row?.label ?? ""}, ${column}: ${value}`;
      }}
      onCell={onCell === undefined ? undefined : choose}
    >
      {(cursor) => {
        const box = cursor === null ? null : layout.toBox(cursor.cell);
        const name = cursor === null ? null : toName(cursor.cell);
        return (
          <>
            <svg width={widthPx} height={layout.heightPx} aria-hidden="true" className="block tabular-nums">
              <HeatDrawing {...{ rows, columns, cells, scale, shades, layout, widthPx, format }} />
              {box === null ? null : (
                <rect {...box} fill="none" stroke="var(--color-ink)" strokeWidth={2} rx={2} />
              )}
            </svg>
            {box === null || name === null ? null : (
              <Tooltip
                title={name.row?.label ?? ""}
                place={toTooltipPlace({
                  x: box.x + box.width / 2,
                  chartWidthPx: widthPx,
                  besideTop: box.y,
                  belowTop: box.y + box.height + 4,
                })}
              >
                <p className="flex justify-between gap-2 text-ink-soft tabular-nums">
                  {name.column} <span className="font-medium text-ink">{name.value}</span>
                </p>
              </Tooltip>
            )}
          </>
        );
      }}
    </CellSurface>
  );
}
