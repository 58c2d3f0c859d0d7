import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { type Limit, LIMITS, type LimitUse, limitUsesQuery, toUseName } from "../../api/limits.ts";
import { Button } from "../../components/button.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Instant } from "../../components/instant.tsx";
import { LevelBadge, LimitMeter, Resets } from "../../limits/limit-view.tsx";
import {
  type NameSecret,
  toAmountWords,
  toDeleteWords,
  toLeftWords,
  toWhomWords,
} from "../../limits/limit-words.ts";
import { formatCount } from "../../text/format.ts";
import { EditLimit } from "./limit-fields.tsx";
import { ChangeQuestion, Figures, RowPanel, Section } from "../../lists/row-panel.tsx";

/** Whose use it is. */
export function nameUse(use: LimitUse, nameSecret: NameSecret): string {
  return use.key === undefined ? toUseName(use) : nameSecret(use.key);
}

interface LimitPanelProps {
  readonly limit: Limit;
  readonly nameSecret: NameSecret;
  readonly onClose: () => void;
}

/** One limit: what is used of it and by whom, and what can be changed about it. */
export function LimitPanel({ limit, nameSecret, onClose }: LimitPanelProps) {
  const [isDeleting, setDeleting] = useState(false);
  return (
    <RowPanel
      rowId={limit.id}
      onClose={onClose}
      title={limit.name}
      description={
        <span className="flex flex-wrap items-center gap-2">
          {toWhomWords(limit, nameSecret)}: {toAmountWords(limit)}
          <LevelBadge limit={limit} />
        </span>
      }
    >
      <Used limit={limit} />
      {limit.each !== undefined && (
        <Section title="Highest use">
          <LimitUses limit={limit} nameSecret={nameSecret} />
        </Section>
      )}
      <Section title="Settings">
        <EditLimit limit={limit} />
      </Section>
      <section aria-label="Delete" className="border-t border-line pt-4">
        <Button icon="trash" variant="danger" onClick={() => setDeleting(true)}>
          Delete limit
        </Button>
      </section>
      {isDeleting && (
        <ChangeQuestion
          title={`Delete ${limit.name}?`}
          body={
            <div className="flex flex-col gap-2">
              {toDeleteWords(limit).map((sentence) => (
                <p key={sentence}>{sentence}</p>
              ))}
            </div>
          }
          confirmLabel="Delete limit"
          change={LIMITS.remove}
          wanted={{ id: limit.id, from: limit }}
          done={() => ({ title: `${limit.name} deleted` })}
          onClose={() => setDeleting(false)}
          onDone={onClose}
        />
      )}
    </RowPanel>
  );
}

function Used({ limit }: { readonly limit: Limit }) {
  const { each, left, refused, last_refused_at: refusedAt, window } = limit;
  const { unpriced_requests: unpriced, unknown_requests: unknown } = limit;
  return (
    <div className="flex flex-col gap-4">
      <div>
        {each !== undefined && <p className="mb-0.5 text-xs text-ink-faint">Highest use</p>}
        <LimitMeter limit={limit} />
      </div>
      <Figures
        figures={{
          Left: toLeftWords(limit, left),
          ...(window !== undefined && { Resets: <Resets limit={limit} /> }),
          "Refused since start": formatCount(refused),
          "Last refused": <Instant value={refusedAt} format="relative" />,
        }}
      />
      {unpriced > 0 && (
        <p className="text-warn">
          {toRequests(unpriced)} of the window had no price, so their cost is not counted.{" "}
          <Link to="/models/prices" className="text-accent underline underline-offset-2">
            Set prices
          </Link>
        </p>
      )}
      {unknown > 0 && (
        <p className="text-warn">
          {toRequests(unknown)} of the window ended before their usage was reported, so it is not counted.
        </p>
      )}
    </div>
  );
}

function toRequests(count: number): string {
  return count === 1 ? "1 request" : `${formatCount(count)} requests`;
}

interface LimitUsesProps {
  readonly limit: Limit;
  readonly nameSecret: NameSecret;
}

/** The server answers so many with the limit itself. */
const TOP_MAX = 10;

/** Who is closest to the amount; all of them on demand. */
function LimitUses({ limit, nameSecret }: LimitUsesProps) {
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
  // A use that moved between two pages is on both.
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

function UseList({
  uses,
  limit,
  nameSecret,
}: LimitUsesProps & { readonly uses: readonly LimitUse[] }): ReactNode {
  return (
    <ol aria-label="Highest use" className="flex flex-col gap-3">
      {uses.map((use) => {
        const name = nameUse(use, nameSecret);
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
