import { type ReactNode, useMemo } from "react";
import type { RequestRow } from "../../api/reports.ts";
import { Card } from "../../components/card.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import type { TableSort } from "../../components/column.ts";
import { DataTable } from "../../components/table.tsx";
import { VirtualBody } from "../../components/virtual-body.tsx";
import type { LogOrder } from "../../search/filters.ts";
import type { Report } from "../../search/report.ts";
import { formatInZone, type TimeZone, useTimeZone } from "../../text/time-zone.ts";
import { inZone, toColumns, useChosenColumns } from "./chosen-columns.ts";
import { ColumnButton } from "./column-button.tsx";
import { NoRequests } from "./no-requests.tsx";
import type { Log } from "./use-log.ts";
import { useRoom } from "./use-room.ts";

/** More than any window has place for. */
const SKELETON_ROWS = 40;

export interface RequestTableProps {
  readonly log: Log;
  readonly order: LogOrder | undefined;
  readonly onOrder: (order: LogOrder | undefined) => void;
  readonly report: Report;
  readonly openId: string | null;
  readonly onOpen: (row: RequestRow) => void;
  /** The address that shows a row beside this log. */
  readonly toHref: (id: string) => string;
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
      ({ id }: RequestRow) =>
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

function toId({ id }: RequestRow): string {
  return id;
}

function toLabel(zone: TimeZone): (row: RequestRow) => string {
  return ({ ts, principal, model, endpoint }) =>
    `Open the request of ${formatInZone(ts, "time", zone)} by ${principal} to ${model ?? endpoint}`;
}
