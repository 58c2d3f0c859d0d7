import { useQuery } from "@tanstack/react-query";
import { Link, useRouter, useSearch } from "@tanstack/react-router";
import { type ReactNode, useCallback, useMemo } from "react";
import { type CacheUse, myBreakdownQuery, myUsageQuery } from "../api/reports.ts";
import { type Breakdown as BreakdownReport, breakdownQuery, teamSummaryQuery } from "../api/reports.ts";
import { buttonClass } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty.tsx";
import { USUAL_PX, useIsWide } from "../components/room.ts";
import { TableSkeleton } from "../components/skeleton.tsx";
import { DataTable } from "../components/table.tsx";
import { type Breakdown, BREAKDOWN_LABELS, type Measure } from "../search/breakdown.ts";
import { type Report, toRefresh } from "../search/report.ts";
import { readSort, toSort, toSortSearch } from "../search/sort.ts";
import { toWindowSearch } from "../search/window.ts";
import { toSavingText } from "../text/cache-saving.ts";
import { formatCounted, formatMoney, formatPercent } from "../text/format.ts";
import { CsvButton, CsvStatus, useCsvExport } from "./csv-export.tsx";
import { toTotals } from "./figures.ts";
import {
  type Group,
  hasCompanions,
  toCompanionRow,
  toCompanions,
  toGroupBy,
  toGroupId,
  toGroupSearch,
} from "./groups.ts";
import type { Scope, Stack, StackAnswer } from "./stack.ts";
import {
  type Companions,
  GroupCard,
  GroupName,
  NAME_IDS,
  type Speeds,
  toColumns,
  toFigureSums,
} from "./usage-columns.tsx";

export interface UsageTableProps {
  readonly scope: Scope;
  readonly report: Report;
  readonly answer: StackAnswer;
  readonly by: Breakdown;
}

/** What differs by whose usage it is. */
const SCOPES = {
  team: {
    csv: {
      path: "/stats/summary",
      subject: "usage",
      title: "Answered and cancelled requests by person, provider, model, client and tags",
    },
    shownPath: "/stats/breakdown",
    toCaption: (by: string) => `Usage by ${by}`,
  },
  own: {
    csv: {
      path: "/my/usage",
      subject: "my-usage",
      title: "Answered and cancelled requests by model and endpoint",
    },
    shownPath: "/my/usage/breakdown",
    toCaption: (by: string) => `Your usage by ${by}`,
  },
} as const;

/** The figures behind the chart, and the way to take them along. */
export function UsageTable({ scope, report, answer, by }: UsageTableProps): ReactNode {
  const { data: stack, isOutdated, failure } = answer;
  const { csv: file, shownPath } = SCOPES[scope];
  const companions = useCompanions(scope, report, stack);
  const speeds = useSpeeds(scope, report, stack);
  const name = BREAKDOWN_LABELS[by].toLowerCase();
  const shown = useCsvExport({
    path: shownPath,
    subject: `${file.subject}-by-${name.replaceAll(" ", "-")}`,
    query: { ...report.query, by: toGroupBy(stack?.cut ?? { by, tagKey: null }), limit: ROWS_MAX },
  });
  const detail = useCsvExport({ ...file, query: { ...report.query } });
  if (stack === null && failure !== null) return null;
  return (
    <Card
      flush
      title={`By ${name}`}
      actions={
        <>
          <CsvButton
            size="sm"
            state={shown}
            label="As shown"
            title={`CSV by ${name}, with all its figures and times`}
          />
          <CsvButton size="sm" state={detail} label="All detail" title={`CSV: ${file.title}`} />
        </>
      }
    >
      <CsvStatus state={shown} className="px-4 pb-4" />
      <CsvStatus state={detail} className="px-4 pb-4" />
      {stack === null ? (
        <TableSkeleton rows={9} />
      ) : (
        <GroupTable {...{ scope, stack, companions, speeds, report }} busy={isOutdated} />
      )}
      {!isOutdated && speeds.cache !== null && <CacheNote cache={speeds.cache} reason={speeds.reason} />}
      {scope === "team" && <UnmeteredHint report={report} count={isOutdated ? null : speeds.unmetered} />}
    </Card>
  );
}

