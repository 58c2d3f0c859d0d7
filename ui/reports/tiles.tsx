import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { TOKEN_UNITS, UNIT_TABLE } from "#kernel/units.ts";
import { toFailedShare } from "#stats/breakdown.ts";
import { classNames } from "../components/class-names.ts";
import { Unpriced } from "../components/cost.tsx";
import { Absent } from "../components/empty.tsx";
import { Icon } from "../components/icon.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import {
  formatChange,
  formatCount,
  formatCountCompact,
  formatMoney,
  formatMoneyExact,
  formatPercent,
  formatPoints,
} from "../text/format.ts";
import type { Compared } from "./answer.tsx";
import { toChange, type Totals } from "./figures.ts";

interface TilesProps<Figures> extends TilesWindow {
  readonly compared: Compared<Figures>;
  readonly tiles: readonly TileSpec<Figures>[];
}

interface TilesWindow {
  /** The window before in words, which the figures are compared with; null when they are compared with none. */
  readonly before: string | null;
}

/** A figure of a window. */
export interface TileSpec<Figures> {
  readonly label: string;
  /** The number that is compared with the previous window; null when there is no number. */
  readonly of: (figures: Figures) => number | null;
  /** Its spelling; a count when absent. */
  readonly write?: (figures: Figures) => ReactNode;
  readonly hint?: (figures: Figures) => string;
  /** In the corner of the tile, such as what explains the figure. */
  readonly aside?: ReactNode;
  /** Which change is a good one. */
  readonly goodWhen?: "down";
  /** It is a share of one: what it changed by is told in points. */
  readonly isShare?: boolean;
  /** Takes the place of two, and says what it is compared with; `xl`: where there is room for that. */
  readonly wide?: "always" | "xl";
}

/** The sums of a window, each compared with the previous window: a strip of 72 px on one surface, of whose ground the lines are seen. */
export function Tiles<Figures>({ compared, tiles, before }: TilesProps<Figures>): ReactNode {
  return (
    <section
      aria-label="Sums of the window"
      className={classNames(
        "mb-3 grid grid-cols-2 gap-px overflow-clip rounded-card border border-line bg-line",
        tiles.length > 5 ? "sm:grid-cols-4 xl:grid-cols-9" : "md:grid-cols-3 xl:grid-cols-6",
      )}
    >
      {tiles.map((tile) => (
        <Tile key={tile.label} {...{ tile, compared, before }} />
      ))}
    </section>
  );
}

interface TileProps<Figures> extends TilesWindow {
  readonly tile: TileSpec<Figures>;
  readonly compared: Compared<Figures>;
}

/** A tile that loads has the height of a loaded one. */
function Tile<Figures>({ tile, compared, before }: TileProps<Figures>): ReactNode {
  const { label, of, write, hint, wide, aside } = tile;
  const { now } = compared;
  const change = toTileChange(tile, compared);
  return (
    <div
      role="group"
      aria-label={label}
      aria-busy={now === null || undefined}
      className={classNames(
        "relative flex min-w-0 flex-col bg-surface px-3 py-[7px] xl:px-1.5 2xl:px-3",
        wide !== undefined && WIDE[wide].tile,
      )}
    >
      <span className="truncate text-xs font-medium text-ink-soft xl:max-2xl:tracking-tight" title={label}>
        {label}
      </span>
      {aside !== undefined && <span className="absolute top-1 right-1">{aside}</span>}
      <span className="h-6 truncate text-lg leading-6 font-semibold tracking-tight text-ink">
        {now === null ? (
          <Skeleton className="mt-0.5 h-5 w-20 max-w-full" />
        ) : (
          (write?.(now) ?? <TileCount value={of(now)} />)
        )}
      </span>
      <span className="flex h-4 items-center gap-x-2 text-xs text-ink-faint">
        {now === null ? (
          <Skeleton className="h-3.5 w-16" />
        ) : typeof change === "string" ? (
          <span
            className="truncate"
            title={change === "unknown" ? "The previous window is not known completely" : undefined}
          >
            {change}
          </span>
        ) : (
          <>
            {change !== null && <Change {...{ tile, change, before }} />}
            {hint !== undefined && <span className="truncate">{hint(now)}</span>}
          </>
        )}
      </span>
    </div>
  );
}

