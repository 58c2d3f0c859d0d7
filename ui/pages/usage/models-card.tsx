import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { myBreakdownQuery, myUsageQuery } from "../../api/my.ts";
import { buttonClass } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { EmptyState } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { CsvButton, CsvFailure, useCsvExport } from "../../reports/csv-export.tsx";
import { useOutdated } from "../../reports/use-outdated.ts";
import { type Report, toRefresh } from "../../search/report.ts";
import { TableSkeleton } from "../../components/skeleton.tsx";
import { ModelsTable } from "./models-table.tsx";
import { toOwnModels } from "./own-models.ts";

/** What one used by model, in the same window: failed requests count, as in the tiles above. */
export function ModelsCard({ report }: { readonly report: Report }) {
  const { window } = report;
  const { since, until } = window;
  const usage = useQuery({ ...myUsageQuery({ since, until }), ...toRefresh(window) });
  const breakdown = useQuery({ ...myBreakdownQuery({ since, until }), ...toRefresh(window) });
  const isOutdated = useOutdated(report.question, breakdown.isPlaceholderData);
  const csv = useCsvExport({ path: "/my/usage", query: { since, until }, subject: "my-usage" });
  const { data, error, refetch } = breakdown;
  // The endpoints may come later: a model is told without them until then.
  const endpoints = usage.data?.usage;
  const rows = useMemo(
    () => (data === undefined ? [] : toOwnModels(data, endpoints ?? [])),
    [data, endpoints],
  );
  return (
    <Card
      flush
      title="By model"
      lead={
        data?.truncated === true
          ? "The table is cut to the models that cost most. The total has all of them."
          : "All requests of the window, including cancelled and failed ones"
      }
      actions={
        <CsvButton size="sm" state={csv} title="Answered and cancelled requests by model and endpoint" />
      }
    >
      <CsvFailure state={csv} className="px-4 pb-4" />
      {error !== null && (
        <div className="px-4 pb-4">
          <ErrorNotice failure={error} onRetry={() => void refetch()} />
        </div>
      )}
      {error === null && data === undefined && <TableSkeleton rows={5} />}
      {data?.rows.length === 0 && <NoUsage />}
      {data !== undefined && rows.length > 0 && (
        <ModelsTable {...{ rows, report }} breakdown={data} busy={isOutdated} />
      )}
    </Card>
  );
}

function NoUsage() {
  return (
    <EmptyState
      icon="usage"
      title="No requests in this window"
      body="Choose a longer window, or make a request."
      action={
        <>
          <Link to="/playground" className={buttonClass({ size: "sm" })}>
            Try a model
          </Link>
          <Link to="/keys" className={buttonClass({ size: "sm" })}>
            My keys
          </Link>
        </>
      }
    />
  );
}
