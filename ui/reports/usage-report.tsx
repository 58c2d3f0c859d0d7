import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type ReactNode, Suspense, useMemo, useState } from "react";
import { STANDARD_TIER } from "#kernel/price-variants.ts";
import { breakdownQuery } from "../api/reports.ts";
import { useMe } from "../api/session.ts";
import { StackedBars } from "../charts/stacked-bars.tsx";
import { Button } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { Outdated } from "../components/outdated.tsx";
import { Segmented } from "../components/segmented.tsx";
import { ChartSkeleton, Skeleton } from "../components/skeleton.tsx";
import { lazyPart } from "../lazy-part.tsx";
import { type Breakdown, BREAKDOWN_LABELS, BREAKDOWNS, type Measure } from "../search/breakdown.ts";
import { countFilters, NO_FILTERS } from "../search/filters.ts";
import { readOverviewSearch } from "../search/pages.ts";
import { type Report, toBeforeText } from "../search/report.ts";
import { ALL_TIME, toChosenSearch } from "../search/window.ts";
import { AnswerView, CountedWindow, useCompared, useOutdated } from "./answer.tsx";
import { MEASURE_FORMATS, MEASURE_LABELS, MEASURE_OPTIONS, toTotals } from "./figures.ts";
import { toGroupSearch } from "./groups.ts";
import { type Scope, seriesQuery, type Stack, type StackAnswer, useStack } from "./stack.ts";
import { Tiles, toUsageTiles } from "./tiles.tsx";
import { UsageTable } from "./usage-table.tsx";

export interface UsageReportProps {
  readonly scope: Scope;
  readonly report: Report;
  /** Stands above the table, which is not seen before it is known how high that is. */
  readonly children?: ReactNode;
  readonly isHeldBack?: boolean;
}

/** What was used in the window: in sums, over time, and by group. One's own has no filters and is by model. */
export function UsageReport({ scope, report, children, isHeldBack = false }: UsageReportProps): ReactNode {
  const { role } = useMe();
  const { by = "model", show = "cost", tagged } = readOverviewSearch(useSearch({ strict: false }));
  const { query, previousQuery, window } = report;
  const answer = useStack({ scope, report, by, tagged, measure: show });
  const { asked } = answer;
  const previous = useQuery({
    ...seriesQuery(scope, { ...(previousQuery ?? query), bucket: window.bucket }),
    enabled: previousQuery !== null,
  });
  const totals = useCompared(asked, previousQuery === null ? null : previous, toTotals);
  const isOutdated = useOutdated(report.question, !totals.isComplete);
  const tiles = useMemo(
    () => toUsageTiles(role === "admin", <Why scope={scope} report={report} />),
    [role, scope, report],
  );
  return (
    <>
      <CountedWindow notes={asked.data?.notes} />
      {(asked.error === null || (totals.now !== null && !isOutdated)) && (
        <Outdated when={isOutdated}>
          <Tiles compared={totals} tiles={tiles} before={toBeforeText(report)} />
        </Outdated>
      )}
      <ChartCard {...{ scope, report, answer, by, tagged }} measure={show} />
      {children}
      <div className={isHeldBack ? "invisible" : undefined}>
        <UsageTable {...{ scope, report, answer, by }} />
      </div>
    </>
  );
}

const CostChangeDialog = lazyPart(async () => (await import("./cost-change.tsx")).CostChangeDialog);

