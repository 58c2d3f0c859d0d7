import { Button } from "../../components/button.tsx";
import type { Report } from "../../search/report.ts";
import { formatCount } from "../../text/format.ts";
import { TAIL_ROWS_MAX, type Tail } from "./tail.ts";

/** Follows the log as it is written, with the same filters; a window that has ended gives way to the usual one. */
export function LiveButton({ report, isLive }: { readonly report: Report; readonly isLive: boolean }) {
  const { window, change } = report;
  const follow = () =>
    change(window.until === undefined ? { live: "1" } : { live: "1", since: undefined, until: undefined });
  return (
    <Button
      variant={isLive ? "primary" : "secondary"}
      icon={isLive ? "stop" : "play"}
      aria-pressed={isLive}
      onClick={() => (isLive ? change({ live: undefined }) : follow())}
    >
      Live
    </Button>
  );
}

/** Why nothing new is shown: the pointer is over the rows, or one of them is open. */
export type Pause = "pointer" | "open";

/** Says what the tail does, and reads aloud how many requests came. */
export function LiveStatus({ tail, pause }: { readonly tail: Tail | null; readonly pause: Pause | null }) {
  const count = tail?.freshIds.size ?? 0;
  return (
    <div className="flex min-h-7 flex-wrap items-center justify-between gap-x-4 gap-y-1 text-xs text-ink-soft">
      <p>
        {pause === null ? "Live: updates every 2 seconds." : PAUSES[pause]}
        {tail !== null && ` ${toPlace(tail)}`}
      </p>
      <p role="status">
        {/* A new element each time, so that the same words are said again. */}
        <span key={tail?.arrivals}>
          {count > 0 && `${formatCount(count)} new ${count === 1 ? "request" : "requests"}`}
        </span>
      </p>
    </div>
  );
}

function toPlace({ rows, total }: Tail): string {
  const all = formatCount(total);
  return total > rows.length
    ? `Shows the newest ${formatCount(rows.length)} of ${all}, and keeps up to ${TAIL_ROWS_MAX}.`
    : `Shows all ${all}.`;
}

const PAUSES: { readonly [pause in Pause]: string } = {
  pointer: "Live, paused while the pointer is over the table.",
  open: "Live, paused while a request is open.",
};
