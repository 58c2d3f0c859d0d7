import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { PageHead } from "../components/page-head.tsx";
import { FilterBar } from "../filters/filter-bar.tsx";
import { useReport } from "../search/report.ts";
import { CsvButton, CsvProgress, useCsvExport } from "../reports/csv-export.tsx";
import { DetailPanel } from "./requests/detail-panel.tsx";
import { Histogram } from "./requests/histogram.tsx";
import { LiveButton, LiveStatus } from "./requests/live.tsx";
import { Pager } from "./requests/pager.tsx";
import { Refusals } from "./requests/refusals.tsx";
import { RequestTable } from "./requests/request-table.tsx";
import { useRequestRows } from "./requests/use-request-rows.ts";

const route = getRouteApi("/shell/requests");

/** The log of the team's requests: one address is the histogram, the table, the live tail and the open request alike. */
export function RequestsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const report = useReport("24h");
  const [isPointed, setPointed] = useState(false);
  // A window with an end gets nothing new.
  const isLive = search.live === "1" && report.window.until === undefined;
  const pause = search.open === undefined ? (isPointed ? "pointer" : null) : "open";
  const list = useRequestRows(report, search, { isLive, isPaused: pause !== null });
  const csv = useCsvExport({ path: "/stats/requests", query: { ...report.query }, subject: "requests" });

  /** A step from row to row takes the place of the last one: one press of "back" leads to the list. */
  const open = (id: string | undefined, { replace }: { readonly replace: boolean }) =>
    void navigate({ search: (current) => ({ ...current, open: id }), replace, resetScroll: false });

  return (
    <>
      <PageHead
        title="Requests"
        lead="Requests of the whole team, including failed ones. Content is never stored."
        actions={<Refusals />}
      />
      <FilterBar
        report={report}
        actions={
          <>
            <CsvButton state={csv} title="Every request of this view" />
            <LiveButton report={report} isLive={isLive} />
          </>
        }
      />
      <CsvProgress state={csv} total={list.total} className="mb-4" />
      <Histogram report={report} isLive={isLive && pause === null} />
      <div
        // A finger has no place to rest: only a mouse keeps the rows where they are.
        onPointerEnter={(event) => setPointed(event.pointerType === "mouse")}
        onPointerLeave={() => setPointed(false)}
      >
        <RequestTable
          list={list}
          report={report}
          openId={search.open ?? null}
          onOpen={(row) => open(row.id, { replace: false })}
          footer={
            isLive ? (
              <LiveStatus tail={list.tail} pause={pause} />
            ) : (
              <Pager list={list} search={search} change={report.change} />
            )
          }
        />
      </div>
      <DetailPanel
        id={search.open ?? null}
        list={list}
        report={report}
        onMove={(id) => open(id, { replace: true })}
        onClose={() => open(undefined, { replace: true })}
      />
    </>
  );
}
