import { getRouteApi } from "@tanstack/react-router";
import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from "react";
import { BESIDE_CLASS } from "../components/beside-panel.tsx";
import { Button } from "../components/button.tsx";
import { PageHead } from "../components/page-head.tsx";
import { FilterBar } from "../filters/filter-bar.tsx";
import { DetailPanel } from "./requests/detail-panel.tsx";
import { Histogram } from "./requests/histogram.tsx";
import { type Live, useLog } from "./requests/log.ts";
import { Pager, RequestTable } from "./requests/request-table.tsx";
import { CsvButton, CsvStatus, useCsvExport } from "../reports/csv-export.tsx";
import { isRefusedOnly } from "../search/filters.ts";
import { toQueryString } from "../search/query-string.ts";
import { type Report, useReport } from "../search/report.ts";
import { formatCount } from "../text/format.ts";

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
  const isOfRefusals = isRefusedOnly(report.filters);
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
      />
      <FilterBar
        report={report}
        actions={
          <>
            {!isOfRefusals && (
              <CsvButton state={csv} title="Every request of this view, without refused ones" />
            )}
            <LiveControl live={log.live} report={report} />
          </>
        }
      />
      <CsvStatus state={csv} total={log.total} className="mb-4" />
      {!isOfRefusals && <Histogram report={report} log={log} />}
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
          footer={<Pager log={log} search={search} report={report} />}
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

interface LiveControlProps {
  readonly live: Live;
  readonly report: Report;
}

/** Says how old what is shown is, and stops or begins to follow the log. */
function LiveControl({ live, report }: LiveControlProps) {
  const { state, updatedAtMs, isFailing } = live;
  const { change, window } = report;
  if (state === "ended") {
    const follow = () =>
      change({
        live: undefined,
        order: undefined,
        ...(window.until !== undefined && { since: undefined, until: undefined, range: undefined }),
      });
    return (
      <Button icon="play" title="Show the newest requests as they come" onClick={follow}>
        Live
      </Button>
    );
  }
  const isOn = state === "on";
  return (
    <>
      {/* As wide before the first answer. */}
      <span className="flex w-36 items-center gap-1.5 text-xs text-ink-soft">
        <span
          aria-hidden="true"
          className={`size-1.5 rounded-full ${isOn && !isFailing ? "bg-good" : "bg-line-strong"}`}
        />
        {isOn ? <Age atMs={updatedAtMs} isFailing={isFailing} /> : "Paused"}
      </span>
      <Button
        icon={isOn ? "stop" : "play"}
        title={isOn ? "Stop following the log" : "Show the newest requests as they come"}
        onClick={() => change({ live: isOn ? "0" : undefined })}
      >
        {isOn ? "Pause" : "Resume"}
      </Button>
    </>
  );
}

const SECOND_MS = 1_000;
/** Longer than a look and its answer take, so that the words do not change with each. */
const FRESH_SECONDS = 4;

/** Apart, so that only these words are drawn again each second. No live region: they would be read aloud all the time. */
function Age({ atMs, isFailing }: { readonly atMs: number; readonly isFailing: boolean }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, []);
  if (atMs === 0) return <span>{isFailing ? "Not loaded" : "Loading"}</span>;
  const seconds = Math.max(0, Math.floor((now - atMs) / SECOND_MS));
  const age = seconds < FRESH_SECONDS ? "just now" : `${formatCount(seconds)} s ago`;
  return (
    <span className="tabular-nums">
      {isFailing ? `No answer for ${formatCount(seconds)} s` : `Updated ${age}`}
    </span>
  );
}

interface WaitingPillProps {
  readonly live: Live;
  /** How many rows the list shows at most: more than that are not counted. */
  readonly countMax: number;
  readonly onShow: () => void;
}

/** What came while the list was being read; a press shows it. Its place is kept, so that nothing moves when it comes. */
function WaitingPill({ live: { waiting }, countMax, onShow }: WaitingPillProps) {
  return (
    <div role="status" className="pointer-events-none absolute inset-x-0 top-12 z-20 flex justify-center">
      {waiting > 0 && (
        <Button
          variant="primary"
          size="sm"
          icon="arrow-up"
          className="pointer-events-auto rounded-full"
          onClick={onShow}
        >
          {formatCount(waiting)}
          {waiting >= countMax && "+"} new
        </Button>
      )}
    </div>
  );
}
