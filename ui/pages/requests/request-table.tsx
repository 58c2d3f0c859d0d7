import type { ReactNode } from "react";
import type { RequestRow } from "../../api/reports.ts";
import { Card } from "../../components/card.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { DataTable } from "../../components/table.tsx";
import { VirtualBody } from "../../components/virtual-body.tsx";
import type { Report } from "../../search/report.ts";
import { formatInstant } from "../../text/format.ts";
import { COLUMNS } from "./columns.tsx";
import { NoRequests } from "./no-requests.tsx";
import type { RequestList } from "./use-request-rows.ts";
import { useRoom } from "./use-room.ts";

/** More than any window has place for. */
const SKELETON_ROWS = 40;

export interface RequestTableProps {
  readonly list: RequestList;
  readonly report: Report;
  readonly openId: string | null;
  readonly onOpen: (row: RequestRow) => void;
  readonly footer: ReactNode;
}

/** One line a request, with as many columns as the window has room for; on a telephone two lines and one column. */
export function RequestTable({ list, report, openId, onOpen, footer }: RequestTableProps) {
  const columns = COLUMNS[useRoom()];
  return (
    <Card flush className="overflow-hidden">
      {list.failure !== null && (
        <div className="p-3">
          <ErrorNotice failure={list.failure} onRetry={list.retry} />
        </div>
      )}
      {(list.failure === null || list.rows.length > 0) && (
        <DataTable
          caption="Requests"
          columns={columns}
          rows={list.rows}
          getRowId={toId}
          sort={null}
          isSorted
          body={VirtualBody}
          busy={list.isBusy}
          skeletonRows={SKELETON_ROWS}
          // However many rows come, what stands beneath stays where it is.
          className="h-[70vh]"
          activeRowId={openId}
          freshRowIds={list.tail?.freshIds}
          onRowActivate={onOpen}
          rowLabel={toLabel}
          empty={<NoRequests report={report} isLive={list.tail !== null} />}
        />
      )}
      <div className="border-t border-line px-4 py-2">{footer}</div>
    </Card>
  );
}

function toId({ id }: RequestRow): string {
  return id;
}

function toLabel({ ts, principal, model, endpoint }: RequestRow): string {
  return `Open the request of ${formatInstant(ts, "time")} UTC by ${principal} to ${model ?? endpoint}`;
}
