import { type ReactNode } from "react";
import { type Tone } from "./chip.tsx";
import { classNames } from "./class-names.ts";

export interface BadgeProps {
  readonly children: ReactNode;
  readonly tone?: Tone | undefined;
  readonly title?: string | undefined;
}

/** A state in a word or a number: quieter and squarer than a chip, never pressed. */
export function Badge({ children, tone = "neutral", title }: BadgeProps): ReactNode {
  return (
    <span
      title={title}
      className={classNames(
        "inline-flex h-5 min-w-0 items-center rounded px-1.5 text-xs font-medium whitespace-nowrap",
        BADGE_TONE[tone],
      )}
    >
      {children}
    </span>
  );
}

const BADGE_TONE = {
  neutral: "bg-sunken text-ink-soft",
  accent: "bg-accent-soft text-accent",
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
} as const satisfies Record<Tone, string>;
