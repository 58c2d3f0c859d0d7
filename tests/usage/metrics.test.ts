import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Quantities } from "#kernel/units.ts";
import { UNITS } from "#kernel/units.ts";
import type { Outcome, UsageEnding } from "#usage/event.ts";
import { NOTHING_USED, OUTCOMES, RELAY_PROVIDER } from "#usage/event.ts";
import type { CountedRequest, UsageMetrics } from "#usage/metrics.ts";
import {
  CATALOG_LABEL_SETS_MAX,
  createUsageMetrics,
  LABEL_VALUE_LENGTH_MAX,
  OTHER,
  REASONS_MAX,
  RELAY_LABEL_SETS_MAX,
} from "#usage/metrics.ts";

const OK: UsageEnding = {
  statusCode: 200,
  outcome: "ok",
  errorKind: null,
  durationUs: 1_500,
  timeToFirstByteUs: null,
  usage: null,
  prices: {},
  costPico: null,
  unpriced: false,
};

const CHAT = { endpoint: "chat", provider: "up", model: "m" };

const inclusive = (quantities: Quantities): UsageEnding["usage"] => ({
  shape: "inclusive",
  quantities,
});

function countRequests(metrics: UsageMetrics): number {
  return metrics
    .requests()
    .reduce((sum, { requests }) => sum + OUTCOMES.reduce((of, outcome) => of + requests[outcome], 0), 0);
}

function count(metrics: UsageMetrics, request: CountedRequest, ending: UsageEnding): void {
  metrics.open(request).count(ending);
}

function seriesCount(metrics: UsageMetrics): number {
  return metrics.requests().length;
}

describe("what a request adds", () => {
  test("one request counts once, under its endpoint, provider, model and outcome, with its duration", () => {
    const metrics = createUsageMetrics();
    for (const outcome of ["ok", "ok", "cancelled"] as const) count(metrics, CHAT, { ...OK, outcome });
    count(metrics, { ...CHAT, endpoint: "embeddings" }, { ...OK, outcome: "unreachable" });
    expect(metrics.requests()).toMatchObject([
      {
        labels: CHAT,
        requests: { ok: 2, upstream_error: 0, unreachable: 0, cancelled: 1 },
        durationUs: 4_500,
      },
      {
        labels: { ...CHAT, endpoint: "embeddings" },
        requests: { ok: 0, upstream_error: 0, unreachable: 1, cancelled: 0 },
        durationUs: 1_500,
      },
    ]);
    expect(metrics.units().map(({ quantities }) => quantities)).toEqual([{}]);
  });

  test('a relayed call without a model has the model label "", not that of another', () => {
    const metrics = createUsageMetrics();
    count(metrics, { endpoint: "/v1/messages", provider: RELAY_PROVIDER, model: null }, OK);
    expect(metrics.requests()[0]?.labels).toEqual({
      endpoint: "/v1/messages",
      provider: RELAY_PROVIDER,
      model: "",
    });
  });

  test("units are those of the reports: what was read from a cache is not input as well", () => {
    const metrics = createUsageMetrics();
    const usage = inclusive({ input_tokens: 100, cached_input_tokens: 30, output_tokens: 7 });
    count(metrics, CHAT, { ...OK, usage });
    count(metrics, CHAT, {
      ...OK,
      usage: {
        shape: "exclusive",
        quantities: {
          input_tokens: 5,
          cached_input_tokens: 2,
          cache_write_tokens: 3,
          cache_write_1h_tokens: 1,
        },
      },
    });
    expect(metrics.units()).toEqual([
      {
        labels: { provider: "up", model: "m" },
        quantities: { input_tokens: 79, cached_input_tokens: 32, output_tokens: 7 },
      },
    ]);
  });

  test("a quantity without a price is unpriced, also when a mark says that there is none; zero and priced ones are not", () => {
    const metrics = createUsageMetrics();
    const usage = inclusive({
      input_tokens: 10,
      output_tokens: 20,
      cached_input_tokens: 0,
      audio_seconds: 1.5,
    });
    count(metrics, CHAT, { ...OK, usage, prices: { input_tokens: 0, output_tokens: null } });
    expect(metrics.unpricedUnits()).toEqual([
      { labels: { model: "m" }, quantities: { output_tokens: 20, audio_seconds: 1.5 } },
    ]);
    expect(metrics.units()[0]?.quantities).toEqual({
      input_tokens: 10,
      output_tokens: 20,
      audio_seconds: 1.5,
    });
  });

  test("units are summed over endpoints, unpriced ones over providers too", () => {
    const metrics = createUsageMetrics();
    const ending = { ...OK, usage: inclusive({ output_tokens: 1 }) };
    count(metrics, CHAT, ending);
    count(metrics, { ...CHAT, endpoint: "completions" }, ending);
    count(metrics, { ...CHAT, provider: "moved" }, ending);
    expect(metrics.units()).toEqual([
      { labels: { provider: "up", model: "m" }, quantities: { output_tokens: 2 } },
      { labels: { provider: "moved", model: "m" }, quantities: { output_tokens: 1 } },
    ]);
    expect(metrics.unpricedUnits()).toEqual([{ labels: { model: "m" }, quantities: { output_tokens: 3 } }]);
  });
});

