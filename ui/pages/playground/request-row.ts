import { queryOptions } from "@tanstack/react-query";
import { ApiFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import { fetchRequests } from "../../api/reports.ts";
import { isRunning, type Exchange } from "./exchange.ts";

/** What requests from here are found by in the reports. */
export const PLAYGROUND_TAG = "app:playground";

const POLL_MS = 400;
const TRIES_MAX = 12;
/** More requests than a person sends while one answer arrives. */
const ROWS = 20;

/** What the request log says of an exchange, asked for until it does, for some seconds. Null: it did not. */
export function requestRowQuery(exchange: Exchange, principal: string) {
  const id = exchange.head?.requestId ?? null;
  const { model } = exchange;
  return queryOptions({
    queryKey: [...KEYS.playgroundRow, id],
    queryFn: async ({ signal }) => {
      for (let tries = 1; ; tries += 1) {
        const asked = { principal, model, tag: [PLAYGROUND_TAG] };
        const { requests } = await fetchRequests(asked, { limit: ROWS }, signal);
        const row = requests.find((one) => one.id === id) ?? null;
        if (row !== null || tries === TRIES_MAX) return row;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        signal.throwIfAborted();
      }
    },
    enabled: isFindable(exchange),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Whether the log gets a row: the proxy's own refusals are no requests to a provider. */
export function isLogged(exchange: Exchange): boolean {
  const { failure } = exchange;
  if (isRunning(exchange)) return false;
  if (!(failure instanceof ApiFailure)) return failure === null;
  if (failure.source === "page") return failure.code !== "offline";
  return failure.source === "upstream" || failure.code === "provider_unreachable";
}

/** Whether its row can be told from others: a browser keeps the headers of a redirect, and of what was stopped early, to itself. */
export function isFindable(exchange: Exchange): boolean {
  return isLogged(exchange) && typeof exchange.head?.requestId === "string";
}