const NO_COMPANIONS: Companions = new Map();

/** None while the report is on its way, or tells of a part of the usage only. It is asked for after the picture, which is what is waited for. */
function useCompanions(scope: Scope, { query, window }: Report, stack: Stack | null): Companions {
  const isOn = stack !== null;
  const refresh = toRefresh(window);
  const team = useQuery({ ...teamSummaryQuery(query), ...refresh, enabled: isOn && scope === "team" });
  const { since, until } = query;
  const own = useQuery({ ...myUsageQuery({ since, until }), ...refresh, enabled: isOn && scope === "own" });
  const cut = stack?.cut;
  const { data, isPlaceholderData } = team;
  const { data: ownData } = own;
  return useMemo(() => {
    if (ownData !== undefined) {
      return toCompanions(
        ownData.usage.map(({ model, endpoint, ...row }) => ({
          ...row,
          group: toGroupId(model),
          name: endpoint,
        })),
      );
    }
    if (data === undefined || cut === undefined || isPlaceholderData || data.notes.isTruncated) {
      return NO_COMPANIONS;
    }
    if (!hasCompanions(cut)) return NO_COMPANIONS;
    return toCompanions(data.usage.map((row) => toCompanionRow(row, cut)));
  }, [data, ownData, cut, isPlaceholderData]);
}

/** Why a breakdown has no percentiles, in words; null when it has. */
const NO_PERCENTILES = {
  exact: null,
  too_many_requests: "More than a million requests: choose a shorter window for exact percentiles",
  rows_removed: "Single requests of this window are no longer kept",
} as const satisfies { readonly [known in BreakdownReport["percentiles"]]: string | null };

const UNKNOWN: Speeds = { groups: new Map(), total: null, reason: null, unmetered: null, cache: null };
/** More than are ever told apart in the picture. */
const ROWS_MAX = 500;

/** Cost per request and percentiles of each group that is shown. */
function useSpeeds(scope: Scope, { query, window }: Report, stack: Stack | null): Speeds {
  const groupBy = stack === null ? "model" : toGroupBy(stack.cut);
  const { data, isPlaceholderData } = useQuery({
    ...(scope === "own"
      ? myBreakdownQuery(query)
      : breakdownQuery({ ...query, by: groupBy, limit: ROWS_MAX, cache: "1" })),
    ...toRefresh(window),
    enabled: stack !== null,
  });
  return useMemo(() => {
    if (data === undefined || isPlaceholderData) return UNKNOWN;
    return {
      groups: new Map(data.rows.map((row) => [toGroupId(row.value), row])),
      total: data.total,
      reason: NO_PERCENTILES[data.percentiles],
      unmetered: data.total.unmetered,
      cache: data.total.cache ?? null,
    };
  }, [data, isPlaceholderData]);
}

interface GroupTableProps {
  readonly scope: Scope;
  readonly stack: Stack;
  readonly companions: Companions;
  readonly speeds: Speeds;
  readonly report: Report;
  readonly busy: boolean;
}

/** From this width of the window each kind of token has a column, and the share has one. */
const ROOMY_PX = 1500;

