import type { ReactNode } from "react";
import { useMemo } from "react";
import type { Bucket } from "#stats/bucket.ts";
import type { Outcome } from "#usage/event.ts";
import { toOutcomeWord } from "../text/outcomes.ts";
import type { Series } from "./series.ts";
import { StackedBars } from "./stacked-bars.tsx";

/** A bucket as the report of errors answers it. */
export interface OutcomeBucket {
  readonly start: string;
  readonly ok: number;
  readonly upstream_error: number;
  readonly unreachable: number;
  readonly cancelled: number;
}

export interface OutcomeHistogramProps {
  readonly buckets: readonly OutcomeBucket[];
  readonly bucket: Bucket;
  readonly label: string;
  readonly format: (value: number) => string;
  readonly onBucket?: ((startIso: string, endIso: string) => void) | undefined;
  readonly onRange?: ((startIso: string, endIso: string) => void) | undefined;
  readonly onOutcome?: ((outcome: Outcome) => void) | undefined;
  readonly height?: number | undefined;
  readonly empty?: ReactNode;
  /** Without `ok` the others fill the height: what a page of errors shows. */
  readonly outcomes?: readonly Outcome[] | undefined;
}

const HEIGHT_PX = 160;
/** From the bottom up. */
const DRAWN: readonly Outcome[] = ["ok", "cancelled", "upstream_error", "unreachable"];

/** Requests over time by how they ended, told apart by colour and by texture; brushing narrows the window. */
export function OutcomeHistogram(props: OutcomeHistogramProps): ReactNode {
  const { buckets, onOutcome, outcomes = DRAWN, height = HEIGHT_PX, ...rest } = props;
  const series = useMemo(
    (): readonly Series[] => outcomes.map((id) => ({ id, label: toOutcomeWord(id), kind: "outcome" })),
    [outcomes],
  );
  const bars = useMemo(
    () => buckets.map((one) => ({ start: one.start, values: outcomes.map((outcome) => one[outcome]) })),
    [buckets, outcomes],
  );
  const onSeries = (id: string) => {
    const outcome = outcomes.find((known) => known === id);
    if (outcome !== undefined) onOutcome?.(outcome);
  };
  return (
    <StackedBars
      {...rest}
      buckets={bars}
      series={series}
      height={height}
      onSeries={onOutcome === undefined ? undefined : onSeries}
    />
  );
}
