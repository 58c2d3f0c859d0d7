import { Instant } from "../../../components/instant.tsx";
import { formatCount } from "../../../text/format.ts";
import type { FeedDiff } from "./feed-diff.ts";

export interface FeedResultProps {
  readonly loaded: { readonly version: string; readonly loaded_at: string; readonly entries: number };
  /** By the prices of before. */
  readonly counts: FeedDiff["counts"];
}

/** What the server answered to a load. */
export function FeedResult({ loaded, counts }: FeedResultProps) {
  return (
    <div role="status" className="flex flex-col gap-3">
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-1.5">
        <dt className="text-ink-soft">Version</dt>
        <dd className="break-words">{loaded.version}</dd>
        <dt className="text-ink-soft">Loaded</dt>
        <dd>
          <Instant value={loaded.loaded_at} />
        </dd>
        <dt className="text-ink-soft">Prices</dt>
        <dd>
          {formatCount(loaded.entries)}: {formatCount(counts.changed)} changed, {formatCount(counts.added)}{" "}
          added, {formatCount(counts.unchanged)} as before
        </dd>
      </dl>
      <p className="text-ink-soft">
        They apply from the next request. The cost of past requests does not change.
      </p>
    </div>
  );
}
