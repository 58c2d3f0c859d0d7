import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { requestsQuery } from "../../api/reports.ts";
import { Button, buttonClass } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { EmptyState } from "../../components/empty.tsx";
import { countFilters, NO_FILTERS } from "../../search/filters.ts";
import type { Report } from "../../search/report.ts";
import { ALL_TIME } from "../../search/window.ts";
import { SetupLink } from "../../setup/setup-link.tsx";
import { formatCount } from "../../text/format.ts";

export interface NoErrorsProps {
  readonly report: Report;
  /** Requests of any outcome in the window. */
  readonly requests: number;
}

/** No failed requests, or there was nothing that could: which of the two, and the way on. */
export function NoErrors({ report, requests }: NoErrorsProps) {
  const { filters, window, change } = report;
  const isNarrowed = countFilters(filters) > 0;
  const mayBeNew = requests === 0 && !isNarrowed;
  const { data: any, isLoading } = useQuery({ ...requestsQuery({}, { limit: 1 }), enabled: mayBeNew });
  // What it says first, it goes on saying.
  if (isLoading) return null;
  if (mayBeNew && any?.total === 0) {
    return (
      <Card>
        <EmptyState
          icon="requests"
          title="No requests yet"
          body="Failed requests will be listed here, with causes and advice."
          action={<SetupLink />}
        />
      </Card>
    );
  }
  return (
    <Card>
      <EmptyState
        icon={requests === 0 ? "calendar" : "check"}
        title={toTitle(report, requests)}
        body={
          requests > 0 &&
          `${formatCount(requests)} ${requests === 1 ? "request" : "requests"} in this window.`
        }
        action={
          <>
            {isNarrowed && <Button onClick={() => change(NO_FILTERS)}>Clear filters</Button>}
            {window.range !== "all" && <Button onClick={() => change(ALL_TIME)}>Show all time</Button>}
            {requests === 0 && (
              <Link to="/playground" className={buttonClass()}>
                Try a model
              </Link>
            )}
          </>
        }
      />
    </Card>
  );
}

function toTitle({ filters: { outcome, ...others } }: Report, requests: number): string {
  if (requests === 0) {
    return countFilters(others) > 0 ? "No request matches these filters" : "No requests in this window";
  }
  if (outcome?.length === 1 && outcome[0] === "ok") return "The filter selects successful requests";
  return outcome === undefined ? "No failed requests" : "No requests with this outcome";
}
