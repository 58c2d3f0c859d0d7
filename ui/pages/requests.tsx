import { getRouteApi } from "@tanstack/react-router";
import { type KeyboardEvent, useCallback, useRef, useState } from "react";
import { BESIDE_CLASS } from "../components/beside-panel.tsx";
import { PageHead } from "../components/page-head.tsx";
import { FilterBar } from "../filters/filter-bar.tsx";
import { toQueryString } from "../search/query-string.ts";
import { useReport } from "../search/report.ts";
import { CsvButton, CsvStatus, useCsvExport } from "../reports/csv-export.tsx";
import { DetailPanel } from "./requests/detail-panel.tsx";
import { Histogram } from "./requests/histogram.tsx";
import { LiveControl, WaitingPill } from "./requests/live.tsx";
import { Refusals } from "./requests/refusals.tsx";
import { Pager, RequestTable } from "./requests/request-table.tsx";
import { useLog } from "./requests/log.ts";

const route = getRouteApi("/shell/requests");

/** The log of the team's requests: one address is the histogram, the table, the live tail and the open request alike. */
export function RequestsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const report = useReport("24h");
  const [isByKeys, setByKeys] = useState(false);
  const [isScrolled, setScrolled] = useState(false);
  const rows = useRef<HTMLDivElement>(null);
  // What is being read does not move.
  const log = useLog(report, search, isScrolled || search.open !== undefined);
  const csv = useCsvExport({ path: "/stats/requests", query: { ...report.query }, subject: "requests" });

  /** A step from row to row takes the place of the last one: one press of "back" leads to the list. */
  const open = (id: string | undefined, { replace }: { readonly replace: boolean }) =>
    void navigate({ search: (current) => ({ ...current, open: id }), replace, resetScroll: false });

  const toHref = useCallback((id: string) => `/requests${toQueryString({ ...search, open: id })}`, [search]);
  /** Arrows move the focus from row to row, and what is open along with it. */
  const onRowKey = ({ key, target }: KeyboardEvent) => {
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    const place = target instanceof HTMLElement ? target.dataset["rowOpen"] : undefined;
    const next = place === undefined || step === 0 ? undefined : log.rows[Number(place) + step];
    if (search.open !== undefined && next !== undefined) open(next.id, { replace: true });
  };

  return (
    <div className={search.open === undefined ? undefined : BESIDE_CLASS}>
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
            <LiveControl live={log.live} report={report} />
          </>
        }
      />
      <CsvStatus state={csv} total={log.total} className="mb-4" />
      <Histogram report={report} log={log} />
      <div
        ref={rows}
        role="presentation"
        className="relative"
        onScrollCapture={({ target }) =>
          setScrolled(target instanceof Element && target.scrollTop > SCROLLED_PX)
        }
        onKeyDown={onRowKey}
      >
        <WaitingPill
          live={log.live}
          countMax={log.rowsAPage}
          onShow={() => {
            rows.current?.querySelector("[role=region]")?.scrollTo({ top: 0 });
            // Rows that came before the list has noticed its scroll would put it back where it was.
            requestAnimationFrame(log.live.showWaiting);
          }}
        />
        <RequestTable
          log={log}
          report={report}
          order={search.order}
          onOrder={(order) => report.change({ order })}
          openId={search.open ?? null}
          onOpen={(row) => {
            setByKeys(document.activeElement?.matches(":focus-visible") === true);
            open(row.id, { replace: search.open !== undefined });
          }}
          toHref={toHref}
          footer={<Pager log={log} search={search} change={report.change} />}
        />
      </div>
      {search.open !== undefined && (
        <DetailPanel
          id={search.open}
          log={log}
          report={report}
          takesFocus={isByKeys}
          onMove={(id) => open(id, { replace: true })}
          onClose={() => open(undefined, { replace: true })}
        />
      )}
    </div>
  );
}

/** Less is no reading: a wheel that only just moved. */
const SCROLLED_PX = 24;
