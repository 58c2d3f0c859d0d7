import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { OUTCOMES } from "#usage/event.ts";
import {
  type Breakdown,
  breakdownQuery,
  type ErrorsReport,
  type ErrorsRow,
  type Outcome,
  requestsQuery,
} from "../../api/reports.ts";
import { HeatMap } from "../../charts/heat-map.tsx";
import { Button, buttonClass } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { EmptyState } from "../../components/empty.tsx";
import { Segmented } from "../../components/segmented.tsx";
import { ShareBar } from "../../components/share-bar.tsx";
import { countFilters, NO_FILTERS, type OutcomeFilter } from "../../search/filters.ts";
import { HEAT_MEASURES, type HeatMeasure, type RequestsSearch } from "../../search/pages.ts";
import { toQueryString } from "../../search/query-string.ts";
import type { Report } from "../../search/report.ts";
import { ALL_TIME, toWindowSearch } from "../../search/window.ts";
import { SetupLink } from "../../setup/setup-link.tsx";
import { formatCount, formatCounted, formatDuration, formatMoney, formatPercent } from "../../text/format.ts";
import {
  BAND_LABELS,
  type ClientRow,
  type ErrorRow,
  type KindRow,
  toBandRows,
  toClientRows,
  toErrorRows,
  toKindName,
  toKindRows,
  toRowFilters,
} from "./error-rows.ts";
import { ERROR_COLUMNS, RowCard, toClientColumns } from "./error-tables.tsx";
import { countOf, toOutcomeCounts, toShownOutcomes } from "./outcomes.ts";

interface ErrorListsProps {
  readonly report: Report;
  readonly data: ErrorsReport;
  readonly heat: HeatMeasure;
  /** Stands beneath the causes, which are what is looked for. */
  readonly clients: ReactNode;
  readonly children: ReactNode;
}

/** The failures by kind, by time, by route and by client. */
export function ErrorLists({ report, data, heat, clients: failing, children }: ErrorListsProps) {
  const { filters } = report;
  const outcomes = useMemo(() => toShownOutcomes(filters.outcome), [filters.outcome]);
  const rows = useMemo(() => toErrorRows(data.breakdown, outcomes), [data.breakdown, outcomes]);
  const clients = useMemo(() => toClientRows(data.breakdown, outcomes), [data.breakdown, outcomes]);
  const requests = useRequestLinks(report);
  const [outcome = "default", ...more] = filters.outcome ?? [];
  const countLabel = more.length > 0 ? "Selected" : COUNT_LABELS[outcome];
  const columns = useMemo(() => toClientColumns(countLabel), [countLabel]);
  if (rows.length === 0) {
    return (
      <>
        {children}
        <NoErrors report={report} requests={countOf(toOutcomeCounts(data), OUTCOMES)} />
      </>
    );
  }
  return (
    <>
      <KindsCard
        rows={rows}
        outcomes={outcomes}
        toSearch={requests.toSearch}
        lost={<Lost {...{ report, outcomes }} breakdown={data.breakdown} />}
      />
      {failing}
      {children}
      <HeatCard {...{ report, outcomes }} breakdown={data.breakdown} measure={heat} countLabel={countLabel} />
      <RowCard
        title="By model and kind"
        lead="All clients and tags. A row opens its requests."
        caption="Errors by route"
        columns={ERROR_COLUMNS}
        rows={rows}
        getRowId={toId}
        sort={BY_REQUESTS}
        rowLabel={(row) =>
          `Requests to ${row.model ?? "any model"} at ${row.provider} that ended with ${toKindName(row)}`
        }
        links={requests}
        toSearch={toRowFilters}
      />
      <RowCard
        title="By client"
        lead="Clients by the beginning of their User-Agent. A row opens its requests."
        caption="Errors by client"
        columns={columns}
        rows={clients}
        getRowId={toClientId}
        sort={BY_COUNT}
        rowLabel={({ client }) => `Requests of ${client ?? "clients without a name"}`}
        links={requests}
        toSearch={({ client }) => (client === null ? null : { outcome: outcomes, client })}
      />
    </>
  );
}

const BY_REQUESTS = { id: "requests", descending: true };
const BY_COUNT = { id: "count", descending: true };
const toId = ({ id }: ErrorRow) => id;
/** No User-Agent is an empty text. */
const toClientId = ({ client }: ClientRow) => client ?? "";

const COUNT_LABELS: { readonly [filter in OutcomeFilter | "default"]: string } = {
  default: "Failed",
  ok: "OK",
  failed: "Not OK",
  upstream_error: "Upstream errors",
  unreachable: "Unreachable",
  cancelled: "Cancelled",
  refused: "Refused",
};

export interface RequestLinks {
  readonly open: (more: RequestsSearch) => void;
  readonly toHref: (more: RequestsSearch) => string;
  readonly toSearch: (more: RequestsSearch) => RequestsSearch;
}

/** The request log with the same window and filters, and these besides, or instead. */
export function useRequestLinks({ filters, window }: Report): RequestLinks {
  const navigate = useNavigate();
  const toSearch = (more: RequestsSearch): RequestsSearch => ({
    ...filters,
    ...toWindowSearch(window),
    ...more,
  });
  return {
    toSearch,
    open: (more) => void navigate({ to: "/requests", search: toSearch(more) }),
    toHref: (more) => `/requests${toQueryString({ ...toSearch(more) })}`,
  };
}

