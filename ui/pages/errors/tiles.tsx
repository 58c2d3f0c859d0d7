import type { Outcome } from "../../api/reports.ts";
import { Absent } from "../../components/absent.tsx";
import { Tile } from "../../components/tile.tsx";
import { formatCount, formatPercent } from "../../text/format.ts";
import { TileCount, toComparison } from "../../reports/tile-figures.tsx";
import type { Compared } from "../../reports/use-compared.ts";
import { countOf, FAILURES, toDenominator, toShare, type Tally } from "./outcomes.ts";

export interface TilesProps {
  readonly tallies: Compared<Tally>;
  /** False for all time, which nothing came before. */
  readonly isCompared: boolean;
}

/** How much failed, of what, and how; each compared with the previous window. */
export function Tiles({ tallies, isCompared }: TilesProps) {
  const { now } = tallies;
  const count = (outcomes: readonly Outcome[]) => ({
    busy: now === null,
    value: <TileCount value={now === null ? null : countOf(now, outcomes)} />,
    goodWhen: "down" as const,
    ...toComparison(tallies, isCompared, (tally) => countOf(tally, outcomes)),
  });
  return (
    <section
      aria-label="Sums of the window"
      className="mb-4 grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-5"
    >
      <div className="col-span-2 grid md:col-span-1">
        <Tile
          label="Failure rate"
          busy={now === null}
          value={now !== null && <FailureRate tally={now} />}
          hint={now !== null && `of ${formatCount(toDenominator(now, FAILURES))}`}
          goodWhen="down"
          {...toComparison(tallies, isCompared, (tally) => toShare(tally, FAILURES))}
        />
      </div>
      <Tile label="Failed" {...count(FAILURES)} />
      <Tile label="Upstream errors" {...count(["upstream_error"])} />
      <Tile label="Unreachable" {...count(["unreachable"])} />
      <Tile label="Cancelled, not failed" {...count(["cancelled"])} goodWhen="neutral" />
    </section>
  );
}

/** Of the requests that came to an end: who hung up neither failed nor succeeded. */
function FailureRate({ tally }: { readonly tally: Tally }) {
  const rate = toShare(tally, FAILURES);
  if (rate === null) return <Absent />;
  const of = `${formatCount(countOf(tally, FAILURES))} of ${formatCount(toDenominator(tally, FAILURES))}`;
  return <span title={`${of} requests that were not cancelled`}>{formatPercent(rate)}</span>;
}