/** Opens what the difference to another window is made of. */
function Why({ scope, report }: Pick<UsageReportProps, "scope" | "report">) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button variant="ghost" size="sm" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Why?
      </Button>
      {isOpen && (
        <Suspense>
          <CostChangeDialog {...{ scope, report }} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

const BREAKDOWN_OPTIONS = BREAKDOWNS.map((by) => ({ value: by, label: BREAKDOWN_LABELS[by] }));
const UNTIERED_OPTIONS = BREAKDOWN_OPTIONS.filter(({ value }) => value !== "tier");

/** Whether the window has requests of another tier than the standard one; asked once the picture is there, which is what is waited for. */
function useHasTiers({ query: { since, until } }: Report, isAsked: boolean): boolean {
  const { data } = useQuery({ ...breakdownQuery({ since, until, by: "tier", limit: 2 }), enabled: isAsked });
  return data?.rows.some(({ value }) => value !== STANDARD_TIER) === true;
}

interface ChartCardProps {
  readonly scope: Scope;
  readonly report: Report;
  readonly answer: StackAnswer;
  readonly by: Breakdown;
  readonly tagged: string | undefined;
  readonly measure: Measure;
}

/** The chart with what it counts and what it is cut by. */
function ChartCard({ scope, report, answer, by, tagged, measure }: ChartCardProps) {
  const { data, tagKeys } = answer;
  const { change, window } = report;
  const hasTiers = useHasTiers(report, scope === "team" && data !== null);
  return (
    <Card
      className="mb-3"
      title={`${MEASURE_LABELS[measure]} by ${BREAKDOWN_LABELS[by].toLowerCase()}`}
      lead={`Per ${window.bucket}, in UTC. A bar narrows the window${scope === "team" ? ", a name adds a filter" : ""}.`}
      actions={
        <>
          <Segmented
            label="Measure"
            options={MEASURE_OPTIONS}
            value={measure}
            onValueChange={(show) => change({ show: show === "cost" ? undefined : show })}
          />
          {scope === "team" && (
            <Segmented
              label="What it is cut by"
              options={hasTiers || by === "tier" ? BREAKDOWN_OPTIONS : UNTIERED_OPTIONS}
              value={by}
              onValueChange={(next) => change({ by: next === "model" ? undefined : next, tagged: undefined })}
            />
          )}
        </>
      }
    >
      {by === "tag" && (data === null || tagKeys.length > 0) && (
        <TagKeys keys={tagKeys} chosen={tagged ?? tagKeys[0]} onChoose={(key) => change({ tagged: key })} />
      )}
      <AnswerView
        answer={answer}
        skeleton={<ChartSkeleton />}
        className="min-h-[19.75rem] min-[1400px]:min-h-[18.25rem]"
      >
        {(stack) => <Chart {...{ scope, stack, report }} />}
      </AnswerView>
    </Card>
  );
}

/** A request has one value of each tag, but several tags: only one of them at a time cuts the usage into parts. */
const KEYS_SHOWN_MAX = 12;

interface TagKeysProps {
  readonly keys: readonly string[];
  readonly chosen: string | undefined;
  readonly onChoose: (key: string) => void;
}

/** Which tag's values are told apart; its place is kept until the tags are known. */
function TagKeys({ keys, chosen, onChoose }: TagKeysProps) {
  const shown = keys.slice(0, KEYS_SHOWN_MAX);
  const isApart = chosen !== undefined && !shown.includes(chosen);
  const options = [...shown, ...(isApart ? [chosen] : [])].map((key) => ({ value: key, label: key }));
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2 text-xs text-ink-soft">
      <span>Values of the tag</span>
      {options.length === 0 ? (
        <Skeleton className="h-8 w-40" />
      ) : (
        <Segmented label="Tag" options={options} value={chosen ?? ""} onValueChange={onChoose} />
      )}
    </div>
  );
}

interface ChartProps {
  readonly scope: Scope;
  readonly stack: Stack;
  readonly report: Report;
}

/** The usage over time by group: a bar narrows the window, a series adds its filter. */
function Chart({ scope, stack, report }: ChartProps) {
  const { series, buckets, bucket, measure, cut, groups } = stack;
  const what = MEASURE_LABELS[measure];
  const narrowTo = (id: string) => {
    const group = groups.find((one) => one.id === id);
    const search = group === undefined ? null : toGroupSearch(group, cut);
    if (search !== null) report.change(search);
  };
  return (
    <StackedBars
      label={
        scope === "own"
          ? `Your ${what.toLowerCase()} per ${bucket}`
          : `${what} by ${BREAKDOWN_LABELS[cut.by].toLowerCase()}, per ${bucket}`
      }
      {...{ series, buckets, bucket }}
      format={MEASURE_FORMATS[measure]}
      onWindow={(since, until) => report.change(toChosenSearch(since, until))}
      onSeries={scope === "team" ? narrowTo : undefined}
      empty={<Nothing stack={stack} report={report} />}
    />
  );
}

/** Why there is nothing to see, and what shows something. */
function Nothing({ stack, report }: Omit<ChartProps, "scope">): ReactNode {
  const { totals, measure } = stack;
  const { filters, window, change } = report;
  if (totals.some(({ requests }) => requests > 0)) {
    return measure === "cost"
      ? "None of the requests in this window has a price."
      : "No tokens were reported in this window.";
  }
  const isFiltered = countFilters(filters) > 0;
  return (
    <div className="flex flex-col items-center gap-2">
      <p>No requests in this window{isFiltered && " match the filters"}.</p>
      <div className="flex flex-wrap justify-center gap-2">
        {isFiltered && (
          <Button size="sm" onClick={() => change(NO_FILTERS)}>
            Show without filters
          </Button>
        )}
        {window.range !== "all" && (
          <Button size="sm" onClick={() => change(ALL_TIME)}>
            Show all time
          </Button>
        )}
      </div>
    </div>
  );
}
