import { Suspense } from "react";
import { PageHead } from "../components/page-head.tsx";
import { FilterBar } from "../filters/filter-bar.tsx";
import { lazyPart } from "../lazy-part.tsx";
import { UsageReport } from "../reports/usage-report.tsx";
import { useReport } from "../search/report.ts";
import { useSetup } from "../setup/setup.ts";

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
          <UsageReport scope="team" report={report} />
        </>
      )}
    </>
  );
}
