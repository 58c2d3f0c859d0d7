import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { teamSeriesQuery } from "../../api/reports.ts";
import { useMe } from "../../api/session.ts";
import { readOverviewSearch } from "../../search/pages.ts";
import type { Report } from "../../search/report.ts";
import { BreakdownCard } from "./breakdown-card.tsx";
import { ChartCard } from "./chart-card.tsx";
import { CountedWindow } from "../../reports/counted-window.tsx";
import { Tiles } from "../../reports/tiles.tsx";
import { toSeriesTotals } from "../../reports/totals.ts";
import { useCompared } from "../../reports/use-compared.ts";
import { useStack } from "./use-stack.ts";

/** What the team used in the window: sums, over time, and by group. */
export function TeamReport({ report }: { readonly report: Report }) {
  const { role } = useMe();
  const { by = "model", show = "cost", tagged } = readOverviewSearch(useSearch({ strict: false }));
  const { query, previousQuery, window } = report;
  const { bucket } = window;
  const answer = useStack({ report, by, tagged, measure: show });
  const total = answer.asked;
  const previous = useQuery({
    ...teamSeriesQuery({ ...(previousQuery ?? query), bucket }),
    enabled: previousQuery !== null,
  });
  const totals = useCompared(total, previousQuery === null ? null : previous, toSeriesTotals);
  return (
    <>
      {(totals.now !== null || total.error === null) && (
        <Tiles totals={totals} isCompared={previousQuery !== null} canPrice={role === "admin"} />
      )}
      <CountedWindow notes={total.data?.notes} />
      <ChartCard {...{ report, answer, by, tagged }} measure={show} />
      <BreakdownCard {...{ report, answer, by }} />
    </>
  );
}