interface FirstRows<Row> {
  readonly rows: readonly Row[];
  /** The way to the others, and back; null when there are none. */
  readonly more: ReactNode;
}

/** A first look at a list; the others come on request. */
function useFirstRows<Row>(all: readonly Row[], count: number, noun: string): FirstRows<Row> {
  const [isWhole, setWhole] = useState(false);
  const rows = useMemo(() => (isWhole ? all : all.slice(0, count)), [all, isWhole, count]);
  const more = all.length > count && (
    <Button size="sm" variant="ghost" onClick={() => setWhole(!isWhole)}>
      {isWhole ? `Show the first ${count}` : `Show all ${formatCount(all.length)}${noun}`}
    </Button>
  );
  return { rows, more: more === false ? null : more };
}

interface KindsCardProps extends Pick<RequestLinks, "toSearch"> {
  readonly rows: readonly ErrorRow[];
  readonly outcomes: readonly Outcome[];
  /** The cost of all of them. */
  readonly lost: ReactNode;
}

const KINDS_FIRST = 6;

/** What went wrong in plain words, and what to do about each. */
function KindsCard({ rows, outcomes, toSearch, lost }: KindsCardProps) {
  const all = useMemo(() => toKindRows(rows, outcomes), [rows, outcomes]);
  const { rows: kinds, more } = useFirstRows(all, KINDS_FIRST, " kinds");
  return (
    <Card flush className="mb-4" title="Causes and advice" lead={lost}>
      <ul>
        {kinds.map((kind) => (
          <Kind key={kind.name} kind={kind} search={toSearch(kind.filters)} />
        ))}
      </ul>
      {more !== null && <div className="flex justify-center border-t border-line py-2">{more}</div>}
    </Card>
  );
}

interface LostProps {
  readonly report: Report;
  readonly outcomes: readonly Outcome[];
  readonly breakdown: readonly ErrorsRow[];
}

/** The time and money that these requests cost: callers waited for them, and some were billed. */
function Lost({ report, outcomes, breakdown }: LostProps) {
  const { data } = useQuery(breakdownQuery({ ...report.query, outcome: outcomes, by: "model", limit: 1 }));
  const waitedMs = breakdown
    .filter(({ outcome }) => outcomes.includes(outcome))
    .reduce((sum, row) => sum + row.avg_duration_ms * row.requests, 0);
  // It has its lines before it is known, so that the causes beneath do not move.
  return (
    <span className="block min-h-8 sm:min-h-4">
      {data !== undefined && `They took ${formatDuration(waitedMs)}${toCostText(data.total)}.`}
    </span>
  );
}

/** A use without a price is told apart, and never a cost of nothing. */
function toCostText({ cost, unpriced }: Pick<Breakdown["total"], "cost" | "unpriced">): string {
  const left = unpriced > 0 ? `${formatCounted(unpriced, "request")} without a price` : "no known cost";
  if (cost === null) return `, with ${left}`;
  return ` and cost ${formatMoney(cost)}${unpriced > 0 ? `, beside ${left}` : ""}`;
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
            title={`Show these ${formatCounted(requests, "request")}`}
            className="text-accent underline-offset-2 hover:underline"
          >
            {formatCounted(requests, "request")}
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

const ROWS_FIRST = 12;

interface HeatCardProps {
  readonly report: Report;
  readonly breakdown: readonly ErrorsRow[];
  readonly outcomes: readonly Outcome[];
  readonly measure: HeatMeasure;
  /** What the outcomes are together. */
  readonly countLabel: string;
}

/** Whether failures come at once or after a long wait, by provider and model. */
function HeatCard({ report, breakdown, outcomes, measure, countLabel }: HeatCardProps) {
  const labels: { readonly [measure in HeatMeasure]: string } = {
    failures: countLabel,
    all: "All outcomes",
    share: `Share: ${countLabel.toLowerCase()}`,
  };
  const all = useMemo(() => toBandRows(breakdown, { outcomes, measure }), [breakdown, outcomes, measure]);
  const { rows, more } = useFirstRows(all, ROWS_FIRST, "");
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
      {more !== null && <div className="mt-3 flex justify-center">{more}</div>}
    </Card>
  );
}

interface NoErrorsProps {
  readonly report: Report;
  /** Requests of any outcome in the window. */
  readonly requests: number;
}

/** No failed requests, or there was nothing that could: which of the two, and the way on. */
function NoErrors({ report, requests }: NoErrorsProps) {
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
        title={toNoErrorsTitle(report, requests)}
        body={requests > 0 && `${formatCounted(requests, "request")} in this window.`}
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

function toNoErrorsTitle({ filters: { outcome, ...others } }: Report, requests: number): string {
  if (requests === 0) {
    return countFilters(others) > 0 ? "No request matches these filters" : "No requests in this window";
  }
  if (outcome?.length === 1 && outcome[0] === "ok") return "The filter selects successful requests";
  return outcome === undefined ? "No failed requests" : "No requests with this outcome";
}
