import { formatInstant, type InstantFormat } from "./format.ts";
import { storedChoice } from "./stored-choice.ts";

/**
 * Whether instants of lists and panels are shown in UTC or in the time of this browser. Windows, pickers, axes, buckets and exports
 * are in UTC always: a day of a report is a UTC day.
 */
export const TIME_ZONES = ["utc", "local"] as const;
export type TimeZone = (typeof TIME_ZONES)[number];

const choice = storedChoice("lockport.time-zone");

export function useTimeZone(): TimeZone {
  return choice.use() === "local" ? "local" : "utc";
}

/** Remembered by this browser. */
export function chooseTimeZone(zone: TimeZone): void {
  choice.write(zone === "utc" ? null : zone);
}

/** With its zone, always: `2026-11-23 10:15 UTC`, `10:15:02 GMT+1`. */
export function formatInZone(iso: string, as: Exclude<InstantFormat, "relative">, zone: TimeZone): string {
  if (zone === "local") return formatLocal(iso, as);
  const text = formatInstant(iso, as);
  return as === "date" || as === "time" ? `${text} UTC` : text;
}

/** The name of an instant's zone, for a heading above times of day. */
export function toZoneLabel(at: Date, zone: TimeZone): string {
  return zone === "utc" ? "UTC" : toZoneName(at);
}

/** `2026-11-23 10:15:02 GMT+1`; a day or a time of day has its zone as well, since nothing around it says that it is not UTC. */
export function formatLocal(iso: string, as: Exclude<InstantFormat, "relative">): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const zone = toZoneName(date);
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  const minute = `${pad(date.getHours())}:${pad(date.getMinutes())}`;
  const time = `${minute}:${pad(date.getSeconds())}`;
  if (as === "full") return `${day} ${time}${FRACTION.exec(iso)?.[0] ?? ""} ${zone}`;
  if (as === "date") return `${day} ${zone}`;
  if (as === "time") return `${time} ${zone}`;
  return `${day} ${as === "minute" ? minute : time} ${zone}`;
}

/** `GMT+1`, `CET`, as the browser calls its zone at that instant: summer time has another one. */
export function toZoneName(date: Date): string {
  const parts = new Intl.DateTimeFormat("en-US", { timeZoneName: "short" }).formatToParts(date);
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? "local";
}

/** Kept as it was written: a `Date` would lose all but three of its digits. */
const FRACTION = /\.\d+/u;

function pad(part: number): string {
  return String(part).padStart(2, "0");
}
