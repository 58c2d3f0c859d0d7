import { type ReactNode } from "react";
import { formatInstant, formatRelative, type InstantFormat } from "../text/format.ts";
import { useNow } from "./now.ts";

export interface InstantProps {
  /** ISO 8601, or null for what has never been. */
  readonly value: string | null;
  readonly format?: InstantFormat | undefined;
}

/** An instant in UTC, and written so; its title is the full stamp. */
export function Instant({ value, format = "second" }: InstantProps): ReactNode {
  if (value === null) return <span className="text-ink-faint">never</span>;
  return (
    <time dateTime={value} title={formatInstant(value, "full")} className="whitespace-nowrap">
      {format === "relative" ? <Distance value={value} /> : formatInstant(value, format)}
    </time>
  );
}

/** Apart, so that only what tells a distance is drawn again as time goes by. */
function Distance({ value }: { readonly value: string }): ReactNode {
  return formatRelative(value, useNow());
}
