import { format } from "d3-format";
import { utcFormat } from "d3-time-format";

const MONEY_LEAST = 0.000001;
const MONEY_DECIMALS_MAX = 6;
const MONEY_DIGITS = 3;
const cents = format(",.2f");

/**
 * Money for people: two decimals from $1, three significant digits below it (`$0.0123`). A positive amount is never
 * written as zero: below a millionth it is `<$0.000001`. `null` is `unpriced`, which is not `$0.00`.
 */
export function formatMoney(amount: number | null): string {
  if (amount === null) return "unpriced";
  if (!Number.isFinite(amount)) return UNKNOWN;
  if (amount < 0 && amount > -MONEY_LEAST) return `>${MINUS}$0.000001`;
  if (amount < 0) return `${MINUS}${formatMoney(-amount)}`;
  if (amount === 0) return "$0.00";
  if (amount < MONEY_LEAST) return "<$0.000001";
  const decimals = toMoneyDecimals(amount);
  return decimals === 2 ? `$${cents(amount)}` : `$${trimZeros(amount.toFixed(decimals), 2)}`;
}

/** Money to the cent, for a column of amounts of which some are dollars: what is less than half a cent is `<$0.01`. */
export function formatCents(amount: number | null): string {
  if (amount === null || !Number.isFinite(amount) || amount <= 0) return formatMoney(amount);
  return amount < 0.005 ? "<$0.01" : `$${cents(amount)}`;
}

const MONEY_EXACT_DECIMALS = 12;
/** A number holds so many digits as they were written; what follows is noise of its binary form. */
const DIGITS_HELD = 15;

/** Every digit that is kept, to 10⁻¹², and never an exponent: for a title beside the rounded amount. */
export function formatMoneyExact(amount: number | null): string {
  if (amount === null || !Number.isFinite(amount)) return formatMoney(amount);
  const magnitude = Math.abs(amount);
  const held = DIGITS_HELD - Math.trunc(magnitude).toString().length;
  const decimals = Math.min(MONEY_EXACT_DECIMALS, Math.max(2, held));
  const digits = trimZeros(format(`,.${decimals}f`)(magnitude), 2);
  return amount < 0 ? `${MINUS}$${digits}` : `$${digits}`;
}

/** Money for an axis or a narrow cell: `$1.2k`, `$3.4M`; below $1,000 as `formatMoney`. */
export function formatMoneyCompact(amount: number | null): string {
  if (amount === null || !(Math.abs(amount) >= 1000) || !Number.isFinite(amount)) return formatMoney(amount);
  return amount < 0 ? `${MINUS}$${compact(-amount)}` : `$${compact(amount)}`;
}

const whole = format(",.0f");
const parts = format(",.3~f");

/** The whole number, with commas: `1,234,567`. A fraction (audio seconds) keeps up to three decimals. */
export function formatCount(count: number): string {
  if (!Number.isFinite(count)) return UNKNOWN;
  return Number.isInteger(count) ? whole(count) : parts(count);
}

/** `1 request`, `1,234 requests`. */
export function formatCounted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Three significant digits at most: `987`, `1.23k`, `1.2M`, `3B`. */
export function formatCountCompact(count: number): string {
  if (!Number.isFinite(count)) return UNKNOWN;
  if (Math.abs(count) < 1000) return formatCount(count);
  return count < 0 ? `${MINUS}${compact(-count)}` : compact(count);
}

const oneDecimal = format(",.1~f");

/** A share of one: `12.3%`. What is neither none nor all is never written as `0%` or `100%`. */
export function formatPercent(ratio: number): string {
  if (!Number.isFinite(ratio)) return UNKNOWN;
  if (ratio > 0 && ratio < 0.001) return "<0.1%";
  if (ratio > 0.999 && ratio < 1) return ">99.9%";
  return `${oneDecimal(ratio * 100)}%`;
}

/** A change against an earlier value, always with its sign: `+12.3%`, `−4%`, `±0%`. */
export function formatChange(ratio: number): string {
  if (!Number.isFinite(ratio)) return UNKNOWN;
  const percent = oneDecimal(Math.abs(ratio) * 100);
  if (percent === "0") return "±0%";
  return `${ratio > 0 ? "+" : MINUS}${percent}%`;
}

/** The difference of two shares of one, in points: `+0.3 pt`, `−4 pt`, `±0 pt`. */
export function formatPoints(difference: number): string {
  return formatChange(difference).replace("%", " pt");
}

