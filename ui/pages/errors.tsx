import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { errorsQuery, type ErrorsReport, type Outcome } from "../api/reports.ts";
import type { Series } from "../charts/series.ts";
import { StackedBars } from "../charts/stacked-bars.tsx";
import { Card } from "../components/card.tsx";
import { SwitchField } from "../components/choice-field.tsx";
import { Absent } from "../components/empty.tsx";
import { Outdated } from "../components/outdated.tsx";
import { PageHead } from "../components/page-head.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { Failures } from "../lists/list-page.tsx";
import { FilterBar } from "../filters/filter-bar.tsx";
import { CountedWindow, useCompared, useOutdated } from "../reports/answer.tsx";
import { Tiles, type TileSpec } from "../reports/tiles.tsx";
import { toggleValue } from "../search/filters.ts";
import { type Report, toBeforeText, toRefresh, useReport } from "../search/report.ts";
import { toChosenSearch } from "../search/window.ts";
import { formatCount, formatPercent } from "../text/format.ts";
import { toOutcomeWord } from "../text/outcomes.ts";
import { FailingClients, useFailingClients } from "./errors/failing-clients.tsx";
import { ErrorLists } from "./errors/error-lists.tsx";
import {
  countOf,
  FAILURES,
  type OutcomeCounts,
  toDenominator,
  toDrawnOutcomes,
  toOutcomeCounts,
  toShare,
} from "./errors/outcomes.ts";

const route = getRouteApi("/shell/errors");

/**
 * What failed, how often of what, where, how fast and for whom; and what to do about it. It is asked for without the filter
 * by outcome, since a share is one of all that ended: the page narrows by outcome itself.
 */
export function ErrorsPage() {
  const { ok, heat = "failures" } = route.useSearch();
  const report = useReport("7d");
  const { query, previousQuery, window, question } = report;
  const asking = { outcome: undefined, bucket: window.bucket };
  const asked = useQuery({ ...errorsQuery({ ...query, ...asking }), ...toRefresh(window) });
  const previous = useQuery({
    ...errorsQuery({ ...(previousQuery ?? query), ...asking }),
    enabled: previousQuery !== null,
  });
  const compared = useCompared(asked, previousQuery === null ? null : previous, toOutcomeCounts);
  const isOutdated = useOutdated(question, asked.isPlaceholderData);
  // They also wait for the window before.
  const areTilesOutdated = useOutdated(question, !compared.isComplete);
  const clients = useFailingClients(report);
  const { data, error } = asked;
  return (
    <>
      <PageHead
        title="Errors"
        lead="Requests that failed at the provider or never reached it. Requests that the caller cancelled are counted separately."
      />
      <FilterBar report={report} />
      <Failures asked={[asked]} />
      {(data !== undefined || error === null) && (
        <>
          <Outdated when={areTilesOutdated}>
            <Tiles compared={compared} tiles={TILES} before={toBeforeText(report)} />
          </Outdated>
          <CountedWindow notes={data?.notes} />
          {data === undefined ? (
            <ReportSkeleton />
          ) : (
            <Outdated when={isOutdated}>
              {data.notes.isTruncated && <Truncated />}
              <ErrorLists
                {...{ report, data, heat }}
                clients={<FailingClients report={report} {...clients} />}
              >
                <OutcomeCard report={report} series={data.series} withOk={ok === "1"} />
              </ErrorLists>
            </Outdated>
          )}
        </>
      )}
    </>
  );
}

/** How much failed, of what, and how. Those whose caller hung up count neither as failed nor as succeeded. */
const TILES: readonly TileSpec<OutcomeCounts>[] = [
  {
    label: "Failure rate",
    wide: "always",
    isShare: true,
    goodWhen: "down",
    of: (counts) => toShare(counts, FAILURES),
    write: toFailureRate,
    hint: (counts) => `of ${formatCount(toDenominator(counts, FAILURES))}`,
  },
  toCountTile("Failed", FAILURES),
  toCountTile("Upstream errors", ["upstream_error"]),
  toCountTile("Unreachable", ["unreachable"]),
  { label: "Cancelled, not failed", of: ({ cancelled }) => cancelled },
];

function toCountTile(label: string, outcomes: readonly Outcome[]): TileSpec<OutcomeCounts> {
  return { label, goodWhen: "down", of: (counts) => countOf(counts, outcomes) };
}

function toFailureRate(counts: OutcomeCounts) {
  const rate = toShare(counts, FAILURES);
  if (rate === null) return <Absent />;
  const of = `${formatCount(countOf(counts, FAILURES))} of ${formatCount(toDenominator(counts, FAILURES))}`;
  return <span title={`${of} requests that were not cancelled`}>{formatPercent(rate)}</span>;
}

function Truncated() {
  return (
    <p role="note" className="mb-4 rounded-card bg-warn-soft px-4 py-2.5 text-ink">
      The report is truncated: the rarest rows are missing below the chart, and shares are approximate. Narrow
      the window or filter.
    </p>
  );
}

/** As high as the first look at what comes. */
function ReportSkeleton() {
  return (
    <div aria-busy>
      <Card className="mb-4">
        <Skeleton className="h-72 w-full" />
      </Card>
      <Card>
        <Skeleton className="h-96 w-full" />
      </Card>
    </div>
  );
}

interface OutcomeCardProps {
  readonly report: Report;
  readonly series: ErrorsReport["series"];
  readonly withOk: boolean;
}

/** How requests ended over time; a bar or a brush becomes the window, an outcome the filter. */
function OutcomeCard({ report, series, withOk }: OutcomeCardProps) {
  const { filters, window, change } = report;
  const outcomes = useMemo(() => toDrawnOutcomes(filters.outcome, withOk), [filters.outcome, withOk]);
  const bars = useMemo(() => {
    const drawn = outcomes.map((id): Series => ({ id, label: toOutcomeWord(id), kind: "outcome" }));
    const buckets = series.map((one) => ({ start: one.start, values: outcomes.map((id) => one[id]) }));
    return { series: drawn, buckets };
  }, [series, outcomes]);
  return (
    <Card
      className="mb-4"
      title="Outcomes over time"
      lead={`Per ${window.bucket}, in UTC. A bar narrows the window, an outcome adds a filter.`}
      actions={
        <SwitchField
          label="Include successful"
          checked={withOk}
          onCheckedChange={(on) => change({ ok: on ? "1" : undefined })}
        />
      }
    >
      <StackedBars
        {...bars}
        label={`Requests by ${window.bucket} and outcome`}
        bucket={window.bucket}
        format={formatCount}
        height={CHART_HEIGHT_PX}
        onWindow={(since, until) => change(toChosenSearch(since, until))}
        onSeries={(outcome) => change(toggleValue(filters, "outcome", outcome))}
        empty="No such requests in this window"
      />
    </Card>
  );
}

const CHART_HEIGHT_PX = 200;
