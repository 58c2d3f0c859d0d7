import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import {
  applyRepricing,
  isUnderWay,
  refreshCosts,
  type Repricing,
  repricingQuery,
  type RepricingRow,
  revertRepricing,
} from "../../../api/repricing.ts";
import { Button } from "../../../components/button.tsx";
import { CloseButton, Dialog } from "../../../components/dialog.tsx";
import { EmptyState } from "../../../components/empty.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { Instant } from "../../../components/instant.tsx";
import { TableSkeleton } from "../../../components/skeleton.tsx";
import { ChangeQuestion } from "../../../lists/row-panel.tsx";
import { formatWindow } from "../../../search/window.ts";
import { formatCount, formatCounted, formatMoney } from "../../../text/format.ts";
import { ChangeTable, toKnownCost } from "./change-table.tsx";
import { RepricingProgress, StateBadge } from "./repricing-progress.tsx";

interface RepricingDialogProps {
  readonly row: RepricingRow;
  readonly onClose: () => void;
  /** Asks for a plan of the same requests. */
  readonly onPlanAgain: () => void;
}

/** One re-pricing: how far it is, what it changes, and the ways on. */
export function RepricingDialog({ row, onClose, onPlanAgain }: RepricingDialogProps) {
  const client = useQueryClient();
  const { data, error, refetch } = useQuery(repricingQuery(row.id));
  const [asked, setAsked] = useState<"apply" | "revert" | null>(null);
  const shown = data ?? row;
  const isChanging = shown.state === "running" || shown.state === "reverting";
  useEffect(() => {
    if (!isChanging) return undefined;
    // As it ends, and as it is left: costs have changed until then.
    return () => void refreshCosts(client);
  }, [client, isChanging]);
  const isRested = data !== undefined && !isUnderWay(data);
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={toTitle(shown)}
      description={<Terms repricing={shown} />}
      size="xl"
      footer={
        <>
          <CloseButton>Close</CloseButton>
          {isRested && (data.state === "reverted" || data.state === "failed") && (
            <Button onClick={onPlanAgain}>Plan again</Button>
          )}
          {isRested && data.state !== "reverted" && data.changed_at !== null && (
            <Button onClick={() => setAsked("revert")}>Take it back</Button>
          )}
          {isRested && /planned|failed/.test(data.state) && (data.total?.requests ?? 0) > 0 && (
            <Button variant="primary" onClick={() => setAsked("apply")}>
              Apply
            </Button>
          )}
        </>
      }
    >
      <div className="flex min-w-0 flex-col gap-4">
        {isUnderWay(shown) && (
          <div role="status" className="flex flex-col gap-1.5">
            <RepricingProgress repricing={shown} />
            <p className="text-xs text-ink-soft">It goes on when this page is closed.</p>
          </div>
        )}
        {shown.failure !== undefined && (
          <p role="alert" className="rounded-card bg-bad-soft p-3">
            {shown.failure} {shown.total === null && "Nothing was changed."}
          </p>
        )}
        {shown.rows_from !== undefined && (
          <p className="text-warn">
            Requests before <Instant value={shown.rows_from} format="minute" /> keep their prices: their rows
            were removed by retention.
          </p>
        )}
        {shown.beyond_plan !== undefined && (
          <p className="text-warn">
            {`Recorded after the plan and not in its figures: ${formatCounted(shown.beyond_plan.requests, "request")}, ${formatMoney(shown.beyond_plan.difference)}.`}
          </p>
        )}
        {error !== null && data === undefined ? (
          <ErrorNotice failure={error} onRetry={() => void refetch()} />
        ) : data === undefined ? (
          <TableSkeleton rows={4} />
        ) : (
          data.total !== null && <Figures repricing={data} total={data.total} />
        )}
      </div>
      {asked !== null && data !== undefined && data.total !== null && (
        <ChangeQuestion
          {...QUESTIONS[asked]}
          danger={false}
          body={<Consequence repricing={data} total={data.total} verb={asked} />}
          wanted={row.id}
          done={() => ({ title: asked === "apply" ? "Applying" : "Taking it back" })}
          onClose={() => setAsked(null)}
        />
      )}
    </Dialog>
  );
}

