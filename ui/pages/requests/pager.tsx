import { Button } from "../../components/button.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { ROWS_A_PAGE, type RequestsSearch } from "../../search/pages.ts";
import type { Report } from "../../search/report.ts";
import { formatCount } from "../../text/format.ts";
import type { RequestList } from "./use-request-rows.ts";

export interface PagerProps {
  readonly list: RequestList;
  readonly search: RequestsSearch;
  readonly change: Report["change"];
}

/** Which rows of how many these are, and the way to the others. */
export function Pager({ list, search, change }: PagerProps) {
  const { rows, total, offset, rowsAPage } = list;
  const page = search.page ?? 0;
  const isLast = total === null || offset + rowsAPage >= total;
  return (
    <nav
      aria-label="Pages of requests"
      className="flex min-h-7 flex-wrap items-center justify-between gap-x-4 gap-y-2"
    >
      <p role="status" className="text-xs text-ink-soft">
        {total === null ? " " : toPlace(offset, rows.length, total)}
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
          Newer
        </Button>
        <Button
          size="sm"
          iconEnd="chevron-right"
          disabled={isLast}
          onClick={() => change({ page: page + 1 })}
        >
          Older
        </Button>
      </div>
    </nav>
  );
}

function toPlace(offset: number, shown: number, total: number): string {
  if (shown === 0) return total === 0 ? "No requests" : `No more of ${formatCount(total)} requests`;
  return `${formatCount(offset + 1)}–${formatCount(offset + shown)} of ${formatCount(total)} ${total === 1 ? "request" : "requests"}, newest first`;
}
