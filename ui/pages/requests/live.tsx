import { useEffect, useState } from "react";
import { Button } from "../../components/button.tsx";
import type { Report } from "../../search/report.ts";
import { formatCount } from "../../text/format.ts";
import type { Live } from "./log.ts";

export interface LiveControlProps {
  readonly live: Live;
  readonly report: Report;
}

/** Says how old what is shown is, and stops or begins to follow the log. */
export function LiveControl({ live, report }: LiveControlProps) {
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

export interface WaitingPillProps {
  readonly live: Live;
  /** How many rows the list shows at most: more than that are not counted. */
  readonly countMax: number;
  readonly onShow: () => void;
}

/** What came while the list was being read; a press shows it. Its place is kept, so that nothing moves when it comes. */
export function WaitingPill({ live: { waiting }, countMax, onShow }: WaitingPillProps) {
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
