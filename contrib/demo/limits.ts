import type { LimitDraft } from "#limits/limit-draft.ts";
import { RELAYED } from "./catalogue.ts";

/** Made in this order. The usage of sixty days stays below those that refuse. */
export const LIMITS: readonly LimitDraft[] = [
  {
    name: "everyone: month",
    subject: {},
    measure: "cost",
    amount: 250,
    window: "month",
    action: "warn",
  },
  { name: "each person: week", subject: {}, each: "principal", measure: "cost", amount: 15, window: "week" },
  {
    name: "research: month",
    subject: { tag: "team:research" },
    measure: "cost",
    amount: 25,
    window: "month",
    action: "warn",
  },
  { name: "opus: month", subject: { model: RELAYED.opus }, measure: "cost", amount: 60, window: "month" },
  {
    name: "support-bot: day",
    subject: { principal: "support-bot" },
    measure: "tokens",
    amount: 3_000_000,
    window: "day",
  },
  {
    name: "nightly-eval: at once",
    subject: { principal: "nightly-eval" },
    measure: "concurrent",
    amount: 8,
  },
  // The live provider: a few questions in the playground use it up, and its notice follows.
  {
    name: "lab trial: hour",
    subject: { model: "qwen3-32b", principal: "admin" },
    measure: "requests",
    amount: 5,
    window: "hour",
  },
];
