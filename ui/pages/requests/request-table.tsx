import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { CURL } from "#snippets/curl.ts";
import { listedModelsQuery } from "../../api/models.ts";
import { isRefusal, type LogRow, requestsQuery } from "../../api/reports.ts";
import { Button, buttonClass } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { CodeBlock } from "../../components/code.tsx";
import type { TableSort } from "../../components/column.ts";
import { EmptyState } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { OpensOnDemand } from "../../components/on-demand.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { DataTable } from "../../components/table.tsx";
import { VirtualBody } from "../../components/virtual-body.tsx";
import { countFilters, isRefusedOnly, type LogOrder, NO_FILTERS } from "../../search/filters.ts";
import { ROWS_A_PAGE, type RequestsSearch } from "../../search/pages.ts";
import type { Report } from "../../search/report.ts";
import { ALL_TIME } from "../../search/window.ts";
import { SetupLink } from "../../setup/setup-link.tsx";
import { formatCount, formatCounted } from "../../text/format.ts";
import { formatInZone, type TimeZone, useTimeZone } from "../../text/time-zone.ts";
import { inZone, toColumns, useChosenColumns, useRoom } from "./columns.tsx";
import type { Log } from "./log.ts";

/** More than any window has place for. */
const SKELETON_ROWS = 40;

export interface RequestTableProps {
  readonly log: Log;
  readonly order: LogOrder | undefined;
  readonly onOrder: (order: LogOrder | undefined) => void;
  readonly report: Report;
  readonly openId: string | null;
  readonly onOpen: (row: LogRow) => void;
  /** The address that shows a row beside this log. */
  readonly toHref: (id: string) => string;
  /** The pages, beneath the rows. */
  readonly footer: ReactNode;
}

/** One line a request, with as many columns as the window has room for; on a telephone two lines and one column. */
export function RequestTable({
  log,
  order,
  onOrder,
  report,
  openId,
  onOpen,
  toHref,
  footer,
}: RequestTableProps) {
  const room = useRoom(openId !== null);
  const chosen = useChosenColumns();
  const zone = useTimeZone();
  const columns = useMemo(() => inZone(toColumns(room, chosen), zone), [room, chosen, zone]);
  const rowLabel = useMemo(() => toLabel(zone), [zone]);
  const rowHref = useMemo(
    () =>
      ({ id }: LogRow) =>
        toHref(id),
    [toHref],
  );
  return (
    <Card flush className="overflow-hidden">
      {log.failure !== null && (
        <div className="p-3">
          <ErrorNotice failure={log.failure} onRetry={log.retry} />
        </div>
      )}
      {(log.failure === null || log.rows.length > 0) && (
        <DataTable
          caption="Requests"
          columns={columns}
          rows={log.rows}
          getRowId={toId}
          sort={SORTS[order ?? "newest"]}
          isSorted
          onSort={({ id }) => onOrder(toOrder(id, order))}
          body={VirtualBody}
          busy={log.isBusy}
          skeletonRows={SKELETON_ROWS}
          // However many rows come, what stands beneath stays where it is.
          className="h-[70vh]"
          activeRowId={openId}
          freshRowIds={log.live.freshIds}
          onRowActivate={onOpen}
          rowLabel={rowLabel}
          rowHref={rowHref}
          empty={<NoRequests report={report} isLive={log.live.state === "on"} />}
        />
      )}
      <div className="flex items-start gap-2 border-t border-line px-4 py-2">
        <div className="min-w-0 flex-1">{footer}</div>
        {room !== "little" && <ColumnButton shown={columns.map(({ id }) => id)} />}
      </div>
    </Card>
  );
}

const SORTS: { readonly [order in LogOrder]: TableSort } = {
  newest: { id: "time", descending: true },
  oldest: { id: "time", descending: false },
  cost: { id: "cost", descending: true },
  duration: { id: "duration", descending: true },
};

/** The order after a press on a header. Costs and durations are sorted from the largest alone; a second press ends that. */
function toOrder(columnId: string, order: LogOrder | undefined): LogOrder | undefined {
  if (columnId === "time") return order === undefined || order === "newest" ? "oldest" : undefined;
  const next = columnId === "cost" ? "cost" : "duration";
  return next === order ? undefined : next;
}

