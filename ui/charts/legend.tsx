import type { ReactNode } from "react";
import { useId } from "react";
import type { Paint } from "./paint.tsx";
import { Swatch, UNPRICED_PAINT } from "./paint.tsx";
import type { Series } from "./series.ts";

export interface LegendProps {
  readonly series: readonly Series[];
  readonly paints: readonly Paint[];
  /** The index of the series that stands out. */
  readonly highlighted: number | null;
  readonly onHighlight: (index: number | null) => void;
  /** Choosing a series; "other" stands for no one thing and cannot be chosen. */
  readonly onSeries: ((id: string) => void) | undefined;
  /** Whether the strip under some bars marks unpriced requests. */
  readonly hasUnpriced: boolean;
}

/** What the colours mean. Pointing at an entry, or coming to it by keyboard, makes its series stand out. */
export function Legend({
  series,
  paints,
  highlighted,
  onHighlight,
  onSeries,
  hasUnpriced,
}: LegendProps): ReactNode {
  const id = useId();
  return (
    <ul className="-ml-1.5 text-xs" onPointerLeave={() => onHighlight(null)}>
      {series.map((one, index) => {
        const paint = paints[index];
        const isChoice = onSeries !== undefined && one.kind !== "other";
        return (
          <li key={one.id} className="mr-1 inline-block max-w-full align-top">
            <button
              type="button"
              title={isChoice ? `Only ${one.label}` : one.label}
              onPointerEnter={() => onHighlight(index)}
              onFocus={() => onHighlight(index)}
              onBlur={() => onHighlight(null)}
              onClick={() => (isChoice ? onSeries(one.id) : onHighlight(index))}
              className={`flex max-w-36 items-center gap-1.5 rounded px-1.5 py-1 text-ink-soft hover:bg-hover hover:text-ink focus-visible:outline-2 focus-visible:outline-focus sm:max-w-56 ${isChoice ? "cursor-pointer" : "cursor-default"}`}
            >
              {paint === undefined ? null : (
                <Swatch
                  id={`${id}-${index}`}
                  paint={paint}
                  isFaded={highlighted !== null && highlighted !== index}
                />
              )}
              <span className="truncate">{one.label}</span>
            </button>
          </li>
        );
      })}
      {hasUnpriced ? (
        <li className="inline-flex items-center gap-1.5 px-1.5 py-1 align-top text-ink-soft">
          <Swatch id={`${id}-unpriced`} paint={UNPRICED_PAINT} /> some requests unpriced
        </li>
      ) : null}
    </ul>
  );
}
