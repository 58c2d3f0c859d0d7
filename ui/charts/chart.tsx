import { range } from "d3-array";
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { type BrushEvent, type BrushRange, IDLE, pointedAt, stepBrush, withinCount } from "./brush.ts";

/** A rectangle in pixels, from the top left corner of the chart. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A chart's marks at some width, and where each of its places lies: a bar, a cell. */
export interface Plot {
  /** Keep it in a memo: a move of the pointer then draws none of it again. */
  readonly marks: ReactNode;
  readonly count: number;
  /** The place at a point of the chart; null between places. */
  readonly toIndex: (x: number, y: number) => number | null;
  /** The box of the places from one to another, both inclusive. */
  readonly toBox: (from: number, to: number) => Box;
  /** True where the crosshair is a band behind the marks, over their height; else it is a frame around a place. */
  readonly isBand: boolean;
}

/** The words of a chart about the places that are pointed at. */
export interface Reading {
  readonly title: string;
  readonly body: ReactNode;
  /** A sentence that a screen reader speaks in place of the picture. */
  readonly spoken: string;
}

/** The figures as a table: the first column names the row, the others are numbers. */
export interface ChartFigures {
  readonly head: readonly string[];
  readonly rowCount: number;
  readonly toRow: (index: number) => readonly string[];
}

export interface ChartProps {
  /** The chart's content in words. */
  readonly label: string;
  readonly legend: ReactNode;
  readonly frame: RefObject<HTMLDivElement | null>;
  readonly widthPx: number;
  /** Height of the plot with its axes; the legend stands above it. */
  readonly heightPx: number;
  /** Null until the width is known. */
  readonly plot: Plot | null;
  readonly figures: ChartFigures;
  /** A sentence over a plot without anything to see; null when there is something. */
  readonly empty: ReactNode;
  /** Instructions for use without a mouse. */
  readonly help: string;
  /** Where a key leads, from nowhere as well; null for a key that leads nowhere. */
  readonly move: (cursor: number | null, key: string) => number | null;
  /** Null when there is no such place. */
  readonly read: (range: BrushRange) => Reading | null;
  /** One place was chosen, or several of a row where `canSelect`. */
  readonly onChoose: (range: BrushRange) => void;
  readonly canSelect?: boolean;
}

/**
 * The one surface of every chart: a legend, a switch between picture and table, and a plot whose height is kept before it
 * is drawn, with crosshair, tooltip, brush, keyboard and what a screen reader says.
 */
export function Chart(props: ChartProps): ReactNode {
  const { label, legend, frame, heightPx, plot, figures } = props;
  const [isTable, setTable] = useState(false);
  return (
    <figure aria-label={label} className="min-w-0">
      <div className="mb-2 flow-root min-h-6">
        <button
          type="button"
          aria-pressed={isTable}
          className="float-right -mr-1.5 ml-2 cursor-pointer rounded px-1.5 py-1 text-xs text-ink-soft hover:bg-hover hover:text-ink focus-visible:outline-2 focus-visible:outline-focus aria-pressed:bg-hover aria-pressed:text-ink"
          onClick={() => setTable(!isTable)}
        >
          Table
        </button>
        {legend}
      </div>
      <div ref={frame} className="relative min-w-0" style={{ height: heightPx }}>
        {plot === null ? null : isTable ? (
          <FigureTable {...figures} label={label} heightPx={heightPx} />
        ) : (
          <Surface {...props} plot={plot} />
        )}
      </div>
    </figure>
  );
}

/**
 * For the frame of a chart, and its width in whole pixels as it changes. 0 until it is measured, which happens before the
 * first paint: a chart that keeps its height meanwhile shifts nothing.
 */
