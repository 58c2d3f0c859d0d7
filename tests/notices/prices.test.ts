import { expect, test } from "bun:test";
import { PriceNotices } from "#notices/notices.ts";
import type { NoticeDraft } from "#notices/notice.ts";
import { ENDING, SUBJECT } from "../ledger/usage.ts";

test("a model is told of once a day for want of a price, and once for each tier and region that none of its prices holds for", () => {
  const told: { draft: NoticeDraft; mark: string }[] = [];
  const notices = new PriceNotices((draft, { mark }) => void told.push({ draft, mark: mark?.name ?? "" }));
  const flex = { ...ENDING, prices: {}, costPico: null, tier: "flex" };
  for (let time = 0; time < 2; time += 1) {
    notices.ended(SUBJECT, "acme", ENDING);
    notices.ended(SUBJECT, "acme", flex);
    notices.ended(SUBJECT, "acme", { ...flex, geo: "us", prices: { lacks: "geo" } });
  }
  expect(told.map(({ draft }) => draft)).toMatchObject([
    { type: "price.missing", facts: { model: "fast", provider: "acme" } },
    { type: "price.missing", facts: { model: "fast", provider: "acme", reason: "tier: flex" } },
    { type: "price.missing", facts: { model: "fast", provider: "acme", reason: "geo: us" } },
  ]);
  expect("reason" in (told[0]?.draft.facts ?? {})).toBe(false);
  expect(told[1]?.draft.text).toContain("service tier");
  expect(told[2]?.draft.text).toContain('from the region "us"');
  expect(new Set(told.map(({ mark }) => mark)).size).toBe(3);
});
