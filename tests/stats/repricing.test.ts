import { expect, test } from "bun:test";
import { HISTORY_SPANS_MAX, type PriceSpan, toHistoryPrices } from "#stats/repricing.ts";
import { codeOf } from "../storage/support.ts";

const toSpans = (count: number): readonly PriceSpan[] =>
  Array.from({ length: count }, (_, index) => ({
    fromUs: index * 10,
    prices: { prices: { input_tokens: index }, variants: [] },
  }));

test("a history begins with the prices that were in force at the beginning, and leaves none out behind it", () => {
  const spans = toSpans(4);
  expect(toHistoryPrices(new Map([["m", spans]]), null)).toEqual([["m", spans]]);
  expect(toHistoryPrices(new Map([["m", spans]]), 19)).toEqual([["m", spans.slice(1)]]);
  expect(toHistoryPrices(new Map([["m", spans]]), 20)).toEqual([["m", spans.slice(2)]]);
  expect(toHistoryPrices(new Map([["m", spans]]), -1)).toEqual([["m", spans]]);
});

test("a history of more changes or bytes than a re-pricing keeps is refused with range_too_large, and one that begins later is not", async () => {
  const many = new Map([["m", toSpans(HISTORY_SPANS_MAX + 1)]]);
  expect(await codeOf(Promise.try(() => toHistoryPrices(many, null)))).toBe("range_too_large");
  expect(toHistoryPrices(many, 10)[0]?.[1].length).toBe(HISTORY_SPANS_MAX);
  const prices = {
    prices: { input_tokens: 1 },
    variants: Array.from({ length: 32 }, () => ({ when: { tier: "flex" } })),
  };
  const large = new Map([["m", toSpans(5_000).map(({ fromUs }) => ({ fromUs, prices }))]]);
  expect(await codeOf(Promise.try(() => toHistoryPrices(large, null)))).toBe("range_too_large");
});
