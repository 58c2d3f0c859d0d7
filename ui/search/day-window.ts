import { parseInstantMs, toIso } from "./window.ts";

/** A bound of a window as people tell it: a day, and a time within it or none. Both are of UTC. */
export interface DayBound {
  /** `2026-01-31`; empty without a bound. */
  readonly day: string;
  /** `08:00`; empty for the whole day. */
  readonly time: string;
}

const DAY_MS = 86_400_000;
const NO_BOUND: DayBound = { day: "", time: "" };

/** Where the window begins; a midnight is the whole day. */
export function toFirstDay(since: string | undefined): DayBound {
  const ms = since === undefined ? null : parseInstantMs(since);
  return ms === null ? NO_BOUND : toBound(ms);
}

/** Where the window ends: an end at midnight, which is exclusive, is the whole day before it. */
export function toLastDay(until: string | undefined): DayBound {
  const ms = until === undefined ? null : parseInstantMs(until);
  if (ms === null) return NO_BOUND;
  return isMidnight(ms) ? { day: toIso(ms - DAY_MS).slice(0, 10), time: "" } : toBound(ms);
}

/** The inclusive start as the address holds it; undefined without a day. */
export function toSince({ day, time }: DayBound): string | undefined {
  if (day === "") return undefined;
  return time === "" ? day : `${day}T${time}`;
}

/** The exclusive end as the address holds it: a day without a time is in the window to its end. */
export function toUntil({ day, time }: DayBound): string | undefined {
  const ms = day === "" ? null : parseInstantMs(day);
  if (ms === null) return undefined;
  return time === "" ? toIso(ms + DAY_MS).slice(0, 10) : `${day}T${time}`;
}

/** `2026-01-01 – 2026-01-31` with its last day included, one day alone, or instants where a bound is no midnight. */
export function formatWindow(since: string | undefined, until: string | undefined): string {
  const [sinceMs, untilMs] = [since, until].map((text) => (text === undefined ? null : parseInstantMs(text)));
  const isWhole = [sinceMs, untilMs].every((ms) => ms === null || ms === undefined || isMidnight(ms));
  const from = since === undefined ? "the beginning" : formatBound(toFirstDay(since), since, isWhole);
  if (until === undefined) return `${from} – now`;
  const last = isWhole ? toLastDay(until) : toBound(untilMs ?? Number.NaN);
  const to = formatBound(last, until, isWhole);
  return from === to ? from : `${from} – ${to}`;
}

/** What cannot be read stands as it was written. */
function formatBound({ day, time }: DayBound, text: string, isWhole: boolean): string {
  if (day === "") return text;
  return isWhole ? day : `${day} ${time === "" ? "00:00" : time}`;
}

function toBound(ms: number): DayBound {
  if (Number.isNaN(ms)) return NO_BOUND;
  const iso = toIso(ms);
  return { day: iso.slice(0, 10), time: isMidnight(ms) ? "" : iso.slice(11, 16) };
}

function isMidnight(ms: number): boolean {
  return ms % DAY_MS === 0;
}
