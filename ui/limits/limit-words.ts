import { type LimitMeasure, type LimitWindow, MEASURES } from "#limits/limit.ts";
import type { Limit, OwnLimit } from "../api/limits.ts";
import { formatCount, formatMoney, formatMoneyExact, formatPercent } from "../text/format.ts";

/** A limit in words: who it applies to, how much of what, and how much of it is used. */

/** What a key or a relay token is called; the end of its id when it is not known. */
export type NameSecret = (id: string) => string;

export interface LimitShape extends Pick<
  OwnLimit,
  "subject" | "each" | "fixed" | "measure" | "amount" | "action"
> {
  readonly window?: LimitWindow | undefined;
}

/** `Everyone`, `alice`, `Each person`, `Each key of alice`, `team:search · gpt-4o`, `team:search (fixed)`. */
export function toWhomWords(
  { subject, each, fixed }: Pick<LimitShape, "subject" | "each" | "fixed">,
  nameSecret: NameSecret,
): string {
  const who = toSubjectWords(subject, nameSecret);
  const told = each === undefined ? (who ?? "Everyone") : toEachWords(each, who);
  const whom = fixed === true ? `${told} (fixed)` : told;
  return subject.model === undefined ? whom : `${whom} · ${subject.model}`;
}

/** Null: everyone. */
function toSubjectWords(subject: LimitShape["subject"], nameSecret: NameSecret): string | null {
  if (subject.key !== undefined) return `Key ${nameSecret(subject.key)}`;
  if (subject.relay_token !== undefined) return `Relay token ${nameSecret(subject.relay_token)}`;
  return subject.principal ?? subject.tag ?? null;
}

function toEachWords(each: string, who: string | null): string {
  const one = each.startsWith("tag:")
    ? `Each ${each.slice("tag:".length)}`
    : each === "key"
      ? "Each key"
      : "Each person";
  return who === null ? one : `${one} of ${who}`;
}

const WINDOW_WORDS = {
  minute: "a minute",
  hour: "an hour",
  day: "a day",
  week: "a week",
  month: "a month",
  total: "in total",
} as const satisfies Record<LimitWindow, string>;

/** `monthly budget`, `requests a day`, `concurrent requests`: what a limit is called, whatever its amount. */
export function toNameWords(measure: LimitMeasure, window: LimitWindow): string {
  if (measure === "cost") return BUDGET_WORDS[window];
  if (measure === "concurrent") return "concurrent requests";
  return `${MEASURES[measure].noun} ${WINDOW_WORDS[window]}`;
}

const BUDGET_WORDS = {
  minute: "budget a minute",
  hour: "budget an hour",
  day: "daily budget",
  week: "weekly budget",
  month: "monthly budget",
  total: "total budget",
} as const satisfies Record<LimitWindow, string>;

/** `$50.00 a month`, `60 requests a minute`, `2 concurrent`. */
export function toAmountWords({
  measure,
  amount,
  window,
}: Pick<LimitShape, "measure" | "amount" | "window">): string {
  const quantity = toQuantityWords(measure, amount);
  return window === undefined ? `${quantity} concurrent` : `${quantity} ${WINDOW_WORDS[window]}`;
}

function toQuantityWords(measure: LimitMeasure, amount: number): string {
  const quantity = formatAmount(measure, amount);
  const { noun } = MEASURES[measure];
  if (noun === null || measure === "concurrent") return quantity;
  return `${quantity} ${amount === 1 ? noun.replace(/s$/u, "") : noun}`;
}

/** What a limit is set to, to the last digit. */
export function formatAmount(measure: LimitMeasure, amount: number): string {
  return measure === "cost" ? formatMoneyExact(amount) : formatCount(amount);
}

