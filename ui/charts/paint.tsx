import type { ReactNode } from "react";
import type { Series } from "./series.ts";

/** The filling of a layer: a color of the theme, and a texture where the color alone must not carry the meaning. */
export interface Paint {
  readonly color: string;
  readonly texture: Texture | null;
}

/** Lines that rise, crossed lines, lines that lie. */
export type Texture = "hatch" | "mesh" | "rules";

/** Spelled out, since the theme keeps only the variables that it finds in the source. */
const SERIES_COLORS = [
  "var(--color-series-1)",
  "var(--color-series-2)",
  "var(--color-series-3)",
  "var(--color-series-4)",
  "var(--color-series-5)",
  "var(--color-series-6)",
  "var(--color-series-7)",
  "var(--color-series-8)",
] as const;
const OTHER_PAINT: Paint = { color: "var(--color-series-other)", texture: null };
const OUTCOME_PAINTS: { readonly [outcome: string]: Paint | undefined } = {
  ok: { color: "var(--color-ok)", texture: null },
  upstream_error: { color: "var(--color-upstream-error)", texture: "hatch" },
  unreachable: { color: "var(--color-unreachable)", texture: "mesh" },
  cancelled: { color: "var(--color-cancelled)", texture: "rules" },
};

/** Opacity of a color while another series stands out. */
export const FADED_OPACITY = 0.22;

/** The texture that says "unpriced" wherever a chart does. */
export const UNPRICED_PAINT: Paint = { color: "var(--color-ink-faint)", texture: "hatch" };

/** Textures of the first, second, third and fourth name of one color in a chart. */
const NAME_TEXTURES: readonly Paint["texture"][] = [null, "hatch", "mesh", "rules"];

/** One paint for each series, in their order. Names that were met with the same color keep it, and differ by texture. */
export function toPaints(series: readonly Series[]): readonly Paint[] {
  const met = new Map<string, number>();
  return series.map(({ id, kind, slot }, index) => {
    if (kind === "other") return OTHER_PAINT;
    if (kind === "outcome") return OUTCOME_PAINTS[id] ?? OTHER_PAINT;
    const color = SERIES_COLORS[(slot ?? index) % SERIES_COLORS.length] ?? OTHER_PAINT.color;
    const nth = met.get(color) ?? 0;
    met.set(color, nth + 1);
    return { color, texture: NAME_TEXTURES[nth % NAME_TEXTURES.length] ?? null };
  });
}

/** The value of `fill` for a paint whose textures stand in the same document under `id`. */
export function toFill(id: string, paint: Paint, index: number): string {
  return paint.texture === null ? paint.color : `url(#${toPatternId(id, index)})`;
}

/** The patterns that `toFill` refers to; `id` is unique in the page. */
export function Textures({
  id,
  paints,
}: {
  readonly id: string;
  readonly paints: readonly Paint[];
}): ReactNode {
  return (
    <defs>
      {paints.map(({ color, texture }, index) =>
        texture === null ? null : (
          <pattern
            key={toPatternId(id, index)}
            id={toPatternId(id, index)}
            width={6}
            height={6}
            patternUnits="userSpaceOnUse"
          >
            <rect width={6} height={6} fill={color} />
            <path
              d={STROKES[texture]}
              stroke="var(--color-surface)"
              strokeWidth={1.5}
              strokeOpacity={0.75}
              fill="none"
            />
          </pattern>
        ),
      )}
    </defs>
  );
}

/** The small square of a legend or a tooltip. */
export function Swatch({
  id,
  paint,
  isFaded = false,
}: {
  readonly id: string;
  readonly paint: Paint;
  readonly isFaded?: boolean;
}): ReactNode {
  return (
    <svg width={12} height={12} aria-hidden="true" className="shrink-0" opacity={isFaded ? FADED_OPACITY : 1}>
      <Textures id={id} paints={[paint]} />
      <rect width={12} height={12} rx={2} fill={toFill(id, paint, 0)} />
    </svg>
  );
}

/** Drawn beyond the tile's edges, so that the lines meet those of the next one. */
const STROKES: { readonly [texture in Texture]: string } = {
  hatch: "M-1.5,1.5L1.5,-1.5M0,6L6,0M4.5,7.5L7.5,4.5",
  mesh: "M-1.5,1.5L1.5,-1.5M0,6L6,0M4.5,7.5L7.5,4.5M0,0L6,6M-1.5,4.5L1.5,7.5M4.5,-1.5L7.5,1.5",
  rules: "M0,1.5H6M0,4.5H6",
};

function toPatternId(id: string, index: number): string {
  return `${id}-${index}`;
}
