import { range } from "d3-array";
import type { ReactNode } from "react";
import { useId } from "react";
import { toShade, type ClassScale } from "./class-scale.ts";
import { Swatch, UNPRICED_PAINT } from "./paint.tsx";

/** From the lightest shade to the darkest. */
export interface Shades {
  readonly colour: string;
  readonly from: number;
  readonly to: number;
}

export interface ClassLegendProps {
  readonly scale: ClassScale;
  readonly shades: Shades;
  readonly format: (value: number) => string;
  readonly hasUnpriced?: boolean;
  readonly note?: string;
}

const BOX_PX = 12;

/** What the shades of a grid mean, from just above 0 to the largest value. */
export function ClassLegend({
  scale,
  shades,
  format,
  hasUnpriced = false,
  note,
}: ClassLegendProps): ReactNode {
  const id = useId();
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1 text-xs text-ink-soft tabular-nums">
      {scale.max === 0 ? null : (
        <span className="flex items-center gap-1.5">
          {format(0)}
          <svg width={scale.count * BOX_PX} height={BOX_PX} aria-hidden="true">
            {range(scale.count).map((place) => (
              <rect
                key={place}
                x={place * BOX_PX}
                width={BOX_PX - 1}
                height={BOX_PX}
                fill={shades.colour}
                fillOpacity={toShade(place, scale.count, shades)}
              />
            ))}
          </svg>
          {format(scale.max)}
        </span>
      )}
      {hasUnpriced ? (
        <span className="flex items-center gap-1.5">
          <Swatch id={id} paint={UNPRICED_PAINT} /> unpriced
        </span>
      ) : null}
      {note}
    </p>
  );
}
