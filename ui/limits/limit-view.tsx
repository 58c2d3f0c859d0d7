import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Limit, OwnLimit } from "../api/limits.ts";
import { teamSeriesQuery, type UsageSeries } from "../api/reports.ts";
import { Badge } from "../components/chip.tsx";
import { classNames } from "../components/class-names.ts";
import { Absent } from "../components/empty.tsx";
import { Instant } from "../components/instant.tsx";
import { useMinute } from "../search/now.ts";
import { formatMoneyExact, formatPercent } from "../text/format.ts";
import {
  type LimitLevel,
  type NameSecret,
  toAmountWords,
  toLeftWords,
  toLevel,
  toLevelWords,
  toNoResetWords,
  toShareWords,
  toUsedWords,
  toWhomWords,
} from "./limit-words.ts";
import {
  findUsedUp,
  PACE_RULE,
  type Paced,
  toPace,
  toPaceWords,
  toSpendQuery,
  toUsedUpWords,
} from "./pace.ts";

export interface LimitListProps {
  /** The name of the list, for a screen reader. */
  readonly label: string;
  readonly limits: readonly OwnLimit[];
  readonly nameSecret: NameSecret;
  /** Each name leads to the page of limits, which only admins have. */
  readonly isLinked?: boolean | undefined;
}

