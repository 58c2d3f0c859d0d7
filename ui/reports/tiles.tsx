import { Link } from "@tanstack/react-router";
import { TOKEN_UNITS, UNIT_TABLE } from "#kernel/units.ts";
import { toFailedShare } from "#stats/failed-share.ts";
import { Absent } from "../components/empty.tsx";
import { Unpriced } from "../components/cost.tsx";
import { Tile, TileStrip } from "../components/tile.tsx";
import { formatCount, formatMoney, formatMoneyExact, formatPercent } from "../text/format.ts";
import { formatTileCount, TileCount, toComparison } from "./tile-figures.tsx";
import type { Totals } from "./totals.ts";
import type { Compared } from "./use-compared.ts";

export interface TilesProps {
  readonly totals: Compared<Totals>;
  /** False for all time, which nothing came before. */
  readonly isCompared: boolean;
  /** Offers to set the prices that are missing. */
  readonly canPrice: boolean;
}

/** The sums of a window, each compared with the previous window. */
export function Tiles({ totals, isCompared, canPrice }: TilesProps) {
  const { now } = totals;
  const busy = now === null;
  const compare = (of: (one: Totals) => number | null) => toComparison(totals, isCompared, of);
  return (
    <TileStrip label="Sums of the window">
      <Tile
        label="Cost"
        isWide
        busy={busy}
        value={now !== null && <CostSum totals={now} />}
        {...compare(({ cost }) => cost)}
      />
      <Tile
        label="Requests"
        busy={busy}
        value={<TileCount value={now?.requests ?? 0} />}
        {...compare(({ requests }) => requests)}
      />
      <Tile
        label="Failed"
        busy={busy}
        value={now !== null && <FailedShare totals={now} />}
        goodWhen="down"
        {...compare(toFailedShare)}
      />
      <Tile
        label="Unpriced"
        busy={busy}
        value={now !== null && <UnpricedCount count={now.unpriced_requests} canPrice={canPrice} />}
        {...compare(({ unpriced_requests }) => unpriced_requests)}
      />
      {TOKEN_UNITS.map((unit) => (
        <Tile
          key={unit}
          label={`${UNIT_TABLE[unit].heading} tokens`}
          busy={busy}
          value={<TileCount value={now === null ? 0 : (now.units[unit] ?? null)} />}
          {...compare(({ units }) => units[unit] ?? null)}
        />
      ))}
    </TileStrip>
  );
}

/** Without the requests that have no price, of which the tile beside it tells; nothing used is no cost, and not unpriced. */
function CostSum({ totals: { cost, unpriced_requests } }: { readonly totals: Totals }) {
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

function FailedShare({ totals }: { readonly totals: Totals }) {
  const share = toFailedShare(totals);
  if (share === null) return <Absent />;
  const title = `${formatCount(totals.failed)} of ${formatCount(totals.requests - totals.cancelled)} requests that were not cancelled`;
  return <span title={title}>{formatPercent(share)}</span>;
}

/** Leads to the missing prices when the reader can set them. */
function UnpricedCount({ count, canPrice }: { readonly count: number; readonly canPrice: boolean }) {
  if (count === 0 || !canPrice) return <TileCount value={count} />;
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
