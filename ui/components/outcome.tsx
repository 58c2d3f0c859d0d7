import { type ReactNode } from "react";
import { OUTCOME_LABEL, OUTCOME_MEANING, type ShownOutcome } from "../text/outcomes.ts";

export interface OutcomeBadgeProps {
  readonly outcome: ShownOutcome;
  readonly statusCode?: number | null | undefined;
}

/** An outcome as a shape, a colour and a word, with the status when there was one. */
export function OutcomeBadge({ outcome, statusCode }: OutcomeBadgeProps): ReactNode {
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap" title={OUTCOME_MEANING[outcome]}>
      <OutcomeMark outcome={outcome} />
      <span>{OUTCOME_LABEL[outcome]}</span>
      {statusCode !== undefined && statusCode !== null && (
        <span className="text-ink-faint">{statusCode}</span>
      )}
    </span>
  );
}

/** The shape alone: a disc, a triangle, a square with a cross, a ring, a bar. */
export function OutcomeMark({ outcome }: { readonly outcome: ShownOutcome }): ReactNode {
  return (
    <svg viewBox="0 0 12 12" width={12} height={12} aria-hidden className="shrink-0">
      {MARK[outcome]}
    </svg>
  );
}

const MARK = {
  ok: <circle cx={6} cy={6} r={4.5} className="fill-ok" />,
  upstream_error: <path d="M6 1l5.2 9.5H.8z" className="fill-upstream-error" />,
  unreachable: (
    <>
      <rect x={1} y={1} width={10} height={10} rx={1.5} className="fill-unreachable" />
      <path d="M4 4l4 4M8 4L4 8" className="stroke-surface" strokeWidth={1.5} strokeLinecap="round" />
    </>
  ),
  cancelled: <circle cx={6} cy={6} r={4} className="fill-none stroke-cancelled" strokeWidth={2} />,
  refused: <rect x={1} y={4.5} width={10} height={3} rx={1.5} className="fill-ink-faint" />,
} as const satisfies Record<ShownOutcome, ReactNode>;