/** Limits with what is left of each and when it resets. */
export function LimitList({ label, limits, nameSecret, isLinked = false }: LimitListProps): ReactNode {
  return (
    <ul
      aria-label={label}
      className="grid grid-cols-[repeat(auto-fill,minmax(min(18rem,100%),1fr))] gap-x-8 gap-y-4"
    >
      {limits.map((limit) => (
        <li key={limit.id} className="flex min-w-0 flex-col gap-1">
          <span className="flex min-w-0 flex-wrap items-center gap-x-2">
            <span className="min-w-0 truncate font-medium" title={limit.name}>
              {isLinked ? (
                <Link
                  to="/limits"
                  search={{ open: limit.id }}
                  className="text-accent underline-offset-2 hover:underline"
                >
                  {limit.name}
                </Link>
              ) : (
                limit.name
              )}
            </span>
            <LevelBadge limit={limit} />
          </span>
          <span className="text-xs text-ink-soft">
            {toWhomWords(limit, nameSecret)}, {toAmountWords(limit)}
          </span>
          <LimitMeter limit={limit} />
          <span className="flex flex-wrap justify-between gap-x-4 text-xs text-ink-soft">
            <span>{toLeftWords(limit, limit.left)}</span>
            {limit.resets_at !== null && (
              <span>
                resets <Resets limit={limit} />
              </span>
            )}
            {limit.resets_at !== null && limit.used > 0 && (
              <span>
                at this pace <PaceText limit={limit} />
              </span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

export interface LimitMeterProps {
  readonly limit: Pick<OwnLimit, "name" | "measure" | "amount" | "used" | "enabled" | "action">;
  /** Whose use it is, where a limit holds for several separately. */
  readonly of?: string | undefined;
}

/** What was used of an amount: in words, and as a bar whose color says nothing that a badge does not. */
export function LimitMeter({ limit, of }: LimitMeterProps): ReactNode {
  const { name, measure, amount, used, action } = limit;
  const level = toLevel(limit);
  const words = toUsedWords(limit, used);
  return (
    <span className="flex min-w-0 flex-col gap-1">
      <span
        aria-hidden
        className="truncate"
        title={measure === "cost" ? `${formatMoneyExact(used)} of ${formatMoneyExact(amount)}` : words}
      >
        {words}
      </span>
      <span
        role="meter"
        aria-label={of === undefined ? `Used of ${name}` : `Used of ${name} by ${of}`}
        aria-valuemin={0}
        aria-valuemax={amount}
        aria-valuenow={Math.min(used, amount)}
        aria-valuetext={`${words}, ${toShareWords(limit)}`}
        className="block h-1.5 overflow-hidden rounded-full bg-line"
      >
        <span
          className={classNames("block h-full rounded-full", FILL[level === "reached" ? action : level])}
          style={{ width: toWidth(used / amount) }}
        />
      </span>
    </span>
  );
}

const FILL = {
  off: "bg-line-strong",
  fine: "bg-accent",
  near: "bg-warn",
  warn: "bg-warn",
  refuse: "bg-bad",
} as const satisfies Record<Exclude<LimitLevel, "reached"> | OwnLimit["action"], string>;

/** However little was used, it is seen. */
function toWidth(share: number): string {
  return share === 0 ? "0" : `max(2px, ${Math.min(100, share * 100)}%)`;
}

/** That a limit is off, close to its amount, at it, or one that warns only; nothing otherwise. */
export function LevelBadge({
  limit,
}: {
  readonly limit: Pick<OwnLimit, "enabled" | "used" | "amount" | "action">;
}): ReactNode {
  const level = toLevel(limit);
  const words = toLevelWords(level, limit.action);
  if (words === null) return limit.action === "warn" && <Badge title="It refuses nothing">warns</Badge>;
  const tone =
    level === "off" ? "neutral" : level === "reached" && limit.action === "refuse" ? "bad" : "warn";
  return <Badge tone={tone}>{words}</Badge>;
}

/** How far away the reset is, the instant in its title. */
export function Resets({
  limit: { resets_at: at, window },
}: {
  readonly limit: Pick<OwnLimit, "resets_at" | "window">;
}): ReactNode {
  if (at !== null) return <Instant value={at} format="relative" />;
  return <span className="text-ink-faint">{toNoResetWords(window)}</span>;
}

/** A window's use at its end if it goes on as it did so far: `$61.00 by 30 Nov`. */
export function PaceText({ limit }: { readonly limit: Paced }): ReactNode {
  const pace = toPace(limit, useMinute());
  if (pace === null || limit.used === 0) return <Absent />;
  const isOver = limit.amount !== null && pace.total > limit.amount;
  return (
    <span
      className={isOver ? "font-medium text-warn" : undefined}
      title={`${PACE_RULE}: ${formatPercent(pace.passed)} of it has`}
    >
      {toPaceWords(pace, limit.measure)}
    </span>
  );
}

export interface UsedUpProps {
  readonly limit: Limit;
  /** Whose use it is, where a limit holds for several separately. */
  readonly of?: string | undefined;
  /** Stands for no such day. */
  readonly none?: ReactNode;
}

/** When an amount was used up, and by whom, or when it will be at this pace. */
export function UsedUp({ limit, of, none = "–" }: UsedUpProps): ReactNode {
  const { amount, used, window } = limit;
  const now = useMinute();
  const isReached = used >= amount;
  const query = isReached ? toSpendQuery(limit, of) : null;
  const { data } = useQuery({ ...teamSeriesQuery(query ?? NOTHING), enabled: query !== null });
  if (!isReached) {
    const at = toPace(limit, now)?.usedUpAt ?? null;
    return at === null ? none : <span className="block">about {toUsedUpWords(at, window)}</span>;
  }
  const at = data === undefined || query === null ? null : findUsedUp(data.series, amount);
  if (at === null) return query === null ? none : null;
  return (
    <>
      <span className="block">{toUsedUpWords(at, window)}</span>
      {data !== undefined && limit.subject.principal === undefined && of === undefined && (
        <span className="block truncate text-xs text-ink-soft">{toMostWords(data)}</span>
      )}
    </>
  );
}

const NOTHING = { bucket: "day" } as const;

/** `72% by robin`; null where no one is told. */
function toMostWords({ series, groups = [] }: UsageSeries): string | null {
  const all = series.reduce((sum, { cost }) => sum + (cost ?? 0), 0);
  const [most] = groups;
  if (most === undefined || most.cost === null || all === 0) return null;
  return `${formatPercent(most.cost / all)} by ${most.value ?? "others"}`;
}