const QUESTIONS = {
  apply: { title: "Apply this re-pricing?", confirmLabel: "Apply", change: applyRepricing },
  revert: { title: "Take this re-pricing back?", confirmLabel: "Take it back", change: revertRepricing },
} as const;

const NAMES_SHOWN_MAX = 3;

/** `Re-pricing of fast, slow and 3 more`. */
export function toTitle({ models }: Pick<RepricingRow, "models">): string {
  if (models.length === 0) return "Re-pricing of every model";
  const rest = models.length - NAMES_SHOWN_MAX;
  const shown = models.slice(0, NAMES_SHOWN_MAX).join(", ");
  return `Re-pricing of ${shown}${rest > 0 ? ` and ${formatCount(rest)} more` : ""}`;
}

function Terms({ repricing }: { readonly repricing: RepricingRow }) {
  const { since, until, unpriced_only: isUnpricedOnly, created_at: createdAt } = repricing;
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1 text-xs">
      <StateBadge repricing={repricing} />
      <span>
        {toWindowWords(since, until)}
        {isUnpricedOnly && ", only requests without a price for something"}
        {repricing.prices === "history" && ", at the prices as they held"}
      </span>
      <span>
        planned <Instant value={createdAt} format="minute" />
      </span>
    </span>
  );
}

export function toWindowWords(since: string | null, until: string | null): string {
  if (since === null && until === null) return "all time";
  return `${formatWindow(since ?? undefined, until ?? undefined)} (UTC)`;
}

interface FiguresProps {
  readonly repricing: Repricing;
  readonly total: NonNullable<Repricing["total"]>;
}

function Figures({ repricing: { state, changes, progress }, total }: FiguresProps) {
  if (total.requests === 0) {
    return (
      <EmptyState
        icon="check"
        title="No request would change"
        body={
          progress.total === 0
            ? "No request of these models ended in this time."
            : `${formatCounted(progress.total, "request")} looked at: they have these prices already.`
        }
      />
    );
  }
  return (
    <>
      {state === "planned" && <p>Nothing is changed yet. {toChangeWords(total)}</p>}
      <ChangeTable changes={changes} total={total} />
    </>
  );
}

/** `12 requests: $1.20 becomes $1.50 (+$0.30); without a price for something: 3 before, 0 after.` */
function toChangeWords(total: FiguresProps["total"]): string {
  const { requests, difference } = total;
  const { before, after } = toMoneyWords(total);
  const sign = difference > 0 ? "+" : "";
  const money = `${formatCounted(requests, "request")}: ${before} becomes ${after} (${sign}${formatMoney(difference)})`;
  const { unpriced_before: was, unpriced_after: will } = total;
  return was === 0 && will === 0
    ? `${money}.`
    : `${money}; without a price for something: ${formatCount(was)} before, ${formatCount(will)} after.`;
}

function toMoneyWords({ requests, ...total }: FiguresProps["total"]) {
  const before = toKnownCost({ requests, cost: total.cost_before, unpriced: total.unpriced_before });
  const after = toKnownCost({ requests, cost: total.cost_after, unpriced: total.unpriced_after });
  return { before: formatMoney(before), after: formatMoney(after) };
}

function Consequence({ repricing, total, verb }: FiguresProps & { readonly verb: "apply" | "revert" }) {
  const { since, until, created_at: createdAt } = repricing;
  if (verb === "revert") {
    const { before, after } = toMoneyWords(total);
    return (
      <div className="flex flex-col gap-2">
        <p>
          Costs, prices and what was unpriced become what they were before, for as many of{" "}
          {formatCounted(total.requests, "request")} as still have their rows: {after} becomes {before}.
        </p>
        <p>Limits count the costs of before again.</p>
      </div>
    );
  }
  return (
    <div className="flex flex-col gap-2">
      <p>
        Window: {toWindowWords(since, until)}. {toChangeWords(total)}
      </p>
      <p>
        Reports and limits count the new costs. Quantities stay, and so do requests that ended after{" "}
        <Instant value={createdAt} format="second" />. It can be taken back for as long as the rows of these
        requests are kept.
      </p>
    </div>
  );
}
