import { scaleLinear } from "d3-scale";

/** The upright axis of a chart: from 0 at the bottom to `domainMax` at the top. */
export interface ValueAxis {
  readonly domainMax: number;
  readonly ticks: readonly ValueTick[];
  /** Pixels from the top of the plot. */
  readonly toY: (value: number) => number;
}

export interface ValueTick {
  readonly value: number;
  readonly y: number;
  readonly label: string;
}

export interface ValueAxisRequest {
  /** The highest stack. */
  readonly max: number;
  readonly heightPx: number;
  readonly format: (value: number) => string;
  /** Counts have no ticks between whole numbers. */
  readonly isWhole: boolean;
}

const TICK_DISTANCE_PX = 44;

/**
 * A nice axis with as many ticks as fit, each with a label of its own: where the format rounds two to the same text there
 * are fewer ticks. With nothing to show there is one tick, 0.
 */
export function toValueAxis({ max, heightPx, format, isWhole }: ValueAxisRequest): ValueAxis {
  const isEmpty = !(max > 0);
  let count = Math.max(1, Math.floor(heightPx / TICK_DISTANCE_PX));
  for (;;) {
    const scale = scaleLinear([0, isEmpty ? 1 : max], [heightPx, 0]).nice(count);
    const values = scale
      .ticks(count)
      .filter((value) => (isEmpty ? value === 0 : !isWhole || Number.isInteger(value)));
    const ticks = values.map((value) => ({ value, y: scale(value), label: format(value) }));
    const isDistinct = new Set(ticks.map(({ label }) => label)).size === ticks.length;
    if (isDistinct || count === 1) {
      return { domainMax: scale.domain()[1] ?? 1, ticks: isDistinct ? ticks : ticks.slice(0, 1), toY: scale };
    }
    count -= 1;
  }
}
