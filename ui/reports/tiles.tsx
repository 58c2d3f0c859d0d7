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
} from "../text/format.ts";
import type { Compared } from "./answer.tsx";
import { toChange, type Totals } from "./figures.ts";

interface TilesProps<Figures> {
  readonly compared: Compared<Figures>;
  readonly tiles: readonly TileSpec<Figures>[];
}

/** A figure of a window. */
export interface TileSpec<Figures> {
  readonly label: string;
  /** The number that is compared with the previous window; null when there is no number. */
  readonly of: (figures: Figures) => number | null;
  /** Its spelling; a count when absent. */
  readonly write?: (figures: Figures) => ReactNode;
  readonly hint?: (figures: Figures) => string;
  /** Which change is a good one. */
  readonly goodWhen?: "down";
  /** Takes the place of two where there are few columns. */
  readonly isWide?: boolean;
}

/** The sums of a window, each compared with the previous window: side by side on one surface, of whose ground the lines are seen. */
export function Tiles<Figures>({ compared, tiles }: TilesProps<Figures>): ReactNode {
  return (
    <section
      aria-label="Sums of the window"
      className={classNames(
        "mb-4 grid grid-cols-2 gap-px overflow-clip rounded-card border border-line bg-line",
        tiles.length > 5 ? "sm:grid-cols-4 xl:grid-cols-7" : "md:grid-cols-3 xl:grid-cols-5",
      )}
    >
      {tiles.map((tile) => (
        <Tile key={tile.label} tile={tile} compared={compared} />
      ))}
    </section>
  );
}

interface TileProps<Figures> {
  readonly tile: TileSpec<Figures>;
  readonly compared: Compared<Figures>;
}

/** A tile that loads has the height of a loaded one. */
function Tile<Figures>({ tile, compared }: TileProps<Figures>): ReactNode {
  const { label, of, write, hint, goodWhen, isWide = false } = tile;
  const { now } = compared;
  const change = toTileChange(of, compared);
  return (
    <div
      role="group"
      aria-label={label}
      aria-busy={now === null || undefined}
      className={classNames("flex min-w-0 flex-col bg-surface px-4 py-2.5", isWide && "max-xl:col-span-2")}
    >
      <span className="truncate text-xs font-medium text-ink-soft" title={label}>
        {label}
      </span>
      <span className="mt-0.5 h-7 truncate text-lg leading-7 font-semibold tracking-tight text-ink">
        {now === null ? (
          <Skeleton className="mt-1 h-5 w-20 max-w-full" />
        ) : (
          (write?.(now) ?? <TileCount value={of(now)} />)
        )}
      </span>
      <span className="flex min-h-5 flex-wrap items-center gap-x-2 text-xs text-ink-faint">
        {now === null ? (
          <Skeleton className="h-3.5 w-16" />
        ) : typeof change === "string" ? (
          <span title={change === "unknown" ? "The previous window is not known completely" : undefined}>
            {change}
          </span>
        ) : (
          <>
            {change !== null && <Change change={change} goodWhen={goodWhen} />}
            {hint !== undefined && <span className="min-w-0">{hint(now)}</span>}
          </>
        )}
      </span>
    </div>
  );
}

/** How a figure has changed, or why that is unknown, in words that fit one line of the narrowest tile; null where nothing is compared. */
function toTileChange<Figures>(
  of: TileSpec<Figures>["of"],
  { now, before, isCompared }: Compared<Figures>,
): number | "unknown" | "none before" | null {
  const figure = now === null ? null : of(now);
  if (!isCompared || figure === null) return null;
  return before === null ? "unknown" : (toChange(figure, of(before)) ?? "none before");
}

function Change({
  change,
  goodWhen,
}: { readonly change: number } & { readonly goodWhen: "down" | undefined }) {
  const isDown = change < 0;
  return (
    <span
      title="Compared with the previous window"
      className={classNames(
        "inline-flex items-center gap-1",
        change === 0 || goodWhen === undefined ? "text-ink-soft" : isDown ? "text-good" : "text-bad",
      )}
    >
      {change !== 0 && <Icon name={isDown ? "arrow-down" : "arrow-up"} size={12} />}
      {formatChange(change)}
      <span className="sr-only">compared with the previous window</span>
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

/** The tiles of usage; `canPrice` offers to set the prices that are missing. */
export function toUsageTiles(canPrice: boolean): readonly TileSpec<Totals>[] {
  return [
    { label: "Cost", isWide: true, of: ({ cost }) => cost, write: toCostSum },
    { label: "Requests", of: ({ requests }) => requests },
    { label: "Failed", goodWhen: "down", of: toFailedShare, write: toFailed },
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
