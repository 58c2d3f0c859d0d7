import { queryOptions } from "@tanstack/react-query";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { KEYS } from "../../api/keys.ts";
import { fetchRequests, type RequestRow } from "../../api/reports.ts";

/**
 * A request by its id, whatever the view shows: an id is made of the instant (UUIDv7), so the log is asked for that
 * millisecond alone. Null: there is none, or it is too old to be kept.
 */
export function requestQuery(id: string) {
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
