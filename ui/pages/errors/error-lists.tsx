import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { OUTCOMES } from "#usage/event.ts";
import type { ErrorsReport, Outcome } from "../../api/reports.ts";
import { Button } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { ShareBar } from "../../components/share-bar.tsx";
import type { Filters, OutcomeFilter } from "../../search/filters.ts";
import type { HeatMeasure, RequestsSearch } from "../../search/pages.ts";
import { toQueryString } from "../../search/query-string.ts";
import type { Report } from "../../search/report.ts";
import { formatCount, formatPercent } from "../../text/format.ts";
import { toClientRows } from "./client-rows.ts";
import { ClientTable } from "./client-table.tsx";
import { type ErrorRow, toErrorRows, toRowFilters } from "./error-rows.ts";
import { ErrorTable } from "./error-table.tsx";
import { HeatCard } from "./heat-card.tsx";
import { type KindRow, toKindRows } from "./kind-rows.ts";
import { NoErrors } from "./no-errors.tsx";
import { countOf, toShownOutcomes, toOutcomeCounts } from "./outcomes.ts";

export interface ErrorListsProps {
  readonly report: Report;
  readonly data: ErrorsReport;
  readonly heat: HeatMeasure;
}

/** The failures by kind, by time, by route and by client. */
export function ErrorLists({ report, data, heat }: ErrorListsProps) {
  const { filters } = report;
  const outcomes = useMemo(() => toShownOutcomes(filters.outcome), [filters.outcome]);
  const rows = useMemo(() => toErrorRows(data.breakdown, outcomes), [data.breakdown, outcomes]);
  const clients = useMemo(() => toClientRows(data.breakdown, outcomes), [data.breakdown, outcomes]);
  const requests = useRequestLinks(report);
  const [outcome = "default", ...more] = filters.outcome ?? [];
  const countLabel = more.length > 0 ? "Selected outcomes" : COUNT_LABELS[outcome];
  if (rows.length === 0) {
    return <NoErrors report={report} requests={countOf(toOutcomeCounts(data.series), OUTCOMES)} />;
  }
  return (
    <>
      <KindsCard rows={rows} outcomes={outcomes} toSearch={requests.toSearch} />
      <HeatCard {...{ report, outcomes }} breakdown={data.breakdown} measure={heat} countLabel={countLabel} />
      <Card
        flush
        className="mb-4"
        title="By model and kind"
        lead="All clients and tags. A row opens its requests."
      >
        <ErrorTable
          rows={rows}
          onOpen={(row) => requests.open(toRowFilters(row))}
          toHref={(row) => requests.toHref(toRowFilters(row))}
        />
      </Card>
      <Card
        flush
        title="By client"
        lead="Clients by the beginning of their User-Agent. A row opens its requests."
      >
        <ClientTable
          rows={clients}
          countLabel={countLabel}
          onOpen={({ client }) => client !== null && requests.open({ outcome: outcomes, client })}
          toHref={({ client }) => (client === null ? null : requests.toHref({ outcome: outcomes, client }))}
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

interface RequestLinks {
  readonly open: (more: Filters) => void;
  readonly toHref: (more: Filters) => string;
  readonly toSearch: (more: Filters) => RequestsSearch;
}

/** The request log with the same window and filters, and these besides. */
function useRequestLinks({ filters, window }: Report): RequestLinks {
  const navigate = useNavigate();
  const time = window.range === null ? { since: window.since, until: window.until } : { range: window.range };
  const toSearch = (more: Filters): RequestsSearch => ({ ...filters, ...time, ...more });
  return {
    toSearch,
    open: (more) => void navigate({ to: "/requests", search: toSearch(more) }),
    toHref: (more) => `/requests${toQueryString({ ...toSearch(more) })}`,
  };
}

const KINDS_FIRST = 6;

/** What went wrong in plain words, and what to do about each. */
interface KindsCardProps extends Pick<RequestLinks, "toSearch"> {
  readonly rows: readonly ErrorRow[];
  readonly outcomes: readonly Outcome[];
}

function KindsCard({ rows, outcomes, toSearch }: KindsCardProps) {
  const [isWhole, setWhole] = useState(false);
  const all = useMemo(() => toKindRows(rows, outcomes), [rows, outcomes]);
  const kinds = isWhole ? all : all.slice(0, KINDS_FIRST);
  return (
    <Card flush className="mb-4" title="Causes and advice">
      <ul>
        {kinds.map((kind) => (
          <Kind key={kind.name} kind={kind} search={toSearch(kind.filters)} />
        ))}
      </ul>
      {all.length > KINDS_FIRST && (
        <div className="flex justify-center border-t border-line py-2">
          <Button size="sm" variant="ghost" onClick={() => setWhole(!isWhole)}>
            {isWhole ? `Show the first ${KINDS_FIRST}` : `Show all ${formatCount(all.length)} kinds`}
          </Button>
        </div>
      )}
    </Card>
  );
}

const BAR_PX = 56;

function Kind({ kind, search }: { readonly kind: KindRow; readonly search: RequestsSearch }) {
  const { name, requests, share, meaning, advice, reasons } = kind;
  return (
    <li className="grid gap-x-6 gap-y-1 border-t border-line px-4 py-2.5 md:grid-cols-[13rem_1fr]">
      <div className="flex min-w-0 items-baseline justify-between gap-3 md:flex-col md:items-start md:justify-start md:gap-1">
        <code className="min-w-0 font-mono text-xs leading-5 break-words">{name}</code>
        <span className="flex shrink-0 items-center gap-2 text-xs text-ink-soft">
          <ShareBar share={share} widthPx={BAR_PX} tone="bad" className="hidden md:block" />
          <Link
            to="/requests"
            search={search}
            title={`Show these ${formatCount(requests)} requests`}
            className="text-accent underline-offset-2 hover:underline"
          >
            {formatCount(requests)} {requests === 1 ? "request" : "requests"}
            <span className="sr-only"> that ended with {name}</span>
          </Link>
          · {formatPercent(share)}
        </span>
      </div>
      <div className="min-w-0">
        <p className="font-medium">{meaning}</p>
        {reasons !== "" && <p>{reasons}</p>}
        <p className="text-ink-soft">{advice}</p>
      </div>
    </li>
  );
}
