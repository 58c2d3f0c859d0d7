import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type Breakdown, breakdownQuery, type BreakdownRow } from "../api/reports.ts";
import { Cost } from "../components/cost.tsx";
import { Absent } from "../components/empty.tsx";
import { Duration } from "../components/instant.tsx";
import { TableSkeleton } from "../components/skeleton.tsx";
import { AnswerView, useOutdated } from "../reports/answer.tsx";
import { toCost } from "../reports/figures.ts";
import type { ListFilter } from "../search/filters.ts";
import type { Report } from "../search/report.ts";
import { formatCount, formatPercent } from "../text/format.ts";

export interface ComparisonProps {
  readonly report: Report;
  readonly by: ListFilter;
  /** The values of the filter, and what each is called. */
  readonly values: readonly string[];
  readonly toName: (value: string) => string;
}

/** The figures of each value of one filter, side by side, under all the other filters. */
export function Comparison({ report, by, values, toName }: ComparisonProps) {
  const { data, error, isPlaceholderData, refetch } = useQuery(
    breakdownQuery({ ...report.query, by, limit: values.length }),
  );
  const isOutdated = useOutdated(`${report.question} ${by}`, isPlaceholderData);
  return (
    <AnswerView
      answer={{ data, isOutdated, failure: error, retry: refetch }}
      skeleton={<TableSkeleton rows={FIGURES.length} />}
    >
      {(breakdown) => <Figures breakdown={breakdown} values={values} toName={toName} />}
    </AnswerView>
  );
}

type FiguresProps = Pick<ComparisonProps, "values" | "toName"> & { readonly breakdown: Breakdown };

function Figures({ breakdown, values, toName }: FiguresProps) {
  return (
    <>
      <div role="region" aria-label="Comparison" tabIndex={0} className="overflow-x-auto">
        <table className="text-left">
          <thead>
            <tr className="border-b border-line">
              <td />
              {values.map((value) => (
                <th
                  key={value}
                  scope="col"
                  title={toName(value)}
                  className="max-w-60 truncate py-1.5 pl-8 text-right font-medium max-sm:max-w-24 max-sm:pl-3"
                >
                  {toName(value)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {FIGURES.map(({ label, title, cell }) => (
              <tr key={label} className="border-b border-line last:border-0">
                <th
                  scope="row"
                  title={title}
                  className="py-1.5 font-normal text-ink-soft sm:whitespace-nowrap"
                >
                  {label}
                </th>
                {values.map((value) => (
                  <td key={value} className="py-1.5 pl-8 text-right whitespace-nowrap max-sm:pl-3">
                    {toCell(breakdown, value, cell)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {breakdown.percentiles !== "exact" && (
        <p className="mt-2 text-xs text-ink-soft">{WITHOUT_PERCENTILES[breakdown.percentiles]}</p>
      )}
    </>
  );
}

interface Figure {
  readonly label: string;
  readonly title?: string;
  readonly cell: (row: BreakdownRow) => ReactNode;
}

const FIGURES: readonly Figure[] = [
  { label: "Requests", cell: ({ requests }) => formatCount(requests) },
  {
    label: "Cost",
    cell: ({ cost, unpriced }) => <Cost {...toCost({ cost, unpriced_requests: unpriced })} />,
  },
  {
    label: "Cost per request",
    title: "Of the requests that have a cost",
    cell: ({ cost_per_request: cost }) => (cost === null ? <Absent /> : <Cost value={cost} />),
  },
  {
    label: "Duration, median",
    title: "Of successful requests",
    cell: ({ duration_ms: { p50 } }) => <Duration durationMs={p50} />,
  },
  {
    label: "Duration, 95th percentile",
    title: "Of successful requests",
    cell: ({ duration_ms: { p95 } }) => <Duration durationMs={p95} />,
  },
  {
    label: "Failed",
    title: "Of the requests that were not cancelled",
    cell: ({ ok, failed }) => (ok + failed === 0 ? <Absent /> : formatPercent(failed / (ok + failed))),
  },
];

const WITHOUT_PERCENTILES: { readonly [state in Exclude<Breakdown["percentiles"], "exact">]: string } = {
  too_many_requests: "Durations are not told of more than a million requests. Choose a shorter window.",
  rows_removed: "Durations are not told: retention has removed requests of this window.",
};

/** A value that nothing used has no row. */
function toCell({ rows }: Breakdown, value: string, cell: Figure["cell"]): ReactNode {
  const row = rows.find((one) => one.value === value);
  return row === undefined ? <Absent /> : cell(row);
}
