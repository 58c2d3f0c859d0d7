import { picoToNumber } from "#kernel/units.ts";
import type { Limit, LimitEach, LimitMeasure } from "./limit.ts";
import type { NewLimit } from "./store.ts";

/** The fields of a limit as requests write them, which views and the audit log tell alike; one that is not set is absent. */
export function toLimitFields(limit: Limit) {
  const { name, measure, window, action, unpriced, unknownMax, enabled, each } = limit;
  return {
    name,
    subject: toSubjectView(limit),
    ...(each !== null && { each: toEachView(each) }),
    ...(limit.fixed && { fixed: true }),
    measure,
    amount: toAmountView(measure, limit.amount),
    ...(window !== null && { window }),
    action,
    ...(measure === "cost" && { unpriced }),
    ...(unknownMax !== null && { unknown: unknownMax }),
    enabled,
  };
}

export function toEachView(each: LimitEach): string {
  return each.kind === "tag" ? `tag:${each.key}` : each.kind;
}

export function toSubjectView({ subject, model }: Pick<NewLimit, "subject" | "model">) {
  return { ...toWho(subject), ...(model !== null && { model }) };
}

function toWho(subject: NewLimit["subject"]) {
  switch (subject.kind) {
    case "principal":
      return { principal: subject.name };
    case "key":
      return { key: subject.id };
    case "relay_token":
      return { relay_token: subject.id };
    case "tag":
      return { tag: subject.pair };
    default:
      return {};
  }
}

export function toAmountView(measure: LimitMeasure, amount: bigint): number {
  return measure === "cost" ? picoToNumber(amount) : Number(amount);
}
