import { expect, test } from "bun:test";
import type { Limit } from "#limits/limit.ts";
import { toLimitSentence } from "#views/limits.ts";
import { LIMIT, TEAMS } from "./limit.ts";

test.each<[change: Partial<Limit>, sentence: string]>([
  [{}, "At most 1,000 requests an hour for everybody: requests beyond it are refused."],
  [
    {
      measure: "cost",
      amount: 12_345_000_000_000n,
      window: "month",
      subject: { kind: "principal", id: "p-1", name: "ada" },
      model: "gpt-5",
    },
    "At most $12.345 a month for ada, model gpt-5: requests beyond it are refused.",
  ],
  [
    { measure: "concurrent", amount: 1n, window: null, each: { kind: "key" } },
    "At most 1 request at once for each key: requests beyond it are refused.",
  ],
  [
    {
      measure: "tokens",
      amount: 2_000_000n,
      window: "total",
      action: "warn",
      subject: { kind: "key", id: "01900000-0000-7000-8000-00000000abcd" },
    },
    "At most 2,000,000 tokens in total for key …00abcd: requests beyond it pass with a warning.",
  ],
  [
    { amount: 1n, subject: { kind: "tag", pair: "team:a" }, fixed: true, each: { kind: "principal" } },
    "At most 1 request an hour for each principal of fixed tag team:a: requests beyond it are refused.",
  ],
  [
    { ...TEAMS, enabled: false },
    "At most 3 requests a day for each value of the tag team: it is switched off.",
  ],
])(
  "a limit tells what, how fast, of whom and with which effect in one sentence, case %#",
  (change, sentence) => {
    expect(toLimitSentence({ ...LIMIT, ...change })).toBe(sentence);
  },
);
