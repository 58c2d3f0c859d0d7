import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { REFUSALS_KEPT } from "#views/refusals.ts";
import {
  foundRequestQuery,
  isRefusal,
  type LogRow,
  type RefusedRequest,
  type RequestRow,
} from "../../api/reports.ts";
import { useMe } from "../../api/session.ts";
import { Button, IconButton } from "../../components/button.tsx";
import { Badge, Chip } from "../../components/chip.tsx";
import { CopyButton } from "../../components/copy.tsx";
import { EmptyState } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { BesidePanel } from "../../components/beside-panel.tsx";
import { Duration, Instant } from "../../components/instant.tsx";
import { OutcomeBadge } from "../../components/outcome.tsx";
import { SkeletonText } from "../../components/skeleton.tsx";
import { findRowButton } from "../../components/table-body.tsx";
import { addTag, type Filters } from "../../search/filters.ts";
import type { Report } from "../../search/report.ts";
import { findAdvice } from "../../text/errors.ts";
import { formatCount } from "../../text/format.ts";
import { toOutcomeMeaning } from "../../text/outcomes.ts";
import { toCredential } from "./columns.tsx";
import { CostCard } from "./cost-card.tsx";
import type { Log } from "./log.ts";

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
  const shown = listed ?? found.data?.request ?? found.data?.refusal ?? null;
  const refusal = shown !== null && isRefusal(shown) ? shown : null;
  const row = shown !== null && !isRefusal(shown) ? shown : null;

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
            ? "It reached no provider and cost nothing"
            : index < 0
              ? "Not in this list"
              : `${formatCount(log.offset + toPlace(log.rows, index))} of ${formatCount(log.total ?? log.rows.length)}`}
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
          <>
            <CopyButton text={`${location.origin}/requests?open=${refusal.id}`} label="Copy link" />
            <CopyButton text={`${JSON.stringify(refusal, null, 2)}\n`} label="Copy as JSON" />
          </>
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
              : "It is not in the log either, nor among your own refusals: it may be older than the retention, still under way, or refused to somebody else."
          }
          action={<Button onClick={onClose}>Show the list</Button>}
        />
      )}
    </BesidePanel>
  );
}

