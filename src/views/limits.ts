import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import type { LimitState } from "#limits/limit-admin.ts";
import type { LimitUse } from "#limits/limit-entry.ts";
import { formatAmount } from "#limits/limit-refusal.ts";
import type { Used } from "#limits/limit-sums.ts";
import { toWindowEnd, toWindowStart } from "#limits/limit-window.ts";
import { toAmountView, toLimitFields } from "#limits/limit-fields.ts";
import { type Limit, MEASURES } from "#limits/limit.ts";

/** Limits → wire JSON (`docs/spec/limits.md`). */

export function toLimitView(state: LimitState) {
  const { limit, top, refusals } = state;
  return {
    ...toOwnLimitView(state),
    refused: refusals.count,
    last_refused_at: formatOrNull(refusals.lastAtUs),
    ...(limit.each !== null && { top: top.map((use) => toLimitUseView(limit, use)) }),
  };
}

/** A limit as a caller sees it that it holds for. */
export function toOwnLimitView({ limit, nowUs, used, top }: LimitState) {
  const { window } = limit;
  const startUs = window === null || window === "total" ? null : toWindowStart(window, nowUs);
  return {
    ...toStoredLimitView(limit),
    sentence: toLimitSentence(limit),
    ...toFigures(limit, used),
    window_start: formatOrNull(startUs),
    resets_at: formatOrNull(window === null ? null : toWindowEnd(window, nowUs)),
    ...(top.length > 0 && { top: top.map((use) => toLimitUseView(limit, use)) }),
  };
}

/** A limit without what was used of it. */
export function toStoredLimitView(limit: Limit) {
  return { id: limit.id, ...toLimitFields(limit) };
}

/** A limit for people: `At most $50.00 a month for ada, model gpt-5: requests beyond it are refused.` */
export function toLimitSentence(limit: Limit): string {
  const { measure, amount, window, model, enabled, action } = limit;
  const { noun } = MEASURES[measure];
  const quantity =
    noun === null
      ? `$${formatAmount(measure, amount)}`
      : `${amount.toLocaleString("en-US")} ${amount === 1n ? noun.slice(0, -1) : noun}`;
  const pace = window === null ? "at once" : window === "total" ? "in total" : `${A_WORDS[window]} ${window}`;
  const ofModel = model === null ? "" : `, model ${model}`;
  const effect = !enabled
    ? "it is switched off"
    : `requests beyond it ${action === "warn" ? "pass with a warning" : "are refused"}`;
  return `At most ${quantity} ${pace} for ${toWhom(limit)}${ofModel}: ${effect}.`;
}

const A_WORDS = { minute: "a", hour: "an", day: "a", week: "a", month: "a" } as const;

/** `everybody`, `ada`, `each principal`, `each key of ada`, `each value of the fixed tag team`. */
function toWhom({ subject, each, fixed }: Limit): string {
  const tag = fixed ? "fixed tag" : "tag";
  const who = toSubjectWords(subject, tag);
  if (each === null) return who ?? "everybody";
  const one = each.kind === "tag" ? `each value of the ${tag} ${each.key}` : `each ${each.kind}`;
  return who === null ? one : `${one} of ${who}`;
}

/** A key's id is 36 characters long, and its end tells it apart. */
const ID_SHOWN_LENGTH = 6;

/** Null: everybody. */
function toSubjectWords(subject: Limit["subject"], tag: string): string | null {
  switch (subject.kind) {
    case "everybody":
      return null;
    case "principal":
      return subject.name;
    case "tag":
      return `${tag} ${subject.pair}`;
    default:
      return `${subject.kind === "key" ? "key" : "relay token"} …${subject.id.slice(-ID_SHOWN_LENGTH)}`;
  }
}

/** The use of one value of `each`; without `each`, of all. */
export function toLimitUseView(limit: Limit, use: LimitUse) {
  const { each } = limit;
  return {
    ...(each !== null && { [each.kind]: use.label }),
    ...toFigures(limit, use),
  };
}

function toFigures({ measure, amount }: Limit, used: Used) {
  const left = amount > used.amount ? amount - used.amount : 0n;
  return {
    used: toAmountView(measure, used.amount),
    left: toAmountView(measure, left),
    unpriced_requests: used.unpriced,
    unknown_requests: used.unknown,
  };
}

function formatOrNull(instantUs: InstantUs | null): string | null {
  return instantUs === null ? null : formatInstant(instantUs);
}
