import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { teamSummaryQuery } from "../../api/reports.ts";
import { type Companion, toCompanions } from "../../reports/companions.ts";
import type { Stack } from "../../reports/stack.ts";
import { type Report, toRefresh } from "../../search/report.ts";

/** The companion of each group that is shown. None while the report is on its way, or tells of a part of the usage only. */
export function useCompanions(report: Report, stack: Stack | null): ReadonlyMap<string, Companion> {
  // After the picture, which is what is waited for.
  const { data, isPlaceholderData } = useQuery({
    ...teamSummaryQuery(report.query),
    ...toRefresh(report.window),
    enabled: stack !== null,
  });
  const cut = stack?.cut;
  return useMemo(() => {
    if (data === undefined || cut === undefined || isPlaceholderData || data.notes.isTruncated) return NONE;
    return toCompanions(data.usage, cut);
  }, [data, cut, isPlaceholderData]);
}

const NONE: ReadonlyMap<string, Companion> = new Map();
