import { MEASURES } from "#limits/limit.ts";
import { toAmount, toCount, toMoment } from "#cli/screen/figures.ts";
import type { listLimits } from "#cli/installation/lists.ts";

export type LimitView = Awaited<ReturnType<typeof listLimits>>[number];

/** A key's id is 36 characters long, and its end tells it apart. */
const ID_SHOWN_LENGTH = 6;

/** Who a limit holds for: `ada, model gpt-5`, `each principal`, `fixed tag team:search, each key`. */
export function describeSubject({
  subject,
  each,
  fixed,
}: Pick<LimitView, "subject" | "each" | "fixed">): string {
  const { principal, key, relay_token: token, tag, model } = subject;
  const ofTag = fixed === true ? "fixed tag" : "tag";
  const parts = [
    principal,
    key === undefined ? undefined : `key …${key.slice(-ID_SHOWN_LENGTH)}`,
    token === undefined ? undefined : `relay token …${token.slice(-ID_SHOWN_LENGTH)}`,
    tag === undefined ? undefined : `${ofTag} ${tag}`,
    model === undefined ? undefined : `model ${model}`,
    each === undefined ? undefined : `each ${each.replace("tag:", `${ofTag} `)}`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? "everybody" : parts.join(", ");
}

type Measured = Pick<LimitView, "measure" | "amount" | "window">;

/** `$50.00 / month`, `20 requests / day`, `1 request / minute`, `2 at once`, `$500.00 in all`. */
export function describeAmount({ measure, amount, window }: Measured): string {
  const figure = toFigure(measure, amount);
  if (window === undefined) return `${figure} at once`;
  const { noun } = MEASURES[measure];
  const counted = noun === null ? figure : `${figure} ${amount === 1 ? noun.replace(/s$/, "") : noun}`;
  return window === "total" ? `${counted} in all` : `${counted} / ${window}`;
}

/** What was used or is left, without its unit. */
export function toFigure(measure: LimitView["measure"], amount: number): string {
  return measure === "cost" ? toAmount(amount) : toCount(amount);
}

/** What happens to a request that meets it. */
export function describeAction({ enabled, action }: Pick<LimitView, "enabled" | "action">): string {
  return enabled ? { refuse: "refuses", warn: "warns" }[action] : "off";
}

/** When a calendar window ends, which is midnight in UTC; a word for the others. */
export function describeEnd({ window, resets_at: resetsAt }: Pick<LimitView, "window" | "resets_at">) {
  if (resetsAt !== null) return toMoment(resetsAt).slice(0, "2026-01-31".length);
  if (window === undefined) return "-";
  return window === "total" ? "never" : "slides";
}

/** One limit in a sentence: `$50.00 / month for ada, model gpt-5`. */
export function describeLimit(view: LimitView): string {
  return `${describeAmount(view)} for ${describeSubject(view)}${view.enabled && view.action === "refuse" ? "" : ` (${describeAction(view)})`}`;
}