/** How a figure has changed, or why that is unknown, in words that fit one line of the narrowest tile; null where nothing is compared. */
function toTileChange<Figures>(
  { of, isShare = false }: TileSpec<Figures>,
  { now, before, isCompared }: Compared<Figures>,
): number | "unknown" | "none before" | null {
  const figure = now === null ? null : of(now);
  if (!isCompared || figure === null) return null;
  if (before === null) return "unknown";
  const earlier = of(before);
  if (isShare) return earlier === null ? "none before" : figure - earlier;
  return toChange(figure, earlier) ?? "none before";
}

const WIDE = {
  always: { tile: "col-span-2", before: "" },
  xl: { tile: "xl:col-span-2", before: "max-xl:sr-only" },
} as const;

interface ChangeProps<Figures> extends TilesWindow {
  readonly tile: TileSpec<Figures>;
  readonly change: number;
}

function Change<Figures>({ tile, change, before }: ChangeProps<Figures>) {
  const { goodWhen, isShare = false, wide } = tile;
  const isDown = change < 0;
  return (
    <span
      title={before === null ? undefined : `Compared with ${before}`}
      className={classNames(
        "flex min-w-0 items-center gap-1",
        change === 0 || goodWhen === undefined ? "text-ink-soft" : isDown ? "text-good" : "text-bad",
      )}
    >
      {change !== 0 && <Icon name={isDown ? "arrow-down" : "arrow-up"} size={12} />}
      <span className="shrink-0">{isShare ? formatPoints(change) : formatChange(change)}</span>
      {before !== null && (
        <span
          className={classNames(
            "truncate text-ink-faint",
            wide === undefined ? "sr-only" : WIDE[wide].before,
          )}
        >
          vs {before}
        </span>
      )}
    </span>
  );
}

/** Figures that a tile has room for. */
const WHOLE_MAX = 100_000;

/** A count in a tile, the whole number in its title. */
function TileCount({ value }: { readonly value: number | null }): ReactNode {
  return value === null ? <Absent /> : <span title={formatCount(value)}>{formatTileCount(value)}</span>;
}

function formatTileCount(count: number): string {
  return count < WHOLE_MAX ? formatCount(count) : formatCountCompact(count);
}

/** The tiles of usage; `canPrice` offers to set the prices that are missing, `why` explains the cost. */
export function toUsageTiles(canPrice: boolean, why: ReactNode): readonly TileSpec<Totals>[] {
  return [
    { label: "Cost", wide: "always", of: ({ cost }) => cost, write: toCostSum, aside: why },
    { label: "Requests", of: ({ requests }) => requests },
    { label: "Failed", wide: "xl", isShare: true, goodWhen: "down", of: toFailedShare, write: toFailed },
    {
      label: "Unpriced",
      of: ({ unpriced_requests }) => unpriced_requests,
      ...(canPrice && { write: toPricesLink }),
    },
    ...TOKEN_UNITS.map((unit) => ({
      label: `${UNIT_TABLE[unit].heading} tokens`,
      of: ({ units }: Totals) => units[unit] ?? null,
    })),
  ];
}

/** Without the requests that have no price, of which the tile beside it tells; nothing used is no cost, and not unpriced. */
function toCostSum({ cost, unpriced_requests }: Totals): ReactNode {
  if (cost === null) return unpriced_requests > 0 ? <Unpriced /> : <Absent />;
  const isPartial = unpriced_requests > 0;
  return (
    <span title={`${formatMoneyExact(cost)}${isPartial ? ", without the requests that have no price" : ""}`}>
      {formatMoney(cost)}
      {isPartial && (
        <>
          <span aria-hidden="true" className="text-warn">
            +
          </span>
          <span className="sr-only"> and unpriced requests</span>
        </>
      )}
    </span>
  );
}

function toFailed(totals: Totals): ReactNode {
  const share = toFailedShare(totals);
  if (share === null) return <Absent />;
  const title = `${formatCount(totals.failed)} of ${formatCount(totals.requests - totals.cancelled)} requests that were not cancelled`;
  return <span title={title}>{formatPercent(share)}</span>;
}

function toPricesLink({ unpriced_requests: count }: Totals): ReactNode {
  if (count === 0) return <TileCount value={count} />;
  return (
    <Link
      to="/models/prices"
      title={`${formatCount(count)} requests without a price: set prices`}
      className="text-warn underline decoration-1 underline-offset-4 hover:decoration-2"
    >
      {formatTileCount(count)}
      <span className="sr-only"> requests without a price: set prices</span>
    </Link>
  );
}
