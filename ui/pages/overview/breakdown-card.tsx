import { Card } from "../../components/card.tsx";
import { BREAKDOWN_LABELS, type Breakdown } from "../../search/breakdown.ts";
import type { Report } from "../../search/report.ts";
import { CsvButton, CsvFailure, useCsvExport } from "../../reports/csv-export.tsx";
import { TableSkeleton } from "../../components/skeleton.tsx";
import { useSpeeds } from "./use-speeds.ts";
import { useCompanions } from "./use-companions.ts";
import type { StackAnswer } from "./use-stack.ts";
import { UnmeteredHint } from "./unmetered-hint.tsx";
import { BreakdownTable } from "./breakdown-table.tsx";

export interface BreakdownCardProps {
  readonly report: Report;
  readonly answer: StackAnswer;
  readonly by: Breakdown;
}

/** The figures behind the chart, and the way to take them along. */
export function BreakdownCard({ report, answer, by }: BreakdownCardProps) {
  const { stack, isOutdated, failure } = answer;
  const companions = useCompanions(report, stack);
  const speeds = useSpeeds(report, stack);
  const csv = useCsvExport({ path: "/stats/summary", query: { ...report.query }, subject: "usage" });
  if (stack === null && failure !== null) return null;
  return (
    <Card
      flush
      title={`By ${BREAKDOWN_LABELS[by].toLowerCase()}`}
      lead="All requests of the window, including cancelled and failed ones"
      actions={
        <CsvButton
          size="sm"
          state={csv}
          title="Answered and cancelled requests by person, provider, model, client and tags"
        />
      }
    >
      <CsvFailure state={csv} className="px-4 pb-4" />
      {stack === null ? (
        <TableSkeleton rows={9} />
      ) : (
        <BreakdownTable {...{ stack, companions, speeds, report }} busy={isOutdated} />
      )}
      <UnmeteredHint report={report} count={isOutdated ? null : speeds.unmetered} />
    </Card>
  );
}
