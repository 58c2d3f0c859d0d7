import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Limit, limitUsesQuery, type LimitUse, toUseName } from "../../../api/limits.ts";
import { Button } from "../../../components/button.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { LimitMeter } from "../../../limits/limit-meter.tsx";
import { LevelBadge } from "../../../limits/limit-parts.tsx";
import type { NameSecret } from "../../../limits/limit-words.ts";
import { formatCount } from "../../../text/format.ts";

export interface LimitUsesProps {
  readonly limit: Limit;
  readonly nameSecret: NameSecret;
}

/** The server tells so many with the limit itself. */
const TOP_MAX = 10;

/** Who is closest to the amount; all of them on demand. */
export function LimitUses({ limit, nameSecret }: LimitUsesProps) {
  const [isWhole, setWhole] = useState(false);
  const top = limit.top ?? [];
  if (top.length === 0) return <p className="text-ink-soft">Nothing used in this window.</p>;
  return (
    <div className="flex flex-col gap-3">
      {isWhole ? (
        <AllUses limit={limit} nameSecret={nameSecret} />
      ) : (
        <UseList uses={top} limit={limit} nameSecret={nameSecret} />
      )}
      {!isWhole && top.length >= TOP_MAX && (
        <Button size="sm" className="self-start" onClick={() => setWhole(true)}>
          Show all
        </Button>
      )}
    </div>
  );
}

/** Page after page, the most used first. */
function AllUses({ limit, nameSecret }: LimitUsesProps) {
  const asked = useInfiniteQuery(limitUsesQuery(limit.id));
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = asked;
  const uses = data?.pages.flatMap(({ usage }) => usage);
  // What has moved between two pages is on both.
  const known = uses && [...new Map(uses.map((use) => [toUseName(use), use])).values()];
  return (
    <>
      {error !== null && <ErrorNotice compact failure={error} onRetry={() => void refetch()} />}
      <UseList uses={known ?? limit.top ?? []} limit={limit} nameSecret={nameSecret} />
      <p role="status" className="text-xs text-ink-soft">
        {known !== undefined &&
          `${formatCount(known.length)} of ${formatCount(data?.pages.at(-1)?.total ?? known.length)}`}
      </p>
      {hasNextPage && (
        <Button
          size="sm"
          className="self-start"
          busy={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </>
  );
}

interface UseListProps extends LimitUsesProps {
  readonly uses: readonly LimitUse[];
}

function UseList({ uses, limit, nameSecret }: UseListProps) {
  return (
    <ol aria-label="Closest to the amount" className="flex flex-col gap-3">
      {uses.map((use) => {
        const name = use.key === undefined ? toUseName(use) : nameSecret(use.key);
        const ofOne = { ...limit, used: use.used, left: use.left };
        return (
          <li key={toUseName(use)} className="grid grid-cols-2 items-end gap-3">
            <span className="flex min-w-0 flex-wrap items-center gap-x-2">
              <span className="truncate" title={name}>
                {name}
              </span>
              <LevelBadge limit={ofOne} />
            </span>
            <LimitMeter limit={ofOne} of={name} />
          </li>
        );
      })}
    </ol>
  );
}
