import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { type Limit, LIMITS, type LimitUse, limitUsesQuery, toUseName } from "../../api/limits.ts";
import { teamSeriesQuery } from "../../api/reports.ts";
import { Button, buttonClass } from "../../components/button.tsx";
import { classNames } from "../../components/class-names.ts";
import { Cost } from "../../components/cost.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Instant } from "../../components/instant.tsx";
import { PrincipalLimits } from "../../limits/held-limits.tsx";
import { LevelBadge, LimitMeter, PaceText, Resets, UsedUp } from "../../limits/limit-view.tsx";
import {
  type NameSecret,
  toAmountWords,
  toDeleteWords,
  toLeftWords,
  toWhomWords,
} from "../../limits/limit-words.ts";
import { toSpendQuery } from "../../limits/pace.ts";
import { formatCount, formatPercent } from "../../text/format.ts";
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
      <Spenders limit={limit} />
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

/** A person without a monthly budget of their own, and the limits that apply to them. */
export function PersonBudget({ name, onClose }: { readonly name: string; readonly onClose: () => unknown }) {
  return (
    <RowPanel
      rowId={`person:${name}`}
      onClose={onClose}
      title={name}
      description="No monthly budget of their own"
    >
      <Section title="Limits">
        <PrincipalLimits name={name} />
      </Section>
      <Link to="/limits" search={{ budget: name }} className={classNames(buttonClass(), "self-start")}>
        Set a monthly budget
      </Link>
    </RowPanel>
  );
}

function Used({ limit }: { readonly limit: Limit }) {
  const { each, left, measure, refused, last_refused_at: refusedAt, window } = limit;
  // The closest one stands for a limit for each of several.
  const of = each === "principal" ? limit.top?.[0]?.principal : undefined;
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
          ...(limit.resets_at !== null && { "At this pace": <PaceText limit={limit} /> }),
          ...(measure === "cost" &&
            limit.resets_at !== null && { "Used up": <UsedUp limit={limit} of={of} /> }),
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

/** Who spent what of an amount that several share, in its window. */
function Spenders({ limit }: { readonly limit: Limit }) {
  const { subject, each, window_start: since } = limit;
  const query = toSpendQuery(limit);
  const isShared = query !== null && each === undefined && subject.principal === undefined;
  const { data } = useQuery({ ...teamSeriesQuery(query ?? NOTHING), enabled: isShared });
  if (!isShared || since === null || data === undefined || limit.used === 0) return null;
  const { principal: _, key, tag, model } = query;
  return (
    <Section
      title="Spent by"
      action={
        <Link
          to="/"
          search={{ by: "principal", since, key, tag, model }}
          className="text-xs text-accent underline-offset-2 hover:underline"
        >
          Open in Overview
        </Link>
      }
    >
      <ol aria-label="Spent by" className="flex flex-col gap-1">
        {(data.groups ?? []).map(({ value, cost }) => (
          <li key={value} className="flex justify-between gap-3">
            <span className="truncate">{value ?? "others"}</span>
            <span className="flex gap-2">
              <Cost value={cost} />
              <span className="w-14 text-right text-ink-soft">{formatPercent((cost ?? 0) / limit.used)}</span>
            </span>
          </li>
        ))}
      </ol>
    </Section>
  );
}

const NOTHING = { bucket: "day" } as const;

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
