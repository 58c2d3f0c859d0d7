import { useQuery, queryOptions } from "@tanstack/react-query";
import type { KeyboardEvent } from "react";
import { type RequestRow, fetchRequests } from "../../api/reports.ts";
import { Button, IconButton } from "../../components/button.tsx";
import { CopyButton } from "../../components/copy.tsx";
import { EmptyState } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { SidePanel } from "../../components/panel.tsx";
import { SkeletonText } from "../../components/skeleton.tsx";
import { findRowButton } from "../../components/table-line.tsx";
import type { Report } from "../../search/report.ts";
import { formatCount } from "../../text/format.ts";
import { useLatest } from "../../reports/use-latest.ts";
import { CostCard } from "./cost-card.tsx";
import { Facts } from "./facts.tsx";
import type { RequestList } from "./use-request-rows.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { KEYS } from "../../api/keys.ts";

export interface DetailPanelProps {
  /** Null: none is open. */
  readonly id: string | null;
  readonly list: RequestList;
  readonly report: Report;
  readonly onMove: (id: string) => void;
  readonly onClose: () => void;
}

/** All that is known of one request. Keys step to the ones beside it; closing gives the focus to the row that was shown last. */
export function DetailPanel({ id, list, report, onMove, onClose }: DetailPanelProps) {
  // While it fades out, and for the focus afterwards.
  const shownId = useLatest(id);
  const index = list.rows.findIndex((row) => row.id === shownId);
  const listed = list.rows[index];
  const isKnown = listed !== undefined || list.isBusy;
  const found = useQuery({ ...requestQuery(shownId ?? ""), enabled: id !== null && !isKnown });
  const row = listed ?? found.data ?? null;

  const newer = index > 0 ? list.rows[index - 1] : undefined;
  const older = index >= 0 ? list.rows[index + 1] : undefined;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isOlder = event.key === "j" || event.key === "ArrowRight";
    const isNewer = event.key === "k" || event.key === "ArrowLeft";
    const next = isOlder ? older : isNewer ? newer : undefined;
    if (next === undefined) return;
    event.preventDefault();
    onMove(next.id);
  };

  return (
    <SidePanel
      open={id !== null}
      onOpenChange={(open) => !open && onClose()}
      title={row === null ? "Request" : (row.model ?? row.endpoint)}
      description={
        <span role="status" className="text-xs">
          {index < 0
            ? "Not in this list"
            : `${formatCount(list.offset + index + 1)} of ${formatCount(list.total ?? list.rows.length)}, newest first`}
        </span>
      }
      actions={
        <>
          <Step label="Newer request (k)" icon="chevron-up" to={newer} onMove={onMove} />
          <Step label="Older request (j)" icon="chevron-down" to={older} onMove={onMove} />
        </>
      }
      footer={
        row !== null && (
          <>
            <CopyButton text={row.id} label="Copy id" />
            <CopyButton text={`${JSON.stringify(row, null, 2)}\n`} label="Copy as JSON" />
          </>
        )
      }
      toFinalFocus={() => (shownId === null ? null : findRowButton(shownId))}
      onKeyDown={onKeyDown}
    >
      {row !== null ? (
        <Detail row={row} report={report} />
      ) : found.error !== null ? (
        <ErrorNotice failure={found.error} onRetry={() => void found.refetch()} />
      ) : list.isBusy || found.isPending ? (
        <div aria-busy>
          <SkeletonText lines={12} />
        </div>
      ) : (
        <EmptyState
          icon="search"
          title="This request is not in this view"
          body="It is not in the log either: it may be older than the retention, or the address is incomplete."
          action={<Button onClick={onClose}>Show the list</Button>}
        />
      )}
    </SidePanel>
  );
}

function Detail({ row, report }: { readonly row: RequestRow; readonly report: Report }) {
  return (
    <div className="flex flex-col gap-5">
      <Facts row={row} report={report} />
      <CostCard row={row} />
      <p className="text-xs text-ink-soft">
        Content is never stored: prompts and answers are not recorded, only this metadata.
      </p>
    </div>
  );
}

interface StepProps {
  readonly label: string;
  readonly icon: "chevron-up" | "chevron-down";
  readonly to: RequestRow | undefined;
  readonly onMove: (id: string) => void;
}

function Step({ label, icon, to, onMove }: StepProps) {
  return (
    <IconButton
      label={label}
      icon={icon}
      // Not disabled: at the end of the list the focus would be lost.
      aria-disabled={to === undefined}
      onClick={() => to !== undefined && onMove(to.id)}
    />
  );
}

/**
 * A request by its id, whatever the view shows: an id is made of the instant (UUIDv7), so the log is asked for that
 * millisecond alone. Null: there is none, or it is too old to be kept.
 */
function requestQuery(id: string) {
  return queryOptions({
    queryKey: [...KEYS.request, id],
    queryFn: async ({ signal }): Promise<RequestRow | null> => {
      const atMs = toInstantMs(id);
      if (atMs === null) return null;
      const window = { since: new Date(atMs).toISOString(), until: new Date(atMs + 1).toISOString() };
      const { requests } = await fetchRequests(window, { limit: PAGE_LIMIT_MAX }, signal);
      return requests.find((row) => row.id === id) ?? null;
    },
  });
}

const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Milliseconds since 1970 (RFC 9562, section 5.7), or null for what is no such id. */
function toInstantMs(id: string): number | null {
  const [, high, low] = UUID_V7.exec(id) ?? [];
  return high === undefined || low === undefined ? null : Number.parseInt(high + low, 16);
}
