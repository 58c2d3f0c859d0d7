import { ShareBar } from "../../components/share-bar.tsx";
import { formatCount } from "../../text/format.ts";
import { toRequestCount, type RequestCounts } from "./model-list.ts";

const BAR_PX = 48;

export interface RequestCountProps {
  readonly counts: RequestCounts;
  readonly model: string;
}

/** How often a name was asked for, beside the one that was asked for most; as wide before it is known. */
export function RequestCount({ counts, model }: RequestCountProps) {
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
  if (isFailed) return "The usage could not be read";
  return isTruncated ? "At least: there is more than one report holds" : undefined;
}
