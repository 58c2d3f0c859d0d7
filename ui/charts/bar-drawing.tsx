import type { ReactNode } from "react";
import { memo } from "react";
import { TimeTicks, ValueTicks } from "./axis.tsx";
import type { BarPicture } from "./bar-picture.ts";
import type { Paint } from "./paint.tsx";
import { FADED_OPACITY, Textures, toFill, UNPRICED_PAINT } from "./paint.tsx";

export interface BarDrawingProps {
  readonly id: string;
  readonly picture: BarPicture;
  readonly paints: readonly Paint[];
  readonly highlighted: number | null;
}

/**
 * Axes and one path for each series. It does not depend on where the pointer is, so moving over the chart draws none of
 * it again.
 */
export const BarDrawing = memo(function BarDrawing(props: BarDrawingProps): ReactNode {
  const { id, picture, paints, highlighted } = props;
  const { plotWidthPx, plotHeightPx, valueAxis, timeTicks, paths, unpricedPath } = picture;
  return (
    <>
      <Textures id={id} paints={[...paints, UNPRICED_PAINT]} />
      <ValueTicks ticks={valueAxis.ticks} widthPx={plotWidthPx} />
      {paths.map((path, index) => {
        const paint = paints[index];
        if (paint === undefined || path === "") return null;
        const isFaded = highlighted !== null && highlighted !== index;
        return (
          <path
            key={toFill(id, paint, index)}
            d={path}
            fill={toFill(id, paint, index)}
            opacity={isFaded ? FADED_OPACITY : 1}
          />
        );
      })}
      <path
        d={unpricedPath}
        transform={`translate(0,${plotHeightPx + 1})`}
        fill={toFill(id, UNPRICED_PAINT, paints.length)}
      />
      <TimeTicks ticks={timeTicks} heightPx={plotHeightPx} />
    </>
  );
});
