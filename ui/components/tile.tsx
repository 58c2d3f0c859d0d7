import { type ReactNode } from "react";
import { formatChange } from "../text/format.ts";
import { classNames } from "./class-names.ts";
import { Icon } from "./icon.tsx";
import { Skeleton } from "./skeleton.tsx";

export interface TileProps {
  readonly label: string;
  readonly value: ReactNode;
  /** Compared with the previous window: 0.12 is 12 % more. */
  readonly change?: number | undefined;
  readonly goodWhen?: "up" | "down" | "neutral" | undefined;
  readonly hint?: ReactNode;
  readonly busy?: boolean | undefined;
}

/** One figure with its name and its change compared with the previous window; the same height while it loads. */
export function Tile({
  label,
  value,
  change,
  goodWhen = "neutral",
  hint,
  busy = false,
}: TileProps): ReactNode {
  return (
    <div
      role="group"
      aria-label={label}
      aria-busy={busy || undefined}
      className="flex min-w-0 flex-col rounded-card border border-line bg-surface px-4 py-3"
    >
      <span className="truncate text-xs font-medium text-ink-soft" title={label}>
        {label}
      </span>
      <span
        title={typeof value === "string" ? value : undefined}
        className="mt-1 h-8 truncate text-xl leading-8 font-semibold tracking-tight text-ink sm:text-2xl sm:leading-8"
      >
        {busy ? <Skeleton className="mt-0.5 h-7 w-24 max-w-full" /> : value}
      </span>
      <span className="mt-0.5 flex min-h-5 flex-wrap items-center gap-x-2 text-xs text-ink-faint">
        {busy ? <Skeleton className="h-3.5 w-16" /> : <Change change={change} goodWhen={goodWhen} />}
        {!busy && hint !== undefined && <span className="min-w-0">{hint}</span>}
      </span>
    </div>
  );
}

interface ChangeProps {
  readonly change: number | undefined;
  readonly goodWhen: "up" | "down" | "neutral";
}

function Change({ change, goodWhen }: ChangeProps): ReactNode {
  if (change === undefined) return null;
  const direction = change > 0 ? "up" : change < 0 ? "down" : "neutral";
  const isGood = direction === goodWhen;
  return (
    <span
      title="Compared with the previous window"
      className={classNames(
        "inline-flex items-center gap-1 font-medium",
        direction === "neutral" || goodWhen === "neutral"
          ? "text-ink-soft"
          : isGood
            ? "text-good"
            : "text-bad",
      )}
    >
      {direction !== "neutral" && <Icon name={direction === "up" ? "arrow-up" : "arrow-down"} size={12} />}
      {formatChange(change)}
      <span className="sr-only">compared with the previous window</span>
    </span>
  );
}
