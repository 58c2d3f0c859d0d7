import { describe, expect, test } from "bun:test";
import { isPricedByRequestAlone, priceUsage, withBilledRequest } from "#usage/cost.ts";
import { isUnmetered, PENDING_USAGE } from "#usage/event.ts";

const ANSWERED = { outcome: "ok", statusCode: 200 } as const;
const TOKENS = { shape: "inclusive", quantities: { input_tokens: 5 } } as const;

describe("a request is billed as one", () => {
  test("only where it has a price by the request, also one of zero: without it nothing is added", () => {
    for (const prices of [{}, { requests: null }, { input_tokens: 1 }])
      expect(withBilledRequest(TOKENS, prices)).toBe(TOKENS);
    expect(withBilledRequest(TOKENS, { requests: 0 })).toEqual({
      shape: "inclusive",
      quantities: { input_tokens: 5, requests: 1 },
    });
  });

  test("that told nothing else stays unmetered, and costs the request", () => {
    const prices = { requests: 3, input_tokens: 1 };
    const usage = withBilledRequest(null, prices);
    expect(usage).toEqual({ shape: "begun", quantities: { requests: 1 } });
    expect(isUnmetered({ ...ANSWERED, usage })).toBe(true);
    expect(priceUsage(usage, prices)).toEqual({ costPico: 3n, unpriced: false });
  });

  test("is metered where nothing else has a price", () => {
    const prices = { requests: 3, input_tokens: null };
    expect(isPricedByRequestAlone(prices)).toBe(true);
    expect(isPricedByRequestAlone({})).toBe(false);
    const usage = withBilledRequest(null, prices);
    expect(isUnmetered({ ...ANSWERED, usage })).toBe(false);
    expect(priceUsage(usage, prices)).toEqual({ costPico: 3n, unpriced: false });
  });

  test("that is still pending is counted with what settles it", () => {
    expect(withBilledRequest(PENDING_USAGE, { requests: 3 })).toBe(PENDING_USAGE);
  });
});
