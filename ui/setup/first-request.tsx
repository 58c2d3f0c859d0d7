import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { fetchRequests, recentRefusalsQuery, type RequestRow } from "../api/reports.ts";
import { KEYS } from "../api/keys.ts";
import { useMe } from "../api/session.ts";
import { buttonClass } from "../components/button.tsx";
import { InlineCode } from "../components/code.tsx";
import { Icon } from "../components/icon.tsx";
import { Cost } from "../components/cost.tsx";
import { Spinner } from "../components/progress.tsx";
import { formatCount, formatDuration } from "../text/format.ts";
import { toOutcomeMeaning } from "../text/outcomes.ts";

const POLL_MS = 1_000;

/**
 * Waits in sight for the first request of one key where it is given, else of the reader, and tells what it took and cost.
 * Requests of others are in the log alone.
 */
export function FirstRequest({ keyId }: { readonly keyId?: string | undefined }) {
  const { name } = useMe();
  const { data: row } = useQuery({
    queryKey: [...KEYS.requests, "first", keyId ?? null, name],
    queryFn: async ({ signal }) => {
      const of = keyId === undefined ? { principal: name } : { key: keyId };
      const { requests, total } = await fetchRequests(of, { limit: 1 }, signal);
      return requests[0] === undefined ? null : { ...requests[0], isFirst: total === 1 };
    },
    // One that failed is told, and the next one is waited for.
    refetchInterval: ({ state: { data } }) => (data?.outcome === "ok" ? false : POLL_MS),
    staleTime: 0,
    retry: false,
  });
  return (
    <div role="status" className="flex min-w-0 flex-col gap-3">
      {row?.outcome === "ok" ? (
        <Arrived row={row} />
      ) : (
        <>
          {row !== null && row !== undefined && <Failed row={row} />}
          <p className="flex items-center gap-2 text-ink-soft">
            <Spinner />
            {row === null || row === undefined
              ? "Waiting for the first request. It is detected automatically."
              : "Waiting for the next request."}
          </p>
          <LastRefusal />
        </>
      )}
    </div>
  );
}

function Arrived({ row }: { readonly row: RequestRow & { readonly isFirst: boolean } }) {
  const { input_tokens: input, output_tokens: output } = row.units;
  const tokens = [
    ...(input === undefined ? [] : [`${formatCount(input)} ${input === 1 ? "token" : "tokens"} in`]),
    ...(output === undefined ? [] : [`${formatCount(output)} out`]),
  ].join(", ");
  return (
    <div className="flex flex-col gap-3 rounded-card bg-good-soft p-4">
      <p className="flex flex-wrap items-center gap-x-2 text-lg font-semibold">
        <Icon name="check" className="text-good" />
        <span>
          {row.isFirst ? "Your first request" : "Your latest request"}: {formatDuration(row.duration_ms)},{" "}
          <Cost value={row.cost} used={Object.keys(row.units).length > 0} reason={row.unpriced_reason} />
        </span>
      </p>
      <p className="text-ink-soft">
        {row.model} through {row.provider}
        {tokens !== "" && `, ${tokens}`}. Only these figures are kept, never what was said.
      </p>
      <p className="flex flex-wrap gap-2">
        <Link to="/" className={buttonClass({ variant: "primary" })}>
          Go to the overview
        </Link>
        <Link to="/requests" search={{ open: row.id }} className={buttonClass()}>
          Show the request
        </Link>
        {row.cost === null && row.unpriced_reason === undefined && Object.keys(row.units).length > 0 && (
          <Link to="/models/prices" className={buttonClass()}>
            Set its price
          </Link>
        )}
      </p>
    </div>
  );
}

function Failed({ row }: { readonly row: RequestRow }) {
  const { outcome, error_kind: kind, status_code: status, failure } = row;
  return (
    <Notice>
      A request arrived and failed after {formatDuration(row.duration_ms)}:{" "}
      {toOutcomeMeaning(outcome, kind, failure)}{" "}
      <InlineCode>{[String(status), ...(kind === null ? [] : [kind])].join(" ")}</InlineCode>{" "}
      <Link to="/requests" search={{ open: row.id }} className={LINK_CLASS}>
        Show the request
      </Link>
    </Notice>
  );
}

/** A request that was refused while one waits leaves no row: a wrong key, a model that is not served. */
function LastRefusal() {
  const isAdmin = useMe().role === "admin";
  const [sinceMs] = useState(Date.now);
  const { data } = useQuery({ ...recentRefusalsQuery(), enabled: isAdmin, refetchInterval: POLL_MS * 2 });
  const last = data?.refusals.find(({ at }) => Date.parse(at) >= sinceMs);
  if (last === undefined) return null;
  return (
    <Notice>
      A request was refused: <InlineCode>{last.code}</InlineCode>
      {last.model !== null && (
        <>
          {" "}
          for <InlineCode>{last.model}</InlineCode>
        </>
      )}
      . {HELP[last.code] ?? "Compare it with the example."}
    </Notice>
  );
}

const HELP: { readonly [code: string]: string } = {
  missing_api_key: "It had no key: the variable is empty in that shell or program.",
  invalid_api_key: "Its key is not one of this server.",
  model_not_found: "No model of that name is served: compare it with the example.",
};

function Notice({ children }: { readonly children: ReactNode }) {
  return (
    <p className="flex items-start gap-2 rounded-control bg-warn-soft px-3 py-2">
      <Icon name="warning" className="mt-0.5 text-warn" />
      <span className="min-w-0">{children}</span>
    </p>
  );
}

const LINK_CLASS = "font-medium text-accent underline-offset-2 hover:underline";
