import { queryOptions } from "@tanstack/react-query";
import { ApiFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import { fetchRequests, type RequestRow } from "../../api/reports.ts";
import { isRunning, type Exchange } from "./exchange.ts";

/** What requests from here are found by in the reports. */
export const PLAYGROUND_TAG = "app:playground";

const POLL_MS = 400;
const TRIES_MAX = 12;
/** More requests than a person sends while one answer arrives. */
const ROWS = 20;

interface Owner {
  readonly principal: string;
  readonly model: string;
}

/** The newest row from here. Undefined: it could not be asked for. */
export async function findNewestRow(owner: Owner, signal: AbortSignal): Promise<string | null | undefined> {
  try {
    return (await fetchRows(owner, 1, signal))[0]?.id ?? null;
  } catch {
    return undefined;
  }
}

/** What the request log says of an exchange, asked for until it does, for some seconds. Null: it did not. */
export function requestRowQuery(exchange: Exchange, principal: string) {
  const { id, model, durationMs } = exchange;
  return queryOptions({
    // Numbers begin at one with each visit; a duration is never the same twice.
    queryKey: [...KEYS.playgroundRow, id, durationMs],
    queryFn: async ({ signal }) => {
      for (let tries = 1; ; tries += 1) {
        const rows = await fetchRows({ principal, model }, ROWS, signal);
        const row = findRow(rows, exchange);
        if (row !== null || tries === TRIES_MAX) return row;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        signal.throwIfAborted();
      }
    },
    enabled: isLogged(exchange),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Whether the log gets a row: the proxy's own refusals are no requests to a provider. */
export function isLogged(exchange: Exchange): boolean {
  const { failure, rowBefore } = exchange;
  if (isRunning(exchange) || rowBefore === undefined) return false;
  if (!(failure instanceof ApiFailure)) return failure === null;
  if (failure.source === "page") return failure.code !== "offline";
  return failure.source === "upstream" || failure.code === "provider_unreachable";
}

async function fetchRows({ principal, model }: Owner, limit: number, signal: AbortSignal) {
  const { requests } = await fetchRequests({ principal, model, tag: [PLAYGROUND_TAG] }, { limit }, signal);
  return requests;
}

function findRow(rows: readonly RequestRow[], exchange: Exchange): RequestRow | null {
  const known = rows.findIndex(({ id }) => id === exchange.rowBefore);
  const later = known === -1 ? rows : rows.slice(0, known);
  return later.findLast((row) => isOf(row, exchange)) ?? null;
}

/** Another tab of the same person may ask the same model at the same time. */
function isOf({ outcome, status_code: status, units }: RequestRow, exchange: Exchange): boolean {
  const { phase, ending, failure } = exchange;
  // The log calls a redirect an answer like any other.
  if (failure instanceof ApiFailure && failure.code === "upstream_redirect")
    return status >= 300 && status < 400;
  // Stopped at the very end, it had come whole.
  if (phase === "cancelled") return outcome === "cancelled" || outcome === "ok";
  if (phase === "failed") return outcome !== "ok";
  const told = ending?.usage?.output_tokens;
  return outcome === "ok" && (told === undefined || told === units.output_tokens);
}
