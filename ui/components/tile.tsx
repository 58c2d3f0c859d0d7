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
  /** Takes the place of two where there are few columns. */
  readonly isWide?: boolean | undefined;
}

/** The tiles of a window, side by side on one surface; the lines between them are what is seen of its ground. */
export function TileStrip({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <section
      aria-label={label}
      className="mb-4 grid grid-cols-2 gap-px overflow-clip rounded-card border border-line bg-line sm:grid-cols-4 xl:grid-cols-7"
    >
      {children}
    </section>
  );
}

/** One figure with its name and its change compared with the previous window; the same height while it loads. */
export function Tile({
  label,
  value,
  change,
  goodWhen = "neutral",
  hint,
  busy = false,
  isWide = false,
}: TileProps): ReactNode {
  return (
    <div
      role="group"
      aria-label={label}
      aria-busy={busy || undefined}
      className={classNames("flex min-w-0 flex-col bg-surface px-4 py-2.5", isWide && "max-xl:col-span-2")}
    >
      <span className="truncate text-xs font-medium text-ink-soft" title={label}>
        {label}
      </span>
      <span
        title={typeof value === "string" ? value : undefined}
        className="mt-0.5 h-7 truncate text-lg leading-7 font-semibold tracking-tight text-ink"
      >
        {busy ? <Skeleton className="mt-1 h-5 w-20 max-w-full" /> : value}
      </span>
      <span className="flex min-h-5 flex-wrap items-center gap-x-2 text-xs text-ink-faint">
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
        "inline-flex items-center gap-1",
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
