import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { OUTCOMES } from "#usage/event.ts";
import type { ErrorsReport } from "../../api/reports.ts";
import { Card } from "../../components/card.tsx";
import type { Filters, OutcomeFilter } from "../../search/filters.ts";
import type { HeatMeasure } from "../../search/pages.ts";
import type { Report } from "../../search/report.ts";
import { toClientRows } from "./client-rows.ts";
import { ClientTable } from "./client-table.tsx";
import { toErrorRows } from "./error-rows.ts";
import { ErrorTable } from "./error-table.tsx";
import { HeatCard } from "./heat-card.tsx";
import { KindsCard } from "./kinds-card.tsx";
import { NoErrors } from "./no-errors.tsx";
import { countOf, toShownOutcomes, toTally } from "./outcomes.ts";

export interface ErrorListsProps {
  readonly report: Report;
  readonly data: ErrorsReport;
  readonly isStale: boolean;
  readonly heat: HeatMeasure;
}

/** The failures by kind, by time, by route and by client. */
export function ErrorLists({ report, data, isStale, heat }: ErrorListsProps) {
  const { filters } = report;
  const outcomes = useMemo(() => toShownOutcomes(filters.outcome), [filters.outcome]);
  const rows = useMemo(() => toErrorRows(data.breakdown, outcomes), [data.breakdown, outcomes]);
  const clients = useMemo(() => toClientRows(data.breakdown, outcomes), [data.breakdown, outcomes]);
  const open = useOpenRequests(report);
  const countLabel = COUNT_LABELS[filters.outcome ?? "default"];
  if (rows.length === 0) {
    const requests = countOf(toTally(data.series), OUTCOMES);
    return <NoErrors report={report} requests={requests} />;
  }
  return (
    <>
      <KindsCard rows={rows} />
      <HeatCard {...{ report, outcomes }} breakdown={data.breakdown} measure={heat} countLabel={countLabel} />
      <Card
        flush
        className="mb-4"
        title="By model and kind"
        lead="All clients and tags. A row opens the requests with its provider, model and outcome."
      >
        <ErrorTable
          rows={rows}
          busy={isStale}
          onOpen={({ provider, model, outcome }) => open({ provider, model: model ?? undefined, outcome })}
        />
      </Card>
      <Card
        flush
        title="By client"
        lead="Clients by the beginning of their User-Agent. A row opens its requests."
      >
        <ClientTable
          rows={clients}
          busy={isStale}
          countLabel={countLabel}
          onOpen={({ client }) =>
            open({ outcome: filters.outcome ?? "failed", ...(client !== null && { client }) })
          }
        />
      </Card>
    </>
  );
}

const COUNT_LABELS: { readonly [filter in OutcomeFilter | "default"]: string } = {
  default: "Failed",
  ok: "OK",
  failed: "Not OK",
  upstream_error: "Upstream errors",
  unreachable: "Unreachable",
  cancelled: "Cancelled",
};

/** The request log with the same window and filters, and these besides. */
function useOpenRequests({ filters, window }: Report): (more: Filters) => void {
  const navigate = useNavigate();
  const time = window.range === null ? { since: window.since, until: window.until } : { range: window.range };
  return (more) => void navigate({ to: "/requests", search: { ...filters, ...time, ...more } });
}
