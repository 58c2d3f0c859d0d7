import type { ReactNode } from "react";
import { useId } from "react";
import type { BarReading } from "./bar-reading.ts";
import { toUnpricedText } from "./bar-reading.ts";
import type { Paint } from "./paint.tsx";
import { Swatch } from "./paint.tsx";
import type { Series } from "./series.ts";
import type { TooltipPlace } from "./tooltip.tsx";
import { Tooltip } from "./tooltip.tsx";

export interface BarTooltipProps {
  readonly place: TooltipPlace;
  readonly reading: BarReading;
  readonly series: readonly Series[];
  readonly paints: readonly Paint[];
}

/** Every series and the total at the crosshair, in the order in which they lie on each other. */
export function BarTooltip({ place, reading, series, paints }: BarTooltipProps): ReactNode {
  const id = useId();
  return (
    <Tooltip place={place} title={reading.title}>
      <dl className="tabular-nums">
        {series
          .map(({ id: key, label }, index) => {
            const paint = paints[index];
            return (
              <div key={key} className="flex items-center gap-1.5 leading-5">
                {paint === undefined ? null : <Swatch id={`${id}-${index}`} paint={paint} />}
                <dt className="min-w-0 flex-1 truncate text-ink-soft">{label}</dt>
                <dd>{reading.entries[index]?.value}</dd>
              </div>
            );
          })
          .reverse()}
        {series.length < 2 ? null : (
          <div className="mt-1 flex gap-1.5 border-t border-line pt-1 font-medium">
            <dt className="flex-1">Total</dt>
            <dd>{reading.total}</dd>
          </div>
        )}
      </dl>
      {reading.unpricedRequests === 0 ? null : (
        <p className="mt-1 text-ink-soft">{toUnpricedText(reading.unpricedRequests)}</p>
      )}
    </Tooltip>
  );
}
