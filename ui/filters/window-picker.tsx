import { Button, IconButton } from "../components/button.tsx";
import { OpensOnDemand } from "../components/on-demand.tsx";
import { RANGE_LABELS } from "../search/ranges.ts";
import type { Report } from "../search/report.ts";
import { formatWindow, toZoomedOut } from "../search/window.ts";

const loadPopover = async () => (await import("./window-popover.tsx")).WindowPopover;

/** Which time a page looks at: a range with a name, or days and instants in UTC; and how finely it is cut. */
export function WindowPicker({ report }: { readonly report: Report }) {
  const { window, now, change } = report;
  const { range, since, until } = window;
  const label = range === null ? formatWindow(since, until) : RANGE_LABELS[range];
  const wider = toZoomedOut(window, now);
  return (
    <div className="flex items-center gap-1">
      <OpensOnDemand
        load={loadPopover}
        opens="dialog"
        trigger={
          <Button icon="calendar" iconEnd="chevron-down" aria-label={`Window: ${label} UTC`}>
            <span className="max-w-64 truncate leading-5">{label}</span>{" "}
            <span className="text-xs font-normal text-ink-faint">UTC</span>
          </Button>
        }
        props={{ report }}
      />
      <IconButton
        icon="zoom-out"
        label="Zoom out"
        // Not disabled: pressed down to all time, the focus would be lost.
        aria-disabled={wider === null}
        onClick={() => wider !== null && change(wider)}
      />
    </div>
  );
}
