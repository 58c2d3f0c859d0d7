import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CURL } from "#snippets/curl.ts";
import { listedModelsQuery } from "../../api/models.ts";
import { requestsQuery } from "../../api/reports.ts";
import { Button, buttonClass } from "../../components/button.tsx";
import { CodeBlock } from "../../components/code.tsx";
import { EmptyState } from "../../components/empty.tsx";
import { countFilters, NO_FILTERS } from "../../search/filters.ts";
import type { Report } from "../../search/report.ts";
import { ALL_TIME } from "../../search/window.ts";
import { SetupLink } from "../../setup/setup-link.tsx";

/** Why there is nothing to see, which is one of four things, and the way on. */
export function NoRequests({ report, isLive }: { readonly report: Report; readonly isLive: boolean }) {
  const { filters, window, change } = report;
  const isFiltered = countFilters(filters) > 0;
  const { data: any } = useQuery({ ...requestsQuery({}, { limit: 1 }), enabled: !isFiltered });
  if (isFiltered) {
    return (
      <EmptyState
        icon="filter"
        title="No request matches these filters"
        body={
          isLive ? "New matching requests appear automatically." : "Use fewer filters or a longer window."
        }
        action={
          <>
            <Button onClick={() => change(NO_FILTERS)}>Clear filters</Button>
            {window.range !== "all" && <AllTimeButton report={report} />}
          </>
        }
      />
    );
  }
  // Until it is known the place is kept, and nothing is claimed.
  if (any === undefined) return <div className="h-40" />;
  if (any.total > 0) {
    return (
      <EmptyState
        icon="calendar"
        title="No requests in this window"
        action={<AllTimeButton report={report} />}
      />
    );
  }
  return <NothingYet />;
}

function AllTimeButton({ report }: { readonly report: Report }) {
  const showAll = () => report.change(ALL_TIME);
  return <Button onClick={showAll}>Show all time</Button>;
}

/** Shown on a server without any request. */
function NothingYet() {
  const { data: models } = useQuery(listedModelsQuery({ endpoint: "chat" }));
  const model = models?.[0]?.id ?? null;
  const code = CURL.snippets.chat({ origin: window.location.origin, model, secret: null });
  return (
    <EmptyState
      icon="requests"
      title="No requests yet"
      body={
        <div className="flex flex-col gap-3">
          <p>
            With a key in LOCKPORT_KEY{model === null && " and the name of a model"}, this makes the first
            one:
          </p>
          <div className="text-left">
            <CodeBlock code={code} language="curl" />
          </div>
        </div>
      }
      action={
        <>
          <SetupLink />
          <Link to="/keys" className={buttonClass({ variant: "primary" })}>
            Create a key
          </Link>
        </>
      }
    />
  );
}
