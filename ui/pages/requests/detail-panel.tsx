import { useQuery } from "@tanstack/react-query";
import { REFUSALS_KEPT } from "#views/refusals.ts";
import { foundRequestQuery, type RequestRow } from "../../api/reports.ts";
import { useMe } from "../../api/session.ts";
import { Button, IconButton } from "../../components/button.tsx";
import { CopyButton } from "../../components/copy.tsx";
import { EmptyState } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { BesidePanel } from "../../components/beside-panel.tsx";
import { SkeletonText } from "../../components/skeleton.tsx";
import { findRowButton } from "../../components/table-line.tsx";
import type { Report } from "../../search/report.ts";
import { formatCount } from "../../text/format.ts";
import { CostCard } from "./cost-card.tsx";
import { Facts, RefusalFacts } from "./facts.tsx";
import type { Log } from "./use-log.ts";

export interface DetailPanelProps {
  readonly id: string;
  readonly log: Log;
  readonly report: Report;
  readonly onMove: (id: string) => void;
  readonly onClose: () => void;
  readonly takesFocus: boolean;
}

/** All that is known of one request, beside the log. Keys step to the next ones; closing gives the focus to the row shown last. */
export function DetailPanel({ id, log, report, onMove, onClose, takesFocus }: DetailPanelProps) {
  const isAdmin = useMe().role === "admin";
  const index = log.rows.findIndex((row) => row.id === id);
  const listed = log.rows[index];
  const isKnown = listed !== undefined || log.isBusy;
  const found = useQuery({ ...foundRequestQuery(id), enabled: !isKnown });
  const row = listed ?? found.data?.request ?? null;
  const refusal = row === null ? (found.data?.refusal ?? null) : null;

  const previous = index > 0 ? log.rows[index - 1] : undefined;
  const following = index >= 0 ? log.rows[index + 1] : undefined;
  const onPageKey = ({ key, target }: KeyboardEvent): boolean => {
    // A chart has its own use for arrows.
    const isArrow = target instanceof Element && target.closest("[role=application]") === null;
    // With the focus nowhere, as after a press on a row, arrows step as they do in the table.
    const isAlong = target === document.body;
    const isNext = key === "j" || (isArrow && key === "ArrowRight") || (isAlong && key === "ArrowDown");
    const isPrevious = key === "k" || (isArrow && key === "ArrowLeft") || (isAlong && key === "ArrowUp");
    const next = isNext ? following : isPrevious ? previous : undefined;
    if (next === undefined) return false;
    onMove(next.id);
    // The focus stays in the table, on the row that is shown.
    if (target instanceof HTMLElement && target.matches("[data-row-open]")) findRowButton(next.id)?.focus();
    return true;
  };

  return (
    <BesidePanel
      onClose={onClose}
      takesFocus={takesFocus}
      title={refusal !== null ? "Refused request" : row === null ? "Request" : (row.model ?? row.endpoint)}
      description={
        <span role="status" className="text-xs">
          {refusal !== null
            ? "It reached no provider, so it is not in the log"
            : index < 0
              ? "Not in this list"
              : `${formatCount(log.offset + index + 1)} of ${formatCount(log.total ?? log.rows.length)}`}
        </span>
      }
      actions={
        <>
          <Step label="Previous request (k)" icon="chevron-up" to={previous} onMove={onMove} />
          <Step label="Next request (j)" icon="chevron-down" to={following} onMove={onMove} />
        </>
      }
      footer={
        row !== null ? (
          <>
            <CopyButton text={`${location.origin}/requests?open=${row.id}`} label="Copy link" />
            <CopyButton text={row.id} label="Copy id" />
            <CopyButton text={`${JSON.stringify(row, null, 2)}\n`} label="Copy as JSON" />
          </>
        ) : refusal !== null ? (
          <CopyButton text={`${JSON.stringify(refusal, null, 2)}\n`} label="Copy as JSON" />
        ) : undefined
      }
      toFinalFocus={() => findRowButton(id)}
      onPageKey={onPageKey}
    >
      {row !== null ? (
        <Detail row={row} report={report} />
      ) : refusal !== null ? (
        <RefusalFacts refusal={refusal} />
      ) : found.error !== null ? (
        <ErrorNotice failure={found.error} onRetry={() => void found.refetch()} />
      ) : log.isBusy || found.isPending ? (
        <div aria-busy>
          <SkeletonText lines={12} />
        </div>
      ) : (
        <EmptyState
          icon="search"
          title="This request is not in this view"
          body={
            isAdmin
              ? `It is not in the log either, nor among the newest ${formatCount(REFUSALS_KEPT)} refusals: it may be older, still under way, or the id is incomplete.`
              : "It is not in the log either: it may be older than the retention, still under way, or refused, which administrators can look up."
          }
          action={<Button onClick={onClose}>Show the list</Button>}
        />
      )}
    </BesidePanel>
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
