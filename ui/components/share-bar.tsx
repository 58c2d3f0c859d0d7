import { type ReactNode } from "react";
import { classNames } from "./class-names.ts";

export interface ShareBarProps {
  /** From 0 to 1; null before it is known. */
  readonly share: number | null;
  readonly widthPx: number;
  /** Bad for failures, accent for anything else. */
  readonly tone?: "accent" | "bad" | undefined;
  readonly className?: string | undefined;
}

/** A part of a whole as a line beside its figure; however small, it is seen. */
export function ShareBar({ share, widthPx, tone = "accent", className }: ShareBarProps): ReactNode {
  return (
    <svg width={widthPx} height={4} aria-hidden="true" className={classNames("shrink-0", className)}>
      <rect width={widthPx} height={4} rx={2} className="fill-line" />
      {share !== null && share > 0 && (
        <rect width={Math.max(1, share * widthPx)} height={4} rx={2} className={FILL[tone]} />
      )}
    </svg>
  );
}

const FILL = { accent: "fill-accent", bad: "fill-upstream-error" } as const;
