import { Button } from "../components/button.tsx";
import { OpensOnDemand } from "../components/on-demand.tsx";
import type { Report } from "../search/report.ts";
import { parseInstantMs, RANGE_LABELS, toIso } from "../search/window.ts";
import { formatInstant } from "../text/format.ts";

const loadPopover = async () => (await import("./window-popover.tsx")).WindowPopover;

/** Which time a page looks at: a range that moves along, or two instants in UTC; and how finely it is cut. */
export function WindowPicker({ report }: { readonly report: Report }) {
  const { range, since, until } = report.window;
  const label = range === null ? formatWindow(since, until) : RANGE_LABELS[range];
  return (
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
  );
}

function formatWindow(since: string | undefined, until: string | undefined): string {
  const from = since === undefined ? "the beginning" : formatBound(since);
  return `${from} – ${until === undefined ? "now" : formatBound(until)}`;
}

/** Without the hours when it is a midnight. */
function formatBound(text: string): string {
  const ms = parseInstantMs(text);
  if (ms === null) return text;
  return formatInstant(toIso(ms), ms % DAY_MS === 0 ? "date" : "minute");
}

const DAY_MS = 86_400_000;
