import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { refusalsQuery, type RecentRefusals, type RefusedRequest } from "../../api/reports.ts";
import { useMe } from "../../api/session.ts";
import { Button } from "../../components/button.tsx";
import { Badge } from "../../components/chip.tsx";
import { EmptyState } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Instant } from "../../components/instant.tsx";
import { SidePanel } from "../../components/panel.tsx";
import { SkeletonText } from "../../components/skeleton.tsx";
import { formatCount } from "../../text/format.ts";
import { formatInZone, useTimeZone } from "../../text/time-zone.ts";

const HOUR_MS = 3_600_000;

/** For admins: how many requests were refused lately, and which. They leave no usage event, so no row of the log. */
export function Refusals() {
  const isAdmin = useMe().role === "admin";
  const { data, error, refetch, dataUpdatedAt } = useQuery({ ...refusalsQuery(), enabled: isAdmin });
  const [open, setOpen] = useState(false);
  if (!isAdmin) return null;
  return (
    <>
      <Button
        // As wide before it is known how many there are.
        className="w-60"
        onClick={() => {
          setOpen(true);
          void refetch();
        }}
      >
        {data === undefined ? "Refused requests" : toSummary(data, dataUpdatedAt)}
      </Button>
      <SidePanel
        open={open}
        onOpenChange={setOpen}
        title="Refused requests"
        description="Refused before they reached a provider, newest first. Kept in memory until the server restarts."
      >
        {data !== undefined ? (
          <RefusalList recent={data} />
        ) : error !== null ? (
          <ErrorNotice failure={error} onRetry={() => void refetch()} />
        ) : (
          <div aria-busy>
            <SkeletonText lines={12} />
          </div>
        )}
      </SidePanel>
    </>
  );
}

function toSummary({ refusals }: RecentRefusals, nowMs: number): string {
  const count = refusals.filter(({ at }) => nowMs - Date.parse(at) < HOUR_MS).length;
  // What is older is kept only while there is room.
  const isCut = count === refusals.length && count >= REFUSALS_KEPT;
  return `${count === 0 ? "None" : formatCount(count)}${isCut ? "+" : ""} refused in the last hour`;
}

/** As many as the server keeps. */
const REFUSALS_KEPT = 200;

function RefusalList({ recent }: { readonly recent: RecentRefusals }) {
  const zone = useTimeZone();
  const { refusals, counts, since } = recent;
  if (refusals.length === 0) {
    return <EmptyState icon="check" title={`None since ${formatInZone(since, "minute", zone)}`} />;
  }
  return (
    <>
      <p className="mb-3 text-ink-soft">
        Since <Instant value={since} format="minute" />:{" "}
        {Object.entries(counts)
          .map(([code, count]) => `${formatCount(count ?? 0)} × ${code}`)
          .join(", ")}
      </p>
      <ol aria-label="Refused requests" className="divide-y divide-line border-y border-line">
        {refusals.map((refusal) => (
          <RefusalItem key={refusal.id} refusal={refusal} />
        ))}
      </ol>
    </>
  );
}

function RefusalItem({ refusal }: { readonly refusal: RefusedRequest }) {
  const { id, at, code, principal, key_suffix: suffix, model, endpoint, client } = refusal;
  const key = suffix === null ? null : `key ***${suffix}`;
  const facts = [principal ?? "unknown caller", key, endpoint, client].filter((fact) => fact !== null);
  return (
    <li className="py-2" title={id}>
      <div className="flex flex-wrap items-baseline justify-between gap-x-3">
        <Badge tone="warn">{code}</Badge>
        <span className="text-xs text-ink-soft">
          <Instant value={at} />
        </span>
      </div>
      {model !== null && <p className="mt-1 font-mono text-xs break-all">{model}</p>}
      <p className="mt-1 text-xs break-words text-ink-soft">{facts.join(" · ")}</p>
    </li>
  );
}
