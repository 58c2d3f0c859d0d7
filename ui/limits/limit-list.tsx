import type { ReactNode } from "react";
import type { OwnLimit } from "../api/limits.ts";
import { LimitMeter } from "./limit-meter.tsx";
import { LevelBadge, StartsAnew } from "./limit-parts.tsx";
import { type NameSecret, toAmountWords, toLeftWords, toWhomWords } from "./limit-words.ts";

export interface LimitListProps {
  /** The name of the list, for a screen reader. */
  readonly label: string;
  readonly children: ReactNode;
}

/** Limits below one another, beside each other where there is room. */
export function LimitList({ label, children }: LimitListProps) {
  return (
    <ul
      aria-label={label}
      className="grid grid-cols-[repeat(auto-fill,minmax(min(18rem,100%),1fr))] gap-x-8 gap-y-4"
    >
      {children}
    </ul>
  );
}

export interface LimitItemProps {
  readonly limit: OwnLimit;
  readonly nameSecret: NameSecret;
  /** The name, where it leads somewhere. */
  readonly title?: ReactNode;
  /** What else stands beside the figures. */
  readonly children?: ReactNode;
}

/** A limit with what is left of it and when it starts anew. */
export function LimitItem({ limit, nameSecret, title, children }: LimitItemProps) {
  return (
    <li className="flex min-w-0 flex-col gap-1">
      <span className="flex min-w-0 flex-wrap items-center gap-x-2">
        <span className="min-w-0 truncate font-medium" title={limit.name}>
          {title ?? limit.name}
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
            starts anew <StartsAnew limit={limit} />
          </span>
        )}
      </span>
      {children}
    </li>
  );
}
