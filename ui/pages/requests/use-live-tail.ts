import { type QueryKey, useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import type { Bucket } from "#stats/bucket.ts";
import { KEYS } from "../../api/keys.ts";
import { fetchRecorded } from "../../api/reports.ts";
import type { ReportQuery } from "../../search/filters.ts";
import type { LogView } from "./log-view.ts";
import { followTail, LOOK_ROWS_MAX, type Tail } from "./tail.ts";

const LOOK_MS = 2_000;
/** The longest pause between two looks while the server refuses or does not answer. */
const PAUSE_MS_MAX = 60_000;

export interface Followed {
  readonly view: LogView | undefined;
  readonly viewKey: QueryKey;
  /** When the view was read, in milliseconds since 1970. */
  readonly viewAtMs: number;
  readonly query: ReportQuery;
  readonly bucket: Bucket;
  readonly isOn: boolean;
}

export interface LiveTail {
  readonly tail: Tail | null;
  /** The last time that the server told what is there, in milliseconds since 1970. */
  readonly updatedAtMs: number;
  readonly failure: Error | null;
}

/**
 * Looks every two seconds for what was recorded since the view was read, while the tab is in sight; after a failure less often. A
 * view that is read anew has another cursor, and begins with an empty tail.
 */
export function useLiveTail({ view, viewKey, viewAtMs, query, bucket, isOn }: Followed): LiveTail {
  const cursor = view?.cursor ?? null;
  const failures = useRef(0);
  const look = useQuery({
    queryKey: [...KEYS.tail, query, bucket, cursor],
    queryFn: async ({ client, queryKey, signal }): Promise<Tail> => {
      const tail = client.getQueryData<Tail>(queryKey);
      if (tail === undefined || view === undefined) throw new Error("a tail begins with its view");
      failures.current += 1;
      const found = await fetchRecorded(query, { after: tail.cursor, limit: LOOK_ROWS_MAX }, signal);
      failures.current = 0;
      const next = followTail(tail, found, { view, bucket });
      if (next === null)
        void client.invalidateQueries({ queryKey: viewKey, exact: true }, { cancelRefetch: false });
      return next ?? tail;
    },
    enabled: isOn && cursor !== null,
    ...(cursor !== null && {
      initialData: { cursor, rows: [], freshIds: new Set<string>() },
      initialDataUpdatedAt: viewAtMs,
    }),
    staleTime: LOOK_MS,
    refetchInterval: () => Math.min(PAUSE_MS_MAX, LOOK_MS * 2 ** failures.current),
    gcTime: 0,
    // A set among it, and rows that are told apart by identity.
    structuralSharing: false,
    retry: false,
  });
  return {
    tail: look.data ?? null,
    updatedAtMs: Math.max(viewAtMs, look.dataUpdatedAt),
    failure: look.error,
  };
}
