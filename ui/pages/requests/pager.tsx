import { Button } from "../../components/button.tsx";
import { SelectField } from "../../components/select-field.tsx";
import type { LogOrder } from "../../search/filters.ts";
import { ROWS_A_PAGE, type RequestsSearch } from "../../search/pages.ts";
import type { Report } from "../../search/report.ts";
import { formatCount } from "../../text/format.ts";
import type { Log } from "./use-log.ts";

export interface PagerProps {
  readonly log: Log;
  readonly search: RequestsSearch;
  readonly change: Report["change"];
}

/** Which rows of how many these are, and the way to the others. */
export function Pager({ log, search, change }: PagerProps) {
  const { rows, total, offset, rowsAPage } = log;
  const page = search.page ?? 0;
  const isLast = total === null || offset + rowsAPage >= total;
  return (
    <nav
      aria-label="Pages of requests"
      className="flex min-h-7 flex-wrap items-center justify-between gap-x-4 gap-y-2"
    >
      {/* While the log is followed the figures move by themselves: read aloud, they would never end. */}
      <p
        role="status"
        aria-live={log.live.state === "on" ? "off" : undefined}
        className="text-xs text-ink-soft"
      >
        {total === null
          ? " "
          : `${toPlace(offset, rows.length, total)}${ORDER_WORDS[search.order ?? "newest"]}`}
      </p>
      <div className="flex items-center gap-2">
        <SelectField
          label="Rows per page"
          labelHidden
          size="sm"
          value={search.rows ?? "100"}
          options={ROWS_A_PAGE.map((value) => ({ value, label: `${value} per page` }))}
          onValueChange={(value) => change({ rows: value === "100" ? undefined : value })}
        />
        <Button
          size="sm"
          icon="chevron-left"
          disabled={page === 0}
          onClick={() => change({ page: page > 1 ? page - 1 : undefined })}
        >
          Previous
        </Button>
        <Button
          size="sm"
          iconEnd="chevron-right"
          disabled={isLast}
          onClick={() => change({ page: page + 1 })}
        >
          Next
        </Button>
      </div>
    </nav>
  );
}

const ORDER_WORDS: { readonly [order in LogOrder]: string } = {
  newest: ", newest first",
  oldest: ", oldest first",
  cost: ", most expensive first",
  duration: ", slowest first",
};

function toPlace(offset: number, shown: number, total: number): string {
  if (shown === 0) return total === 0 ? "No requests" : `No more of ${formatCount(total)} requests`;
  return `${formatCount(offset + 1)}–${formatCount(offset + shown)} of ${formatCount(total)} ${total === 1 ? "request" : "requests"}`;
}
