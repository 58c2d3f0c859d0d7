import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { Suspense } from "react";
import { teamSeriesQuery } from "../api/reports.ts";
import { useMe } from "../api/session.ts";
import { Outdated } from "../components/outdated.tsx";
import { PageHead } from "../components/page-head.tsx";
import { FilterBar } from "../filters/filter-bar.tsx";
import { lazyPart } from "../lazy-part.tsx";
import { CountedWindow } from "../reports/counted-window.tsx";
import { Tiles } from "../reports/tiles.tsx";
import { toSeriesTotals } from "../reports/totals.ts";
import { useCompared } from "../reports/use-compared.ts";
import { useOutdated } from "../reports/use-outdated.ts";
import { readOverviewSearch } from "../search/pages.ts";
import { type Report, useReport } from "../search/report.ts";
import { useSetup } from "../setup/use-setup.ts";
import { BreakdownCard } from "./overview/breakdown-card.tsx";
import { ChartCard } from "./overview/chart-card.tsx";
import { useStack } from "./overview/use-stack.ts";

const Checklist = lazyPart(async () => (await import("../setup/checklist.tsx")).Checklist);

/** What the team uses, or what is still to be done before it can. */
export function OverviewPage() {
  const report = useReport("30d");
  const setup = useSetup();
  return (
    <>
      <PageHead title="Overview" />
      {setup.isShown && (
        <Suspense>
          <Checklist setup={setup} />
        </Suspense>
      )}
      {setup.done?.request !== false && (
        <>
          <FilterBar report={report} isComparing />
          <TeamReport report={report} />
        </>
      )}
    </>
  );
}

/** What the team used in the window: sums, over time, and by group. */
function TeamReport({ report }: { readonly report: Report }) {
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
  const isOutdated = useOutdated(report.question, !totals.isComplete);
  return (
    <>
      <CountedWindow notes={total.data?.notes} />
      <ChartCard {...{ report, answer, by, tagged }} measure={show} />
      {(total.error === null || (totals.now !== null && !isOutdated)) && (
        <Outdated when={isOutdated}>
          <Tiles totals={totals} isCompared={previousQuery !== null} canPrice={role === "admin"} />
        </Outdated>
      )}
      <BreakdownCard {...{ report, answer, by }} />
    </>
  );
}