export function useFrame(): readonly [frame: RefObject<HTMLDivElement | null>, widthPx: number] {
  const frame = useRef<HTMLDivElement>(null);
  const [widthPx, setWidthPx] = useState(0);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const measure = () => setWidthPx(Math.floor(element.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [frame, widthPx];
}

type SurfaceProps = ChartProps & { readonly plot: Plot };

/** Takes the pointer and the keyboard, whatever the number of places, and holds where they are: nothing above is drawn again. */
function Surface(props: SurfaceProps): ReactNode {
  const { label, help, widthPx, heightPx, plot, read, move, onChoose, canSelect = false, empty } = props;
  const helpId = useId();
  const [state, setBrush] = useState(IDLE);
  const brush = withinCount(state, plot.count);
  const chosen = pointedAt(brush);
  const reading = chosen === null ? null : read(chosen);
  const box = chosen === null ? null : plot.toBox(chosen.from, chosen.to);
  const take = (event: BrushEvent): boolean => {
    const step = stepBrush(brush, event, { canSelect, move });
    setBrush(step.brush);
    if (step.choice !== null) onChoose(step.choice);
    return step.isConsumed;
  };
  const toPlace = ({ clientX, clientY, currentTarget }: PointerEvent<HTMLElement>) => {
    const { left, top } = currentTarget.getBoundingClientRect();
    return plot.toIndex(clientX - left, clientY - top);
  };
  const press = (event: PointerEvent<HTMLElement>) => {
    if (event.button !== 0) return;
    // A brush may end outside of the chart.
    event.currentTarget.setPointerCapture(event.pointerId);
    take({ kind: "press", index: toPlace(event) });
  };
  const type = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!take({ kind: "key", key: event.key, isShift: event.shiftKey })) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <div
        role="application"
        aria-label={label}
        aria-roledescription="chart"
        aria-describedby={helpId}
        tabIndex={0}
        className={`relative touch-pan-y rounded select-none focus-visible:outline-2 focus-visible:outline-offset-2 focus-visible:outline-focus ${box === null ? "" : "cursor-pointer"}`}
        style={{ height: heightPx }}
        onPointerMove={(event) => take({ kind: "hover", index: toPlace(event) })}
        onPointerDown={press}
        onPointerUp={(event) =>
          take({ kind: "release", index: toPlace(event), isTouch: event.pointerType === "touch" })
        }
        onPointerCancel={() => take({ kind: "cancel" })}
        // A finger leaves as soon as it is lifted: what it asked about stays to be read.
        onPointerLeave={(event) => event.pointerType !== "touch" && take({ kind: "leave" })}
        onBlur={() => take({ kind: "cancel" })}
        onKeyDown={type}
      >
        <svg width={widthPx} height={heightPx} aria-hidden="true" className="block tabular-nums">
          {box !== null && plot.isBand && (
            <rect
              {...box}
              fill="var(--color-ink)"
              fillOpacity={chosen?.from === chosen?.to ? BAND_OPACITY : SELECTION_OPACITY}
            />
          )}
          {plot.marks}
          {box !== null && !plot.isBand && (
            <rect {...box} fill="none" stroke="var(--color-ink)" strokeWidth={2} rx={2} />
          )}
        </svg>
        <span id={helpId} hidden>
          {help}
        </span>
        <span className="sr-only" aria-live="polite">
          {brush.by === "keyboard" ? reading?.spoken : ""}
        </span>
      </div>
      {empty !== null && (
        <div className="pointer-events-none absolute inset-0 grid place-items-center p-4 text-center text-sm text-ink-soft">
          <div className="pointer-events-auto">{empty}</div>
        </div>
      )}
      {reading !== null && box !== null && (
        <Tooltip
          reading={reading}
          place={toTooltipPlace({
            x: box.x + box.width / 2,
            chartWidthPx: widthPx,
            besideTop: plot.isBand ? 0 : box.y,
            belowTop: plot.isBand ? heightPx : box.y + box.height + 4,
          })}
        />
      )}
    </>
  );
}

const BAND_OPACITY = 0.08;
const SELECTION_OPACITY = 0.14;

/** Wide enough for a name and an amount, narrow enough for a telephone. */
export const TOOLTIP_WIDTH_PX = 240;
const POINTER_GAP_PX = 14;

/** The top left corner of a tooltip. */
interface TooltipPlace {
  readonly left: number;
  readonly top: number;
}

interface TooltipPoint {
  /** The middle of what is told about. */
  readonly x: number;
  readonly chartWidthPx: number;
  /** Where the tooltip begins when it stands beside the point, and when there is only room beneath. */
  readonly besideTop: number;
  readonly belowTop: number;
}

/** Beside the point while there is room, else beneath, over what follows; never beyond the chart's sides. */
export function toTooltipPlace({ x, chartWidthPx, besideTop, belowTop }: TooltipPoint): TooltipPlace {
  const right = x + POINTER_GAP_PX;
  if (right + TOOLTIP_WIDTH_PX <= chartWidthPx) return { left: right, top: besideTop };
  const left = x - POINTER_GAP_PX - TOOLTIP_WIDTH_PX;
  if (left >= 0) return { left, top: besideTop };
  const centered = x - TOOLTIP_WIDTH_PX / 2;
  return { left: Math.max(0, Math.min(chartWidthPx - TOOLTIP_WIDTH_PX, centered)), top: belowTop };
}

/** A box over the chart that never takes the pointer; a screen reader has its words from the surface. */
function Tooltip({ place, reading }: { readonly place: TooltipPlace; readonly reading: Reading }) {
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none absolute top-0 left-0 z-20 rounded-md border border-line-strong bg-raised px-3 py-2 text-xs text-ink shadow-raised"
      style={{
        width: TOOLTIP_WIDTH_PX,
        transform: `translate(${Math.round(place.left)}px, ${Math.round(place.top)}px)`,
      }}
    >
      <p className="mb-1 font-medium wrap-break-word text-ink">{reading.title}</p>
      {reading.body}
    </div>
  );
}

/** A thousand buckets of nine cells at once would hold the page up. */
const ROWS_SHOWN = 100;

interface FigureTableProps extends ChartFigures {
  readonly label: string;
  readonly heightPx: number;
}

/** As high as the plot, and scrolls inside; a hundred rows first, the others when asked for. */
function FigureTable({ label, heightPx, head, rowCount, toRow }: FigureTableProps) {
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
      <table className="w-full border-collapse text-right whitespace-nowrap tabular-nums">
        <caption className="sr-only">{label}</caption>
        <thead className="sticky top-0 bg-surface">
          <tr>
            {head.map((name, column) => (
              <th key={column} scope="col" className={`${CELL_CLASS} font-medium text-ink-soft`}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {range(Math.min(shown, rowCount)).map((row) => (
            <tr key={row} className="border-t border-line">
              {toRow(row).map((text, column) => {
                const Cell = column === 0 ? "th" : "td";
                return (
                  <Cell
                    key={column}
                    scope={column === 0 ? "row" : undefined}
                    className={`${CELL_CLASS} font-normal`}
                  >
                    {text}
                  </Cell>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {hidden > 0 && (
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

const CELL_CLASS = "px-2 py-1 first:text-left";
