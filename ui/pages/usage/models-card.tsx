import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { myUsageQuery } from "../../api/my.ts";
import { buttonClass } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { EmptyState } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { CsvButton, CsvFailure, useCsvExport } from "../../reports/csv-export.tsx";
import { useOutdated } from "../../reports/use-outdated.ts";
import { type Report, toRefresh } from "../../search/report.ts";
import { TableSkeleton } from "../../components/skeleton.tsx";
import { ModelsTable } from "./models-table.tsx";

/** What one used by model and endpoint, in the same window. */
export function ModelsCard({ report }: { readonly report: Report }) {
  const { window } = report;
  const { since, until } = window;
  const usage = useQuery({ ...myUsageQuery({ since, until }), ...toRefresh(window) });
  const isOutdated = useOutdated(report.question, usage.isPlaceholderData);
  const csv = useCsvExport({ path: "/my/usage", query: { since, until }, subject: "my-usage" });
  const { data, error, refetch } = usage;
  return (
    <Card
      flush
      title="By model and endpoint"
      lead={
        data?.notes.isTruncated === true
          ? "The report is truncated to the rows with the most requests. Narrow the window."
          : "Answered and cancelled requests. Failed requests are in the chart and under Errors."
      }
      actions={<CsvButton size="sm" state={csv} title="Every row of this report" />}
    >
      <CsvFailure state={csv} className="px-4 pb-4" />
      {error !== null && (
        <div className="px-4 pb-4">
          <ErrorNotice failure={error} onRetry={() => void refetch()} />
        </div>
      )}
      {error === null && data === undefined && <TableSkeleton rows={5} />}
      {data?.usage.length === 0 && <NoUsage />}
      {data !== undefined && data.usage.length > 0 && <ModelsTable rows={data.usage} busy={isOutdated} />}
    </Card>
  );
}

function NoUsage() {
  return (
    <EmptyState
      icon="usage"
      title="No answered requests in this window"
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