function toId({ id }: LogRow): string {
  return id;
}

function toLabel(zone: TimeZone): (row: LogRow) => string {
  return (row) => {
    const { principal, model, endpoint } = row;
    const at = formatInZone(isRefusal(row) ? row.at : row.ts, "time", zone);
    const what = isRefusal(row) ? "refused request" : "request";
    return `Open the ${what} of ${at} by ${principal ?? "an unknown caller"} to ${model ?? endpoint ?? "an unknown path"}`;
  };
}

const loadPopover = async () => (await import("./column-popover.tsx")).ColumnPopover;

/** Opens the choice of columns; nothing where a telephone shows one alone. */
function ColumnButton({ shown }: { readonly shown: readonly string[] }) {
  return (
    <OpensOnDemand
      load={loadPopover}
      opens="dialog"
      trigger={
        <Button size="sm" variant="ghost" iconEnd="chevron-down">
          Columns
        </Button>
      }
      props={{ shown }}
    />
  );
}

export interface PagerProps {
  readonly log: Log;
  readonly search: RequestsSearch;
  readonly report: Report;
}

/** Which rows of how many these are, and the way to the others. */
export function Pager({ log, search, report: { filters, change } }: PagerProps) {
  const { rows, offset, rowsAPage, refusalsTotal } = log;
  const isOfRefusals = isRefusedOnly(filters);
  const total = isOfRefusals && log.total !== null ? refusalsTotal : log.total;
  const shown = isOfRefusals ? rows.length : rows.filter((row) => !isRefusal(row)).length;
  const page = search.page ?? 0;
  const isLast = total === null || offset + rowsAPage >= total;
  return (
    <nav
      aria-label="Pages of requests"
      className="flex min-h-7 flex-wrap items-center justify-between gap-x-4 gap-y-2"
    >
      {/* While the log is followed the figures move by themselves: read aloud, they would never end. */}
      <p
        role="status"
        aria-live={log.live.state === "on" ? "off" : undefined}
        className="text-xs text-ink-soft"
      >
        {total === null ? " " : `${toPlace(offset, shown, total)}${ORDER_WORDS[search.order ?? "newest"]}`}
        {!isOfRefusals && refusalsTotal > 0 && (
          <>
            {", beside "}
            <button type="button" className={LINK_CLASS} onClick={() => change({ outcome: "refused" })}>
              {formatCount(refusalsTotal)} refused
            </button>
          </>
        )}
      </p>
      <div className="flex items-center gap-2">
        <SelectField
          label="Rows per page"
          labelHidden
          size="sm"
          value={search.rows ?? "100"}
          options={ROWS_A_PAGE.map((value) => ({ value, label: `${value} per page` }))}
          onValueChange={(value) => change({ rows: value === "100" ? undefined : value })}
        />
        <Button
          size="sm"
          icon="chevron-left"
          disabled={page === 0}
          onClick={() => change({ page: page > 1 ? page - 1 : undefined })}
        >
          Previous
        </Button>
        <Button
          size="sm"
          iconEnd="chevron-right"
          disabled={isLast}
          onClick={() => change({ page: page + 1 })}
        >
          Next
        </Button>
      </div>
    </nav>
  );
}

const LINK_CLASS = "cursor-pointer text-accent underline underline-offset-2";

const ORDER_WORDS: { readonly [order in LogOrder]: string } = {
  newest: ", newest first",
  oldest: ", oldest first",
  cost: ", most expensive first",
  duration: ", slowest first",
};

function toPlace(offset: number, shown: number, total: number): string {
  if (shown === 0) return total === 0 ? "No requests" : `No more of ${formatCount(total)} requests`;
  return `${formatCount(offset + 1)}–${formatCount(offset + shown)} of ${formatCounted(total, "request")}`;
}

/** Why there is nothing to see, which is one of four things, and the way on. */
function NoRequests({ report, isLive }: { readonly report: Report; readonly isLive: boolean }) {
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
