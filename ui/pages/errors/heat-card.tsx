import { useMemo, useState } from "react";
import type { ErrorsRow, Outcome } from "../../api/reports.ts";
import { HeatMap } from "../../charts/heat-map.tsx";
import { Button } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { Segmented } from "../../components/segmented.tsx";
import { HEAT_MEASURES, type HeatMeasure } from "../../search/pages.ts";
import type { Report } from "../../search/report.ts";
import { formatCount, formatPercent } from "../../text/format.ts";
import { BAND_LABELS, toBandRows } from "./band-cells.ts";

/** A first look; the others come on request. */
const ROWS_FIRST = 12;

export interface HeatCardProps {
  readonly report: Report;
  readonly breakdown: readonly ErrorsRow[];
  readonly outcomes: readonly Outcome[];
  readonly measure: HeatMeasure;
  /** What the outcomes are together. */
  readonly countLabel: string;
}

/** Whether failures come at once or after a long wait, by provider and model. */
export function HeatCard({ report, breakdown, outcomes, measure, countLabel }: HeatCardProps) {
  const labels: { readonly [measure in HeatMeasure]: string } = {
    failures: countLabel,
    all: "All outcomes",
    share: `Share: ${countLabel.toLowerCase()}`,
  };
  const [isWhole, setWhole] = useState(false);
  const all = useMemo(() => toBandRows(breakdown, { outcomes, measure }), [breakdown, outcomes, measure]);
  const rows = useMemo(() => (isWhole ? all : all.slice(0, ROWS_FIRST)), [all, isWhole]);
  const narrow = (id: string) => {
    const row = rows.find((known) => known.id === id);
    if (row !== undefined) report.change({ provider: row.provider, model: row.model ?? undefined });
  };
  return (
    <Card
      className="mb-4"
      title="Time to the outcome"
      lead="How long requests took to end, by provider and model. A cell adds both as filters."
      actions={
        <Segmented
          label="Measure"
          options={HEAT_MEASURES.map((value) => ({ value, label: labels[value] }))}
          value={measure}
          onValueChange={(next) => report.change({ heat: next === "failures" ? undefined : next })}
        />
      }
    >
      <HeatMap
        label={`${labels[measure]} by time to the outcome, provider and model`}
        rowsLabel="Provider and model"
        rows={rows}
        columns={BAND_LABELS}
        format={measure === "share" ? formatPercent : formatCount}
        tone={measure === "all" ? "accent" : "bad"}
        onCell={narrow}
        empty="No such requests in this window"
      />
      {all.length > ROWS_FIRST && (
        <div className="mt-3 flex justify-center">
          <Button size="sm" variant="ghost" onClick={() => setWhole(!isWhole)}>
            {isWhole ? `Show the first ${ROWS_FIRST}` : `Show all ${formatCount(all.length)}`}
          </Button>
        </div>
      )}
    </Card>
  );
}
