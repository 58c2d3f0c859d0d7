import { type ReactNode } from "react";

/** Work of unknown length, the size of an icon. A screen reader is told by the `aria-busy` of what it stands in. */
export function Spinner(): ReactNode {
  return (
    <svg
      viewBox="0 0 16 16"
      width={16}
      height={16}
      fill="none"
      strokeWidth={2}
      strokeLinecap="round"
      aria-hidden
      className="spinner inline-block shrink-0"
    >
      <circle cx={8} cy={8} r={6} stroke="currentColor" opacity={0.25} />
      <path d="M14 8a6 6 0 0 0-6-6" stroke="currentColor" />
    </svg>
  );
}

export interface ProgressProps {
  readonly label: string;
  /** From 0 to 1, or null when it is unknown. */
  readonly ratio: number | null;
  /** Text beside the bar, such as `3 of 12`. */
  readonly detail?: string | undefined;
}

/** A bar for long work; it takes the same place from start to end. */
export function Progress({ label, ratio, detail }: ProgressProps): ReactNode {
  const percent = ratio === null ? null : Math.round(Math.min(1, Math.max(0, ratio)) * 100);
  return (
    <div className="flex flex-col gap-1.5">
      <div className="flex justify-between gap-4 text-xs text-ink-soft">
        <span>{label}</span>
        <span>{detail ?? (percent === null ? "" : `${percent}%`)}</span>
      </div>
      <div
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent ?? undefined}
        aria-valuetext={detail}
        className="h-1.5 overflow-hidden rounded-full bg-line"
      >
        {percent === null ? (
          <div className="indeterminate h-full w-2/5 rounded-full bg-accent" />
        ) : (
          <div
            className="h-full rounded-full bg-accent transition-[width]"
            style={{ width: `${percent}%` }}
          />
        )}
      </div>
    </div>
  );
}