const BYTE_STEPS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** Sizes in powers of 1,024: `512 B`, `1.5 KiB`. */
export function formatBytes(sizeBytes: number): string {
  if (!Number.isFinite(sizeBytes) || sizeBytes < 0) return UNKNOWN;
  let size = sizeBytes;
  let step = 0;
  // Not 1,024: what would be written as `1024 KiB` is one step up.
  while (size >= 1023.95 && step < BYTE_STEPS.length - 1) {
    size /= 1024;
    step += 1;
  }
  return `${oneDecimal(size)} ${BYTE_STEPS[step] ?? "B"}`;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A duration: `<1 ms`, `340 ms`, `1.23 s`, `2 min 5 s`, `3 h 12 min`, `2 d 4 h`. */
export function formatDuration(durationMs: number): string {
  if (!Number.isFinite(durationMs) || durationMs < 0) return UNKNOWN;
  if (durationMs === 0) return "0 ms";
  if (durationMs < 1) return "<1 ms";
  if (durationMs < 999.5) return `${Math.round(durationMs)} ms`;
  if (durationMs < 9995) return `${trimZeros((durationMs / SECOND_MS).toFixed(2), 0)} s`;
  if (durationMs < 59_950) return `${trimZeros((durationMs / SECOND_MS).toFixed(1), 0)} s`;
  if (durationMs < HOUR_MS - SECOND_MS / 2) return twoUnits(durationMs, [MINUTE_MS, "min"], [SECOND_MS, "s"]);
  if (durationMs < DAY_MS - MINUTE_MS / 2) return twoUnits(durationMs, [HOUR_MS, "h"], [MINUTE_MS, "min"]);
  return twoUnits(durationMs, [DAY_MS, "d"], [HOUR_MS, "h"]);
}

export type InstantFormat = "full" | "second" | "minute" | "date" | "time" | "relative";

const toSecond = utcFormat("%Y-%m-%d %H:%M:%S UTC");
const toMinute = utcFormat("%Y-%m-%d %H:%M UTC");
const toDate = utcFormat("%Y-%m-%d");
const toTime = utcFormat("%H:%M:%S");
const FRACTION = /\d\d:\d\d:\d\d(\.\d+)/u;

/**
 * An instant (ISO 8601) in UTC, whatever the clock of the browser says. `full` keeps every digit of the fraction, which a
 * `Date` would lose; `date` and `time` leave it to what stands around them to say UTC. What is no instant comes back as it
 * was written.
 */
export function formatInstant(iso: string, as: Exclude<InstantFormat, "relative"> = "second"): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  if (as === "date") return toDate(date);
  if (as === "minute") return toMinute(date);
  if (as === "time") return toTime(date);
  if (as === "second") return toSecond(date);
  return toSecond(date).replace(" UTC", `${FRACTION.exec(iso)?.[1] ?? ""} UTC`);
}

/** How far an instant lies from now: `just now`, `5 min ago`, `in 2 h`; from 30 days on what `writeOld` makes of it. */
export function formatRelative(
  iso: string,
  nowMs: number,
  writeOld: (iso: string) => string = (old) => formatInstant(old, "date"),
): string {
  const atMs = new Date(iso).getTime();
  if (Number.isNaN(atMs)) return iso;
  const distanceMs = Math.abs(nowMs - atMs);
  if (distanceMs < 10 * SECOND_MS) return "just now";
  if (distanceMs >= 30 * DAY_MS) return writeOld(iso);
  const distance = toDistance(distanceMs);
  return atMs <= nowMs ? `${distance} ago` : `in ${distance}`;
}

const UNKNOWN = "–";
const MINUS = "−";

/** Enough decimals for three significant digits; rounding up to the next power of ten needs one less. */
function toMoneyDecimals(amount: number): number {
  if (amount >= 0.9995) return 2;
  const magnitude = Math.floor(Math.log10(Number(amount.toPrecision(MONEY_DIGITS))));
  return Math.min(MONEY_DECIMALS_MAX, Math.max(2, MONEY_DIGITS - 1 - magnitude));
}

/** Zeros at the end are cut, down to `decimalsMin` decimals, and then the point. */
function trimZeros(text: string, decimalsMin: number): string {
  const point = text.indexOf(".");
  if (point === -1) return text;
  let end = text.length;
  while (end > point + 1 + decimalsMin && text[end - 1] === "0") end -= 1;
  return end === point + 1 ? text.slice(0, point) : text.slice(0, end);
}

const threeDigits = format(".3~s");

function compact(count: number): string {
  // The international prefix for 10⁹ is G; people read B.
  return threeDigits(count).replace("G", "B");
}

type NamedUnit = readonly [lengthMs: number, name: string];

function twoUnits(durationMs: number, [largeMs, large]: NamedUnit, [smallMs, small]: NamedUnit): string {
  const smallCount = Math.round(durationMs / smallMs);
  const perLarge = largeMs / smallMs;
  const rest = smallCount % perLarge;
  const head = `${whole(Math.floor(smallCount / perLarge))} ${large}`;
  return rest === 0 ? head : `${head} ${rest} ${small}`;
}

function toDistance(distanceMs: number): string {
  if (distanceMs < MINUTE_MS) return `${Math.floor(distanceMs / SECOND_MS)} s`;
  if (distanceMs < HOUR_MS) return `${Math.floor(distanceMs / MINUTE_MS)} min`;
  if (distanceMs < DAY_MS) return `${Math.floor(distanceMs / HOUR_MS)} h`;
  return `${Math.floor(distanceMs / DAY_MS)} d`;
}
