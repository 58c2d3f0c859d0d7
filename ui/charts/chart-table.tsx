import { range } from "d3-array";
import type { ReactNode } from "react";
import { useState } from "react";

export interface ChartTableProps {
  readonly label: string;
  readonly heightPx: number;
  /** The first column names the row, the others are numbers. */
  readonly head: readonly string[];
  readonly rowCount: number;
  readonly toRow: (index: number) => readonly string[];
}

/** A thousand buckets of nine cells at once would hold the page up. */
const ROWS_SHOWN = 100;

/** The figures of a chart as a table of its height, which scrolls inside; a hundred rows first, the others when asked for. */
export function ChartTable({ label, heightPx, head, rowCount, toRow }: ChartTableProps): ReactNode {
  const [shown, setShown] = useState(ROWS_SHOWN);
  const hidden = rowCount - shown;
  return (
    <div
      role="region"
      aria-label={`${label}, as a table`}
      // A region that scrolls must be reachable without a mouse.
      tabIndex={0}
      className="overflow-auto rounded border border-line text-xs focus-visible:outline-2 focus-visible:outline-focus"
      style={{ height: heightPx }}
    >
      <table className="w-full border-collapse tabular-nums">
        <caption className="sr-only">{label}</caption>
        <thead className="sticky top-0 bg-surface">
          <tr>
            {head.map((name, column) => (
              <th key={column} scope="col" className={`${toCellClass(column)} font-medium text-ink-soft`}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {range(Math.min(shown, rowCount)).map((row) => (
            <Row key={row} cells={toRow(row)} />
          ))}
        </tbody>
      </table>
      {hidden <= 0 ? null : (
        <button
          type="button"
          className="m-2 cursor-pointer rounded border border-line px-2 py-1 text-ink-soft hover:text-ink focus-visible:outline-2 focus-visible:outline-focus"
          onClick={() => setShown(shown + ROWS_SHOWN)}
        >
          Show {Math.min(ROWS_SHOWN, hidden)} more of {hidden}
        </button>
      )}
    </div>
  );
}

function Row({ cells }: { readonly cells: readonly string[] }): ReactNode {
  return (
    <tr className="border-t border-line">
      {cells.map((cell, column) =>
        column === 0 ? (
          <th key={column} scope="row" className={`${toCellClass(column)} font-normal`}>
            {cell}
          </th>
        ) : (
          <td key={column} className={toCellClass(column)}>
            {cell}
          </td>
        ),
      )}
    </tr>
  );
}

function toCellClass(column: number): string {
  return `px-2 py-1 whitespace-nowrap ${column === 0 ? "text-left" : "text-right"}`;
}
