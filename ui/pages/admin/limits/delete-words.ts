import type { Limit } from "../../../api/limits.ts";
import { toLevel, toUsedWords } from "../../../limits/limit-words.ts";

/** What changes when a limit is deleted, a sentence each. */
export function toDeleteWords(limit: Limit): readonly string[] {
  return [
    toEffectWords(limit),
    "Other limits still apply.",
    "Past usage stays in the reports, and a limit that is made again counts it.",
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