test("what a tier has no prices for is told apart by its reason, of which there are few", () => {
  const metrics = createUsageMetrics();
  const ending = { ...OK, usage: inclusive({ output_tokens: 1 }) };
  count(metrics, CHAT, ending);
  for (let tier = 0; tier < REASONS_MAX + 2; tier += 1) count(metrics, CHAT, { ...ending, tier: `t${tier}` });
  const found = metrics.unpricedUnits();
  expect(found[0]).toEqual({ labels: { model: "m" }, quantities: { output_tokens: 1 } });
  expect(found[1]).toEqual({ labels: { model: "m", reason: "tier: t0" }, quantities: { output_tokens: 1 } });
  expect(found.at(-1)).toEqual({ labels: { model: "m", reason: OTHER }, quantities: { output_tokens: 2 } });
  expect(found).toHaveLength(REASONS_MAX + 2);
});

describe("answers without usage", () => {
  const unmetered = (request: CountedRequest, ending: Partial<UsageEnding>) => {
    const metrics = createUsageMetrics();
    count(metrics, request, { ...OK, ...ending });
    return metrics.requests()[0]?.unmeteredCount;
  };

  test.each(["chat", "completions", "embeddings"])("of %s are counted when they succeeded", (endpoint) => {
    expect(unmetered({ ...CHAT, endpoint }, {})).toBe(1);
    expect(unmetered({ ...CHAT, endpoint }, { usage: inclusive({ output_tokens: 0 }) })).toBe(0);
  });

  test("of relayed paths are, unless they use nothing", () => {
    const relayed = { provider: RELAY_PROVIDER, model: "m" };
    expect(unmetered({ ...relayed, endpoint: "/v1/messages" }, {})).toBe(1);
    expect(unmetered({ ...relayed, endpoint: "/v1/responses" }, {})).toBe(1);
    expect(unmetered({ ...relayed, endpoint: "/v1/models" }, { usage: NOTHING_USED })).toBe(0);
  });

  test("are counted when their caller left, before the head or behind it", () => {
    expect(unmetered(CHAT, { outcome: "cancelled", statusCode: 499 })).toBe(1);
    expect(unmetered(CHAT, { outcome: "cancelled", statusCode: 200 })).toBe(1);
    expect(unmetered(CHAT, { outcome: "cancelled", statusCode: 429 })).toBe(0);
    expect(unmetered(CHAT, { outcome: "cancelled", usage: inclusive({ input_tokens: 1 }) })).toBe(0);
  });

  test("that failed or lead elsewhere are not", () => {
    for (const outcome of ["upstream_error", "unreachable"] as const)
      expect(unmetered(CHAT, { outcome })).toBe(0);
    expect(unmetered(CHAT, { statusCode: 302 })).toBe(0);
  });
});

