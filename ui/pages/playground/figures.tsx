import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode } from "react";
import type { RequestRow } from "../../api/reports.ts";
import { useMe } from "../../api/session.ts";
import { Duration } from "../../components/instant.tsx";
import { Cost, Units } from "../../components/cost.tsx";
import { OutcomeBadge } from "../../components/outcome.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import type { Exchange } from "./exchange.ts";
import { isFindable, isLogged, PLAYGROUND_TAG, requestRowQuery } from "./request-row.ts";

/**
 * Who answered, what it took and what it cost: what the page saw at once, then what the request log says, which is what is
 * billed.
 */
export function Figures({ exchange }: { readonly exchange: Exchange }) {
  const principal = useMe().name ?? "";
  const found = useQuery(requestRowQuery(exchange, principal));
  const row = found.data ?? null;
  const { head, ending } = exchange;
  const finishReason = ending?.finishReason ?? "stop";
  const isLooking = isFindable(exchange) && found.isPending;
  const provider = row?.provider ?? head?.provider ?? null;
  const upstreamName = row?.upstream_name ?? head?.upstreamName ?? null;
  return (
    <dl aria-busy={isLooking || undefined} className="flex flex-wrap gap-x-5 gap-y-2 text-xs">
      {provider !== null && <Figure name="Provider">{provider}</Figure>}
      {upstreamName !== null && (
        <Figure name="Upstream name">
          <span className="font-mono break-all">{upstreamName}</span>
        </Figure>
      )}
      <Figure name="First byte">
        <Duration durationMs={row === null ? exchange.firstByteMs : row.time_to_first_byte_ms} />
      </Figure>
      <Figure name="Duration">
        <Duration durationMs={row?.duration_ms ?? exchange.durationMs} />
      </Figure>
      {finishReason !== "stop" && finishReason !== "completed" && (
        <Figure name="Ended by">
          <span className="font-mono">{finishReason}</span>
        </Figure>
      )}
      {isLogged(exchange) && (
        <>
          <Figure name="Tokens">
            {isLooking ? (
              <Skeleton className="h-4 w-32" />
            ) : (
              <Units units={row?.units ?? ending?.usage ?? {}} />
            )}
          </Figure>
          <Figure name="Cost">{isLooking ? <Skeleton className="h-4 w-16" /> : <RowCost row={row} />}</Figure>
          <Figure name="Outcome">
            {isLooking ? <Skeleton className="h-4 w-16" /> : <LoggedOutcome row={row} />}
          </Figure>
          <Figure name="Request log">
            {isLooking ? <Skeleton className="h-4 w-24" /> : <LogLink row={row} model={exchange.model} />}
          </Figure>
        </>
      )}
    </dl>
  );
}

interface RowProps {
  /** Null: the log did not have it in time. */
  readonly row: RequestRow | null;
}

/** A request without usage has nothing to price, which is not the same as a missing price. */
function RowCost({ row }: RowProps) {
  if (row === null) return <Absent />;
  if (row.cost !== null || Object.keys(row.units).length > 0) return <Cost value={row.cost} />;
  return (
    <span className="text-ink-faint">
      {row.outcome === "unreachable" ? "none: not sent" : "none: no usage reported"}
    </span>
  );
}

function LoggedOutcome({ row }: RowProps) {
  return row === null ? <Absent /> : <OutcomeBadge outcome={row.outcome} statusCode={row.status_code} />;
}

function Absent() {
  return <span className="text-ink-faint">not logged yet</span>;
}

function LogLink({ row, model }: RowProps & { readonly model: string }) {
  const className = "text-accent underline-offset-2 hover:underline";
  return row === null ? (
    <Link to="/requests" search={{ model, tag: [PLAYGROUND_TAG] }} className={className}>
      Find the request
    </Link>
  ) : (
    <Link to="/requests" search={{ open: row.id }} className={className}>
      Open the request
    </Link>
  );
}

function Figure({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="flex min-w-0 flex-col gap-0.5">
      <dt className="text-ink-faint">{name}</dt>
      <dd className="min-h-4 text-ink">{children}</dd>
    </div>
  );
}
