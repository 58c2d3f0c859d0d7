import type { ReactNode } from "react";
import type { OwnLimit } from "../api/limits.ts";
import { classNames } from "../components/class-names.ts";
import { formatMoneyExact } from "../text/format.ts";
import { type LimitLevel, toLevel, toShareWords, toUsedWords } from "./limit-words.ts";

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
