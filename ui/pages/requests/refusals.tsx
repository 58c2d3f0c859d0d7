import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { REFUSALS_KEPT } from "#views/refusals.ts";
import {
  type RecentRefusals,
  recentRefusalsQuery,
  REFUSALS,
  type RefusedRequest,
} from "../../api/reports.ts";
import { useMe } from "../../api/session.ts";
import { Button } from "../../components/button.tsx";
import { Badge } from "../../components/chip.tsx";
import { EmptyState } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Instant } from "../../components/instant.tsx";
import { SidePanel } from "../../components/panel.tsx";
import { SkeletonText } from "../../components/skeleton.tsx";
import { TextField } from "../../components/text-field.tsx";
import { formatCount } from "../../text/format.ts";
import { formatInZone, useTimeZone } from "../../text/time-zone.ts";

/** For admins: how many requests were refused lately, and which. They leave no usage event, so no row of the log. */
export function Refusals() {
  const isAdmin = useMe().role === "admin";
  const recent = useQuery({ ...recentRefusalsQuery(), enabled: isAdmin });
  const [open, setOpen] = useState(false);
  const kept = useQuery({ ...REFUSALS.list(), enabled: isAdmin && open });
  const failed = [recent, kept].find(({ error }) => error !== null);
  if (!isAdmin) return null;
  return (
    <>
      <Button
        // As wide before it is known how many there are.
        className="w-60"
        onClick={() => {
          setOpen(true);
          void recent.refetch();
        }}
      >
        {recent.data === undefined
          ? "Refused requests"
          : `${toCount(recent.data.total)} refused in the last hour`}
      </Button>
      <SidePanel
        open={open}
        onOpenChange={setOpen}
        title="Refused requests"
        description={`The newest ${formatCount(REFUSALS_KEPT)} that were refused before they reached a provider, newest first.`}
      >
        {recent.data !== undefined && kept.data !== undefined ? (
          <RefusalList recent={recent.data} refusals={kept.data.rows} />
        ) : failed !== undefined && failed.error !== null ? (
          <ErrorNotice failure={failed.error} onRetry={() => void failed.refetch()} />
        ) : (
          <div aria-busy>
            <SkeletonText lines={12} />
          </div>
        )}
      </SidePanel>
    </>
  );
}

function toCount(total: number): string {
  // What is older is kept only while there is room.
  return total === 0 ? "None" : `${formatCount(total)}${total >= REFUSALS_KEPT ? "+" : ""}`;
}

interface RefusalListProps {
  readonly recent: RecentRefusals;
  readonly refusals: readonly RefusedRequest[];
}

/** More are not read: a search finds the others. */
const SHOWN_MAX = 100;

function RefusalList({ recent: { since, counts }, refusals }: RefusalListProps) {
  const zone = useTimeZone();
  const [search, setSearch] = useState("");
  if (refusals.length === 0) {
    return <EmptyState icon="check" title={`None since ${formatInZone(since, "minute", zone)}`} />;
  }
  const found = refusals.filter((refusal) => isFound(refusal, search.trim().toLowerCase()));
  return (
    <>
      <p className="mb-3 text-ink-soft">
        Since <Instant value={since} format="minute" />:{" "}
        {Object.entries(counts)
          .map(([code, count]) => `${formatCount(count ?? 0)} × ${code}`)
          .join(", ") || "none"}
      </p>
      <TextField
        label="Search"
        type="search"
        placeholder="Id, code, person, key, model or client"
        value={search}
        onValueChange={setSearch}
      />
      <ol aria-label="Refused requests" className="mt-3 divide-y divide-line border-y border-line">
        {found.slice(0, SHOWN_MAX).map((refusal) => (
          <RefusalItem key={refusal.id} refusal={refusal} />
        ))}
      </ol>
      <p role="status" className="mt-3 text-xs text-ink-soft">
        {found.length > SHOWN_MAX
          ? `${formatCount(SHOWN_MAX)} of ${formatCount(found.length)} are shown: search for the others`
          : `${formatCount(found.length)} of ${formatCount(refusals.length)}`}
      </p>
    </>
  );
}

function isFound({ id, code, principal, key_suffix, model, endpoint, client }: RefusedRequest, text: string) {
  return [id, code, principal, key_suffix, model, endpoint, client].some(
    (field) => field?.toLowerCase().includes(text) === true,
  );
}

function RefusalItem({ refusal }: { readonly refusal: RefusedRequest }) {
  const { id, at, code, principal, key_suffix: suffix, model, endpoint, client } = refusal;
  const key = suffix === null ? null : `key ***${suffix}`;
  const facts = [principal ?? "unknown caller", key, endpoint, client].filter((fact) => fact !== null);
  return (
    <li className="py-2">
      <div className="flex flex-wrap items-baseline justify-between gap-x-3">
        <Badge tone="warn">{code}</Badge>
        <span className="text-xs text-ink-soft">
          <Instant value={at} />
        </span>
      </div>
      {model !== null && <p className="mt-1 font-mono text-xs break-all">{model}</p>}
      <p className="mt-1 text-xs break-words text-ink-soft">{facts.join(" · ")}</p>
      <p className="mt-1 font-mono text-xs break-all text-ink-soft">{id}</p>
    </li>
  );
}
