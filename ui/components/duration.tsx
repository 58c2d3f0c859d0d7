import { type ReactNode } from "react";
import { formatCount, formatDuration } from "../text/format.ts";
import { Absent } from "./absent.tsx";

export interface DurationProps {
  /** Milliseconds; null for what was not measured. */
  readonly durationMs: number | null;
}

/** How long something took; the milliseconds are in the title. */
export function Duration({ durationMs }: DurationProps): ReactNode {
  if (durationMs === null) return <Absent />;
  return (
    <span className="whitespace-nowrap" title={`${formatCount(durationMs)} ms`}>
      {formatDuration(durationMs)}
    </span>
  );
}
