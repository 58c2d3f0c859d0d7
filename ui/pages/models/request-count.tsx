import type { ReportNotes, TeamUsageRow } from "../../api/reports.ts";
import { ShareBar } from "../../components/share-bar.tsx";
import { formatCount } from "../../text/format.ts";

/** Requests by the name that was asked for. */
export interface RequestCounts {
  /** Undefined until it is known. */
  readonly byModel: ReadonlyMap<string, number> | undefined;
  readonly largest: number;
  /** Rare rows were left out: each number may be too low. */
  readonly isTruncated: boolean;
  readonly isFailed: boolean;
}

export interface CountedUsage {
  readonly usage: readonly Pick<TeamUsageRow, "model" | "requests">[];
  readonly notes: ReportNotes;
}

export function toRequestCounts(summary: CountedUsage | undefined, isFailed: boolean): RequestCounts {
  if (summary === undefined) return { byModel: undefined, largest: 0, isTruncated: false, isFailed };
  const byModel = new Map<string, number>();
  for (const { model, requests } of summary.usage) {
    byModel.set(model, (byModel.get(model) ?? 0) + requests);
  }
  const largest = Math.max(0, ...byModel.values());
  return { byModel, largest, isTruncated: summary.notes.isTruncated, isFailed };
}

/** Undefined until it is known; a model without requests has 0. */
export function toRequestCount({ byModel }: RequestCounts, model: string): number | undefined {
  return byModel === undefined ? undefined : (byModel.get(model) ?? 0);
}

const BAR_PX = 48;

/** Requests under a name, beside a bar of its share of the largest; the cell has its width before the number is known. */
export function RequestCount({ counts, model }: { readonly counts: RequestCounts; readonly model: string }) {
  const count = toRequestCount(counts, model);
  return (
    <span className="flex items-center justify-end gap-2">
      <span className="hidden 2xl:block">
        <ShareBar
          share={count === undefined || count === 0 ? null : count / counts.largest}
          widthPx={BAR_PX}
        />
      </span>
      <span className="min-w-16" title={toTitle(counts)}>
        {count === undefined ? (
          <span className="text-ink-faint">{counts.isFailed ? "–" : "…"}</span>
        ) : (
          `${counts.isTruncated ? "≥ " : ""}${formatCount(count)}`
        )}
      </span>
    </span>
  );
}

function toTitle({ isFailed, isTruncated }: RequestCounts): string | undefined {
  if (isFailed) return "Usage could not be read";
  return isTruncated ? "At least this many: the report was truncated" : undefined;
}