/** The groups with their figures, the largest first; a row of the team's narrows the page to its group, and cuts that by something else. */
function GroupTable({ scope, stack, companions, speeds, report, busy }: GroupTableProps) {
  const { groups, measure, cut, totals } = stack;
  const { toCaption } = SCOPES[scope];
  const isRoomy = useIsWide(ROOMY_PX);
  const isTight = !useIsWide(USUAL_PX);
  const columns = useMemo(
    () => toColumns({ scope, stack, companions, speeds, isRoomy, isTight }),
    [scope, stack, companions, speeds, isRoomy, isTight],
  );
  const card = useCallback(
    (group: Group) => (
      <GroupCard
        name={<GroupName {...{ scope, group, companions }} />}
        companion={companions.get(group.id)?.[0]}
        // Beside a provider's name there is no room for it on a telephone.
        p50={scope === "own" ? (speeds.groups.get(group.id)?.duration_ms.p50 ?? null) : null}
        group={group}
      />
    ),
    [scope, companions, speeds],
  );
  const router = useRouter();
  const here = useSearch({ strict: false });
  const rowHref = useCallback(
    (group: Group) => {
      const search = toGroupSearch(group, cut);
      return search === null ? null : router.buildLocation({ to: ".", search: { ...here, ...search } }).href;
    },
    [cut, router, here],
  );
  const sums = useMemo(() => toTotals({ series: totals }), [totals]);
  const chosen = toSort(readSort(here));
  const isColumn = columns.some(({ id }) => id === chosen?.id);
  return (
    <DataTable
      caption={toCaption(BREAKDOWN_LABELS[cut.by].toLowerCase())}
      columns={columns}
      rows={groups}
      getRowId={toId}
      sort={isColumn ? chosen : { id: toFirstSort(measure, isRoomy), descending: true }}
      onSort={(next) => report.change(toSortSearch(next))}
      busy={busy}
      hasFixedColumns
      card={card}
      empty={
        scope === "own" ? <NoUsage /> : <EmptyState icon="usage" title="Nothing was used in this window" />
      }
      footer={{ [NAME_IDS[scope]]: "Total", ...toFigureSums(sums, speeds.total) }}
      {...(scope === "team" && {
        rowHref,
        rowLabel: () => "alone",
        onRowActivate: (group: Group) => {
          const search = toGroupSearch(group, cut);
          if (search !== null) report.change(search);
        },
      })}
    />
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

/** The measure's own column; the tokens of all kinds have none where each kind has one. */
function toFirstSort(measure: Measure, isRoomy: boolean): string {
  return measure === "tokens" && isRoomy ? "share" : measure;
}

function toId({ id }: Group): string {
  return id;
}

interface UnmeteredHintProps {
  readonly report: Report;
  /** Requests that ended without their usage; null while it is not known. */
  readonly count: number | null;
}

/** Says that sums are too low. It stands beneath the table, which it would move otherwise. */
function UnmeteredHint({ report: { filters, window }, count }: UnmeteredHintProps) {
  if (count === null || count === 0) return null;
  return (
    <p role="note" className="border-t border-line px-4 py-2.5 text-xs text-ink-soft">
      {formatCounted(count, "request")} ended without usage, so the tokens and the cost are not in these sums.
      The provider did not send it, or the caller left before: the usage of such rows under{" "}
      <Link
        to="/requests"
        search={{ ...filters, ...toWindowSearch(window), outcome: ["ok", "cancelled"] }}
        className="text-accent underline underline-offset-2"
      >
        Requests
      </Link>{" "}
      is “Not reported”.
    </p>
  );
}

interface CacheNoteProps {
  readonly cache: CacheUse;
  /** Why single requests are not read; null when they are. */
  readonly reason: string | null;
}

/** What prompt caches gave and saved; nothing where none was read or written. */
function CacheNote({ cache, reason }: CacheNoteProps) {
  const share = cache.read_share ?? 0;
  const writeCost = cache.write_cost ?? 0;
  if (share === 0 && writeCost === 0) return null;
  return (
    <p
      role="note"
      aria-label="Prompt caches"
      className="border-t border-line px-4 py-2.5 text-xs text-ink-soft"
    >
      {formatPercent(share)} of the input was read from prompt caches.{" "}
      {writeCost > 0 && `Writing to them cost ${formatMoney(writeCost)}. `}
      {toSavingText(cache, reason)}
    </p>
  );
}
