import { Link } from "@tanstack/react-router";
import { toCounted } from "#kernel/text.ts";
import { toWindowSearch } from "../../search/window.ts";
import type { Report } from "../../search/report.ts";

export interface UnmeteredHintProps {
  readonly report: Report;
  /** Requests that ended without their usage; null while it is not known. */
  readonly count: number | null;
}

/** Says that sums are too low. It stands beneath the table, which it would move otherwise. */
export function UnmeteredHint({ report: { filters, window }, count }: UnmeteredHintProps) {
  if (count === null || count === 0) return null;
  return (
    <p role="note" className="border-t border-line px-4 py-2.5 text-xs text-ink-soft">
      {toCounted(count, "request")} ended without usage, so the tokens and the cost are not in these sums. The
      provider did not send it, or the caller left before: the usage of such rows under{" "}
      <Link
        to="/requests"
        search={{ ...filters, ...toWindowSearch(window), outcome: ["ok", "cancelled"] }}
        className="text-accent underline underline-offset-2"
      >
        Requests
      </Link>{" "}
      is “Not reported”.
    </p>
  );
}