/** `$37.20 of $50.00`, `3 of 20 requests`, `1 of 2 concurrent`. */
export function toUsedWords(
  { measure, amount }: Pick<LimitShape, "measure" | "amount">,
  used: number,
): string {
  if (measure === "cost") return `${formatMoney(used)} of ${formatMoneyExact(amount)}`;
  const share = `${formatCount(used)} of ${formatCount(amount)}`;
  return measure === "concurrent" ? `${share} concurrent` : `${share} ${MEASURES[measure].noun}`;
}

/** `$12.80 left`, `none left`. */
export function toLeftWords({ measure }: Pick<LimitShape, "measure">, left: number): string {
  if (left === 0) return "none left";
  return `${measure === "cost" ? formatMoney(left) : formatCount(left)} left`;
}

/** `off` counts and does nothing; `near` has 80 % used; at `reached` a limit that warns lets requests pass. */
export type LimitLevel = "off" | "fine" | "near" | "reached";

/** The share of an amount from which on the server, too, calls a limit nearly used up. */
const NEAR = 0.8;

export function toLevel({
  enabled,
  used,
  amount,
}: Pick<OwnLimit, "enabled" | "used" | "amount">): LimitLevel {
  if (!enabled) return "off";
  if (used >= amount) return "reached";
  return used >= NEAR * amount ? "near" : "fine";
}

/** What a badge says of a level; null where the figures say enough. */
export function toLevelWords(level: LimitLevel, action: OwnLimit["action"]): string | null {
  if (level === "off") return "off";
  if (level === "near") return "nearly used up";
  if (level === "fine") return null;
  return action === "warn" ? "warning" : "used up";
}

/** `74.4%`; more than all of it is told, too. */
export function toShareWords({ used, amount }: Pick<OwnLimit, "used" | "amount">): string {
  return formatPercent(used / amount);
}

/** The reset of a limit without an instant: its window rolls or never ends, or it has none. */
export function toNoResetWords(window: LimitWindow | undefined): string {
  if (window === undefined) return "–";
  return window === "total" ? "Never" : "Rolling";
}

/** What happens to requests at the amount: a sentence of its own. */
export function toActionWords({ action, window }: Pick<LimitShape, "action" | "window">): string {
  if (action === "warn") return "Requests beyond it pass, with a warning in their headers.";
  return `Requests beyond it are refused ${window === undefined ? "until one ends" : UNTIL_WORDS[window]}.`;
}

const UNTIL_WORDS = {
  minute: "until enough of the last 60 seconds has passed",
  hour: "until enough of the last 60 minutes has passed",
  day: "until midnight UTC",
  week: "until Monday, 00:00 UTC",
  month: "until the first of the next month, 00:00 UTC",
  total: "for good",
} as const satisfies Record<LimitWindow, string>;

/** The use that the window of a limit already holds when it is created or changed. */
export function toHeldWords(limit: Limit): string {
  const usedWords = toUsedWords(limit, limit.used);
  if (limit.window === undefined) return `In progress now: ${usedWords}.`;
  const of = limit.each === undefined ? "The window already holds" : "The highest use in the window is";
  return `${of} ${usedWords}.`;
}

/** The consequences of deleting a limit, a sentence each. */
export function toDeleteWords(limit: Limit): readonly string[] {
  return [
    toEffectWords(limit),
    "Other limits still apply.",
    "Past usage stays in the reports. If you create the limit again, it counts that usage.",
  ];
}

function toEffectWords(limit: Limit): string {
  const level = toLevel(limit);
  if (level === "off") return "It is off, so nothing changes for requests.";
  const used = toUsedWords(limit, limit.used);
  if (limit.action === "warn") return `It warns and refuses nothing (${used}): the warning ends.`;
  if (level !== "reached") return `It refuses nothing now (${used}). From the next request on nothing will.`;
  const top = limit.top ?? [];
  const reached = top.filter((use) => use.used >= limit.amount).length;
  const how =
    limit.each === undefined
      ? used
      : `${reached === top.length && reached > 1 ? "at least " : ""}${reached} at the amount`;
  return `It refuses requests now (${how}). They pass from the next request on.`;
}
