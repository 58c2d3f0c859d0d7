import { type ReactNode, useSyncExternalStore } from "react";
import {
  formatCount,
  formatDuration,
  formatInstant,
  formatRelative,
  type InstantFormat,
} from "../text/format.ts";
import { formatLocal, type TimeZone, useTimeZone } from "../text/time-zone.ts";
import { Absent } from "./empty.tsx";

export interface InstantProps {
  /** ISO 8601, or null for what has never been. */
  readonly value: string | null;
  readonly format?: InstantFormat | undefined;
}

/** An instant, in UTC unless this browser asks for its local time, with its zone; the title is the full stamp in UTC. */
export function Instant({ value, format = "second" }: InstantProps): ReactNode {
  const zone = useTimeZone();
  if (value === null) return <span className="text-ink-faint">never</span>;
  return (
    <time
      dateTime={value}
      title={formatInstant(value, "full")}
      // The full stamp is as wide as a telephone's line.
      className={format === "full" ? undefined : "whitespace-nowrap"}
    >
      {format === "relative" ? (
        <Distance value={value} zone={zone} />
      ) : zone === "local" ? (
        formatLocal(value, format)
      ) : (
        formatInstant(value, format)
      )}
    </time>
  );
}

/** Apart, so that only what tells a distance is drawn again as time goes by. */
function Distance({ value, zone }: { readonly value: string; readonly zone: TimeZone }): ReactNode {
  return formatRelative(value, useNow(), (old) =>
    zone === "local" ? formatLocal(old, "date") : formatInstant(old, "date"),
  );
}

/** As long as `formatRelative` says "just now", so that nothing that has just been lies in the future. */
export const NOW_STEP_MS = 10_000;

/** The time in milliseconds, in steps of ten seconds; everything drawn from it shares one timer. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, readNow);
}

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

function subscribe(onStep: () => void): () => void {
  listeners.add(onStep);
  timer ??= setInterval(() => listeners.forEach((listener) => listener()), NOW_STEP_MS);
  return () => {
    listeners.delete(onStep);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

function readNow(): number {
  return Math.floor(Date.now() / NOW_STEP_MS) * NOW_STEP_MS;
}

interface DurationProps {
  /** Milliseconds; null for what was not measured. */
  readonly durationMs: number | null;
}

/** A duration; the milliseconds are in the title. */
export function Duration({ durationMs }: DurationProps): ReactNode {
  if (durationMs === null) return <Absent />;
  return (
    <span className="whitespace-nowrap" title={`${formatCount(durationMs)} ms`}>
      {formatDuration(durationMs)}
    </span>
  );
}