/** The place of a request among the requests, from 1. */
function toPlace(rows: readonly LogRow[], index: number): number {
  return rows.slice(0, index + 1).filter((row) => !isRefusal(row)).length;
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
  readonly to: LogRow | undefined;
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

/** What a request was, each with a way to all that are alike. */
function Facts({ row, report }: { readonly row: RequestRow; readonly report: Report }) {
  const { filters, change } = report;
  const only = (what: string, patch: Filters) => (
    <IconButton
      size="sm"
      icon="filter"
      label={`Filter by ${what}`}
      onClick={() => change({ ...patch, open: undefined })}
    />
  );
  return (
    <dl className="grid grid-cols-[6.5rem_minmax(0,1fr)]">
      <Fact name="Outcome" action={only(`outcome ${row.outcome}`, { outcome: row.outcome })}>
        <OutcomeBadge outcome={row.outcome} statusCode={row.status_code} />
        <span className="block text-xs text-ink-soft">
          {toOutcomeMeaning(row.outcome, row.error_kind, row.failure)}
        </span>
      </Fact>
      {row.error_kind !== null && (
        <Fact name="Error kind" action={only(`error kind ${row.error_kind}`, { error_kind: row.error_kind })}>
          <code className="font-mono text-xs">{row.error_kind}</code>
        </Fact>
      )}
      <Fact name="Arrived">
        <Instant value={row.ts} format="full" />
      </Fact>
      <Fact name="Duration">
        <Duration durationMs={row.duration_ms} />
      </Fact>
      <Fact name="First byte">
        <Duration durationMs={row.time_to_first_byte_ms} />
        {row.time_to_first_byte_ms === null && <Quiet> no response</Quiet>}
      </Fact>
      <Fact name="Person" action={only(`person ${row.principal}`, { principal: row.principal })}>
        {row.principal}
      </Fact>
      <Credential row={row} action={(patch) => only("this key", patch)} />
      {row.model !== null && (
        <Fact name="Model" action={only(`model ${row.model}`, { model: row.model })}>
          {row.model}
          {row.upstream_name !== null && row.upstream_name !== row.model && (
            <Quiet> → {row.upstream_name}</Quiet>
          )}
        </Fact>
      )}
      {row.tier !== undefined && (
        <Fact name="Service tier" action={only(`service tier ${row.tier}`, { tier: row.tier })}>
          <code className="font-mono text-xs">{row.tier}</code>
          {row.unpriced_reason?.startsWith("tier:") === true && <Quiet> without prices</Quiet>}
        </Fact>
      )}
      {row.geo !== undefined && (
        <Fact name="Region">
          <code className="font-mono text-xs">{row.geo}</code>
          {row.unpriced_reason?.startsWith("geo:") === true && <Quiet> without prices</Quiet>}
        </Fact>
      )}
      <Fact name="Provider" action={only(`provider ${row.provider}`, { provider: row.provider })}>
        {row.provider}
      </Fact>
      <Fact name="Endpoint">
        {row.endpoint}
        <Quiet>{row.streamed ? ", streamed" : ", not streamed"}</Quiet>
      </Fact>
      <Fact
        name="Client"
        action={row.client !== null && row.client !== "" && only("this client", { client: row.client })}
      >
        {row.client ?? <Quiet>not set</Quiet>}
      </Fact>
      <Fact name="Tags">
        {row.tags.length === 0 ? (
          <Quiet>none</Quiet>
        ) : (
          <ul className="flex flex-col gap-1">
            {row.tags.map((tag) => (
              <li key={tag} className="flex min-w-0 items-center justify-between gap-2">
                <Chip title={tag}>{tag}</Chip>
                {only(`tag ${tag}`, { tag: addTag(filters, tag) })}
              </li>
            ))}
          </ul>
        )}
      </Fact>
      <Fact name="Id">
        <code className="font-mono text-xs">{row.id}</code>
      </Fact>
    </dl>
  );
}

/** Why a request was refused, and what is known of it. */
function RefusalFacts({ refusal }: { readonly refusal: RefusedRequest }) {
  const { id, at, code, message, principal, key_suffix: suffix, model, endpoint, client } = refusal;
  const advice = findAdvice(code);
  return (
    <dl className="grid grid-cols-[6.5rem_minmax(0,1fr)]">
      <Fact name="Reason">
        <Badge tone="warn">{code}</Badge>
        {message !== undefined && <span className="mt-1 block">{message}</span>}
        {advice !== null && <span className="mt-1 block text-xs text-ink-soft">{advice}</span>}
      </Fact>
      <Fact name="Arrived">
        <Instant value={at} format="full" />
      </Fact>
      <Fact name="Person">{principal ?? <Quiet>unknown</Quiet>}</Fact>
      <Fact name="Key">{suffix === null ? <Quiet>none of this server</Quiet> : `***${suffix}`}</Fact>
      <Fact name="Model">{model ?? <Quiet>not known any more, or none</Quiet>}</Fact>
      <Fact name="Endpoint">{endpoint ?? <Quiet>not known any more</Quiet>}</Fact>
      <Fact name="Client">{client ?? <Quiet>not set</Quiet>}</Fact>
      <Fact name="Id">
        <code className="font-mono text-xs">{id}</code>
      </Fact>
    </dl>
  );
}

interface CredentialProps {
  readonly row: RequestRow;
  readonly action: (patch: Filters) => ReactNode;
}

/** The filter by key knows API keys only (specification, section 4.4). */
function Credential({ row, action }: CredentialProps) {
  const isRelayed = row.relay_token_id !== null;
  const id = row.relay_token_id ?? row.key_id;
  if (id === null) return null;
  return (
    <Fact
      name={isRelayed ? "Relay token" : "Key"}
      action={row.key_id !== null && action({ key: row.key_id })}
    >
      {!isRelayed && toCredential(row)} <code className="font-mono text-xs text-ink-faint">{id}</code>
    </Fact>
  );
}

interface FactProps {
  readonly name: string;
  readonly children: ReactNode;
  readonly action?: ReactNode;
}

function Fact({ name, children, action }: FactProps) {
  return (
    <>
      <dt className="border-b border-line py-1.5 pr-3 text-ink-soft">{name}</dt>
      <dd className="flex min-w-0 items-start justify-between gap-2 border-b border-line py-1.5">
        <span className="min-w-0 flex-1 break-words">{children}</span>
        {action !== undefined && action !== false && <span className="-my-1 shrink-0">{action}</span>}
      </dd>
    </>
  );
}

function Quiet({ children }: { readonly children: ReactNode }) {
  return <span className="text-ink-faint">{children}</span>;
}
