import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { breakdownQuery } from "../../api/reports.ts";
import { toGroupBy, toGroupId } from "../../reports/groups.ts";
import { NO_PERCENTILES, type Speed } from "../../reports/speed.ts";
import type { Stack } from "../../reports/stack.ts";
import { type Report, toRefresh } from "../../search/report.ts";

/** More than are ever told apart in the picture. */
const ROWS_MAX = 500;

export interface Speeds {
  /** By group; one that is not told apart is missing. */
  readonly groups: ReadonlyMap<string, Speed>;
  /** Null while it is on its way. */
  readonly total: Speed | null;
  /** Why there are no percentiles, in words; null when there are. */
  readonly reason: string | null;
  /** Answers with success that told no usage; null while it is not known. */
  readonly unmetered: number | null;
}

/** Cost per request and percentiles of each group that is shown. */
export function useSpeeds(report: Report, stack: Stack | null): Speeds {
  const cut = stack?.cut;
  // After the picture, which is what is waited for.
  const { data, isPlaceholderData } = useQuery({
    ...breakdownQuery({ ...report.query, by: cut === undefined ? "model" : toGroupBy(cut), limit: ROWS_MAX }),
    ...toRefresh(report.window),
    enabled: cut !== undefined,
  });
  return useMemo(() => {
    if (data === undefined || isPlaceholderData) return UNKNOWN;
    return {
      groups: new Map(data.rows.map((row) => [toGroupId(row.value), row])),
      total: data.total,
      reason: NO_PERCENTILES[data.percentiles],
      unmetered: data.total.unmetered,
    };
  }, [data, isPlaceholderData]);
}

const UNKNOWN: Speeds = { groups: new Map(), total: null, reason: null, unmetered: null };
