import { utcFormat } from "d3-time-format";
import { numberToPico, picoToNumber } from "#kernel/units.ts";
import type { Limit, OwnLimit } from "../api/limits.ts";
import type { SeriesQuery } from "../api/reports.ts";
import { formatCount, formatMoney } from "../text/format.ts";

/** The pace at which an amount is used up: by the plain rule of `PACE_RULE`, in exact decimals. */

export const PACE_RULE = "Used so far ÷ the part of the period that has passed";

export interface Pace {
  /** Use at the end of the window, if it goes on as it did so far. */
  readonly total: number;
  /** Share of the window that has passed, from 0 to 1. */
  readonly passed: number;
  /** The last moment of the window. */
  readonly lastAt: Date;
  /** When the amount is used up; null when it already is, or when the window ends first. */
  readonly usedUpAt: Date | null;
}

export type Paced = Pick<OwnLimit, "measure" | "used" | "window_start" | "resets_at"> & {
  /** Null: nothing limits it. */
  readonly amount: number | null;
};

/** Null for a window without a fixed beginning and end, and at its very beginning. */
export function toPace(
  { measure, amount, used, window_start: start, resets_at: end }: Paced,
  nowMs: number,
): Pace | null {
  if (start === null || end === null) return null;
  const startMs = Date.parse(start);
  const lengthMs = Date.parse(end) - startMs;
  const passedMs = Math.min(lengthMs, Math.floor(nowMs - startMs));
  if (passedMs <= 0) return null;
  const usedPico = numberToPico(used);
  const total = picoToNumber((usedPico * BigInt(lengthMs)) / BigInt(passedMs));
  const leftMs =
    amount === null || used === 0 || used >= amount
      ? lengthMs
      : Number((numberToPico(amount) * BigInt(passedMs)) / usedPico);
  return {
    total: measure === "cost" ? total : Math.round(total),
    passed: passedMs / lengthMs,
    lastAt: new Date(startMs + lengthMs - 1),
    usedUpAt: leftMs < lengthMs ? new Date(startMs + leftMs) : null,
  };
}

const formatDay = utcFormat("%-d %b");
const formatHour = utcFormat("%-d %b, %H:00 UTC");

/** `$61.00 by 30 Nov`. */
export function toPaceWords({ total, lastAt }: Pace, measure: OwnLimit["measure"]): string {
  return `${measure === "cost" ? formatMoney(total) : formatCount(total)} by ${formatDay(lastAt)}`;
}

/** The day on which it is used up; the hour, where the window is a day. */
export function toUsedUpWords(at: Date, window: OwnLimit["window"]): string {
  return window === "day" ? formatHour(at) : formatDay(at);
}

/**
 * The series of what counts towards a limit of cost, cut by person, from which follows when it was used up and by whom. Null where
 * no report tells it: relay tokens are no filter, and sliding windows are shorter than a bucket. `of` is one of the people that
 * a limit for each counts separately.
 */
export function toSpendQuery(limit: Limit, of?: string): SeriesQuery | null {
  const { subject, each, measure, window, window_start: since } = limit;
  if (measure !== "cost" || since === null || window === "minute" || window === "hour") return null;
  if (subject.relay_token !== undefined) return null;
  if (each !== undefined && (each !== "principal" || of === undefined)) return null;
  const principal = of ?? subject.principal;
  return {
    since,
    bucket: window === "day" ? "hour" : "day",
    group_by: "principal",
    order: "cost",
    top: SPENDERS_MAX,
    ...(principal !== undefined && { principal: [principal] }),
    ...(subject.key !== undefined && { key: [subject.key] }),
    ...(subject.tag !== undefined && { tag: [subject.tag] }),
    ...(subject.model !== undefined && { model: [subject.model] }),
  };
}

const SPENDERS_MAX = 10;

/** The beginning of the bucket in which the sum of costs comes to an amount; null when it never does. */
export function findUsedUp(
  series: readonly { readonly start: string; readonly cost: number | null }[],
  amount: number,
): Date | null {
  const wanted = numberToPico(amount);
  let held = 0n;
  for (const { start, cost } of series) {
    held += numberToPico(cost ?? 0);
    if (held >= wanted) return new Date(start);
  }
  return null;
}