describe("what bounds it", () => {
  test("a counter that is kept adds to the series of its labels, and makes none before it counts", () => {
    const metrics = createUsageMetrics();
    const kept = Array.from({ length: CATALOG_LABEL_SETS_MAX }, (_, index) =>
      metrics.open({ ...CHAT, model: `m${index}` }),
    );
    expect(seriesCount(metrics)).toBe(0);
    count(metrics, CHAT, OK);
    for (const counter of kept) for (let times = 0; times < 2; times += 1) counter.count(OK);
    expect(seriesCount(metrics)).toBe(CATALOG_LABEL_SETS_MAX + 1);
    expect(metrics.requests().at(-1)?.labels).toEqual({ endpoint: OTHER, provider: OTHER, model: OTHER });
    expect(metrics.requests().at(-1)?.requests.ok).toBe(2);
    metrics.open(CHAT).count(OK);
    expect(metrics.requests()[0]?.requests.ok).toBe(2);
  });

  test("10,000 models make no more series than the limit, and none of their requests is lost", () => {
    const metrics = createUsageMetrics();
    for (let index = 0; index < 10_000; index += 1) {
      count(metrics, { ...CHAT, model: `m${index}` }, { ...OK, usage: inclusive({ output_tokens: 1 }) });
    }
    expect(seriesCount(metrics)).toBe(CATALOG_LABEL_SETS_MAX + 1);
    expect(metrics.units()).toHaveLength(CATALOG_LABEL_SETS_MAX + 1);
    expect(metrics.unpricedUnits()).toHaveLength(CATALOG_LABEL_SETS_MAX + 1);
    expect(countRequests(metrics)).toBe(10_000);
    const overflow = metrics.requests().at(-1);
    expect(overflow?.labels).toEqual({ endpoint: OTHER, provider: OTHER, model: OTHER });
    expect(overflow?.requests.ok).toBe(10_000 - CATALOG_LABEL_SETS_MAX);
    // Who was there before goes on under its own name.
    count(metrics, { ...CHAT, model: "m0" }, OK);
    expect(metrics.requests()[0]?.requests.ok).toBe(2);
  });

  test("a relay's callers cannot use up what the catalog's models need, whatever paths and models they name", () => {
    const metrics = createUsageMetrics();
    for (let index = 0; index < 10_000; index += 1) {
      const endpoint = index % 3 === 0 ? "/v1/messages" : `/v1/${index}`;
      count(metrics, { endpoint, provider: RELAY_PROVIDER, model: `m${index}` }, OK);
    }
    const endpoints = new Set(metrics.requests().map(({ labels }) => labels.endpoint));
    expect([...endpoints].sort()).toEqual([OTHER, "/v1/messages"]);
    expect(seriesCount(metrics)).toBeLessThanOrEqual(RELAY_LABEL_SETS_MAX + endpoints.size);
    expect(countRequests(metrics)).toBe(10_000);
    count(metrics, CHAT, OK);
    expect(metrics.requests().at(-1)?.labels).toEqual(CHAT);
  });

  test("a long value is cut, and what is no well-formed text becomes it: neither makes a second series", () => {
    const metrics = createUsageMetrics();
    const relayed = { endpoint: "/v1/messages", provider: RELAY_PROVIDER };
    for (const model of [
      `${"\u{1f600}".repeat(300)}a`,
      `${"\u{1f600}".repeat(300)}b`,
      "x\ud800",
      "x\ud800",
    ]) {
      count(metrics, { ...relayed, model }, OK);
    }
    expect(metrics.requests().map(({ labels, requests }) => [labels.model, requests.ok])).toEqual([
      ["\u{1f600}".repeat(LABEL_VALUE_LENGTH_MAX), 2],
      ["x\ufffd", 2],
    ]);
  });

  test("the sum over all series is what was counted, for any requests in any order", () => {
    const name = fc.oneof(
      fc.constantFrom("a", "b", OTHER, RELAY_PROVIDER, "/v1/messages", "__proto__", ""),
      fc.string({ unit: "binary", maxLength: 300 }),
    );
    const request = fc.record({
      endpoint: name,
      provider: name,
      model: fc.option(name),
      outcome: fc.constantFrom<Outcome>(...OUTCOMES),
      tokens: fc.nat(),
      isPriced: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(request, { maxLength: 60 }), (given) => {
        const metrics = createUsageMetrics();
        for (const { endpoint, provider, model, outcome, tokens, isPriced } of given) {
          const usage = inclusive({ output_tokens: tokens });
          const prices = isPriced ? { output_tokens: 1 } : {};
          count(metrics, { endpoint, provider, model }, { ...OK, outcome, usage, prices });
        }
        expect(countRequests(metrics)).toBe(given.length);
        for (const outcome of OUTCOMES) {
          const counted = metrics.requests().reduce((sum, { requests }) => sum + requests[outcome], 0);
          expect(counted).toBe(given.filter((one) => one.outcome === outcome).length);
        }
        expect(sumUnits(metrics.units())).toBe(sumTokens(given));
        expect(sumUnits(metrics.unpricedUnits())).toBe(sumTokens(given.filter(({ isPriced }) => !isPriced)));
        const labels = metrics.requests().map((series) => JSON.stringify(series.labels));
        expect(new Set(labels).size).toBe(labels.length);
      }),
      { numRuns: 200 },
    );
  });
});

function sumUnits(list: readonly { readonly quantities: Quantities }[]): number {
  return list.reduce(
    (sum, { quantities }) => UNITS.reduce((of, unit) => of + (quantities[unit] ?? 0), sum),
    0,
  );
}

function sumTokens(given: readonly { readonly tokens: number }[]): number {
  return given.reduce((sum, { tokens }) => sum + tokens, 0);
}
