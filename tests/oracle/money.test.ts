import { afterAll, beforeAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import { createSystemClock } from "#kernel/clock.ts";
import type { ModelPrices, PriceConditions, PriceVariant } from "#kernel/price-variants.ts";
import { picoToNumber, type PriceSet } from "#kernel/units.ts";
import type { ReportedUsage } from "#usage/event.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { type ScriptedUpstream, startUpstream } from "../support/upstream.ts";
import { until } from "../support/waiting.ts";
import { type Answered, arbitraryConditions, arbitraryModelPrices, toApplied, toMoney } from "./pricing.ts";
import { readSettings } from "./settings.ts";

const TEST_MS_MAX = 300_000;
const SEQUENCES = 12;
const HOUR_US = 3_600_000_000;
const { seed, scale } = readSettings("money");

/** `m` routes, and `n` is a name for it: it has the variants of `m` until it has some of its own. */
type Step =
  | { readonly kind: "prices"; readonly prices: ModelPrices }
  | { readonly kind: "own"; readonly variants: readonly PriceVariant[] }
  | {
      readonly kind: "request";
      readonly model: "m" | "n";
      readonly conditions: Pick<Answered, "tier" | "geo">;
      readonly quantities: ReportedUsage["quantities"] | null;
      readonly cost: number | null;
      readonly stream: boolean;
      /** The time that passes before it. */
      readonly waitUs: number;
    };

const tokens = fc.integer({ min: 1, max: 60_000 });
const quantities = fc.record(
  {
    input_tokens: tokens,
    output_tokens: tokens,
    cached_input_tokens: tokens,
    cache_write_tokens: tokens,
    input_audio_tokens: tokens,
    output_audio_tokens: tokens,
  },
  { requiredKeys: ["input_tokens", "output_tokens"] },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("prices"), prices: arbitraryModelPrices }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("own"),
      variants: arbitraryModelPrices.map(({ variants }) => variants),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("request"),
      model: fc.constantFrom("m", "n"),
      conditions: arbitraryConditions,
      quantities: fc.option(quantities, { freq: 9 }),
      cost: fc.option(fc.constantFrom(0, 0.1, 0.2, 0.000_000_000_001, 1.5e-7, 12.5)),
      stream: fc.boolean(),
      waitUs: fc.integer({ min: 0, max: 30 * HOUR_US }),
    }),
  },
);

let upstream: ScriptedUpstream;
let app: TestApp;
let answer: object = {};
let aheadUs = 0;

beforeAll(async () => {
  upstream = await startUpstream({
    async script(call) {
      const body = JSON.stringify({ choices: [], ...answer });
      const { stream } = JSON.parse(call.request.body.toString());
      if (stream !== true) return call.reply({ body });
      await call.beginStream();
      await call.sendChunk(`data: ${body}\n\ndata: [DONE]\n\n`);
      return call.endStream();
    },
  });
  const clock = createSystemClock();
  app = await startApp({}, { clock: { ...clock, nowUs: () => clock.nowUs() + aheadUs } });
  await send("POST", "/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
});
afterAll(async () => {
  await app.stop();
  await upstream.stop();
});

async function send(method: string, path: string, body?: object): Promise<any> {
  const response = await app.api(method, path, body);
  const read = await response.json();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${JSON.stringify(read)}`);
  return read;
}

/** What has no price is left out. */
function toPricing(prices: PriceSet) {
  const units = Object.entries(prices).filter(([unit, pico]) => unit !== "when" && typeof pico === "number");
  return Object.fromEntries(units.map(([unit, pico]) => [unit, Number(pico) / 1e6]));
}

function toWhen({ inputOver, ...when }: PriceConditions) {
  return Object.assign({}, when, inputOver !== undefined && { input_over: inputOver });
}

function toWireVariants(variants: readonly PriceVariant[]) {
  return variants.map(({ when, ...prices }) => ({ when: toWhen(when), pricing: toPricing(prices) }));
}

function toAnswer({ conditions, quantities: used, cost }: Extract<Step, { kind: "request" }>): object {
  const { tier, geo } = conditions;
  const isFast = tier?.endsWith("+fast") === true;
  const usage = {
    ...(used !== null && {
      prompt_tokens: used.input_tokens,
      completion_tokens: used.output_tokens,
      prompt_tokens_details: {
        cached_tokens: used.cached_input_tokens,
        cache_write_tokens: used.cache_write_tokens,
        audio_tokens: used.input_audio_tokens,
      },
      completion_tokens_details: { audio_tokens: used.output_audio_tokens },
    }),
    ...(isFast && { speed: "fast" }),
    ...(geo !== undefined && { inference_geo: geo }),
    ...(cost !== null && { cost }),
  };
  return { usage, ...(tier !== undefined && { service_tier: tier.replace("+fast", "") }) };
}

interface Expected {
  readonly costPico: bigint | null;
  readonly unpriced: boolean;
  readonly tier: string;
  readonly reported: number | null;
}

test(
  "rows, reports and limits have what section 1 says, whatever prices and variants change between requests",
  async () => {
    const sequences = fc.sample(fc.array(step, { minLength: 8, maxLength: 24 }), {
      numRuns: SEQUENCES * scale,
      seed,
    });
    const limit = { name: "all", subject: {}, measure: "cost", amount: 1e6, window: "total" };
    await send("POST", "/admin/v1/limits", limit);
    const all: Expected[] = [];
    for (const [index, steps] of sequences.entries()) {
      const [m, n] = [`m${index}`, `n${index}`];
      await send("POST", "/admin/v1/models", { alias: m, provider: "up", upstream_name: "real" });
      await send("POST", "/admin/v1/models", { alias: n, target: m });
      let prices: ModelPrices = { prices: {}, variants: [] };
      let own: readonly PriceVariant[] = [];
      const expected: Expected[] = [];
      for (const next of steps) {
        if (next.kind === "prices") {
          ({ prices } = next);
          const pricing = toPricing(prices.prices);
          await send("PATCH", `/admin/v1/models/${m}`, {
            pricing,
            price_variants: toWireVariants(prices.variants),
          });
        } else if (next.kind === "own") {
          own = next.variants;
          await send("PATCH", `/admin/v1/models/${n}`, { price_variants: toWireVariants(own) });
        } else {
          aheadUs += next.waitUs;
          const inForce = next.model === "n" && own.length > 0 ? { ...prices, variants: own } : prices;
          expected.push(await request(`${next.model}${index}`, next, inForce));
        }
      }
      await expectSums([m, n], expected);
      all.push(...expected);
    }
    const { limits } = await send("GET", "/admin/v1/limits");
    const { cost, unpriced } = toSum(all);
    expect(limits).toMatchObject([{ used: cost, unpriced_requests: unpriced }]);
    // Priced and unpriced ones are both among them.
    expect(Math.min(unpriced, all.length - unpriced)).toBeGreaterThan(10);
  },
  TEST_MS_MAX,
);

/** Sends a request and compares its row; returns what sums have to have of it. */
async function request(
  model: string,
  asked: Extract<Step, { kind: "request" }>,
  inForce: ModelPrices,
): Promise<Expected> {
  answer = toAnswer(asked);
  const response = await app.api("POST", "/v1/chat/completions", {
    model,
    stream: asked.stream,
    messages: [],
  });
  await response.text();
  const id = response.headers.get("x-proxy-request-id");
  let row: any = null;
  const isThere = async () => {
    ({ request: row } = await send("GET", `/stats/requests/${id}`).catch(() => ({ request: null })));
    return row !== null;
  };
  await until(isThere, () => `the row of ${id}`);
  const told: ReportedUsage | null =
    asked.quantities === null ? null : { shape: "inclusive", quantities: asked.quantities };
  const endedAtUs = toInstantUs(row.ts) + Math.round(row.duration_ms * 1000);
  const applied = toApplied(inForce, { ...asked.conditions, usage: told, endedAtUs });
  // By the request too, where a price is: it would be free otherwise where no price names its tier.
  const sets: readonly PriceSet[] =
    applied.lacks === undefined ? [applied] : [inForce.prices, ...inForce.variants];
  const isBilled = sets.some((set) => typeof set.requests === "number");
  const usage: ReportedUsage | null = isBilled
    ? { shape: "inclusive", quantities: { ...told?.quantities, requests: 1 } }
    : told;
  const { costPico, unpriced } = toMoney({ usage, prices: applied });
  const { tier, geo } = asked.conditions;
  const { lacks } = applied;
  const isReasonTold = lacks !== undefined && usage !== null;
  const seen = { cost: row.cost, tier: row.tier, geo: row.geo, cost_reported: row.cost_reported };
  expect({ asked, inForce, row: { ...seen, when: row.price_when, reason: row.unpriced_reason } }).toEqual({
    asked,
    inForce,
    row: {
      cost: costPico === null ? null : picoToNumber(costPico),
      tier,
      geo,
      cost_reported: asked.cost ?? undefined,
      when: applied.when === undefined ? undefined : toWhen(applied.when),
      reason: isReasonTold ? `${lacks}: ${asked.conditions[lacks]}` : undefined,
    },
  });
  for (const [unit, price] of Object.entries<number | null>(row.unit_prices)) {
    const pico = Object.entries(applied).find(([name]) => name === unit)?.[1] ?? null;
    expect([unit, price]).toEqual([unit, pico === null ? null : Number(pico) / 1e6]);
  }
  return { costPico, unpriced, tier: tier ?? "standard", reported: asked.cost };
}

function toInstantUs(text: string): number {
  return Date.parse(text) * 1000 + Number(/(\d{3})Z$/.exec(text)?.[1] ?? 0);
}

async function expectSums(models: readonly string[], expected: readonly Expected[]): Promise<void> {
  const query = models.map((model) => `model=${model}`).join("&");
  const { rows } = await send("GET", `/stats/breakdown?by=tier&limit=100&${query}`);
  const byTier = Map.groupBy(expected, ({ tier }) => tier);
  expect(rows).toHaveLength(byTier.size);
  for (const [tier, ofTier] of byTier) {
    const { requests, unpriced, cost, cost_reported } = rows.find((row: any) => row.value === tier);
    expect({ tier, requests, unpriced, cost, cost_reported }).toEqual({ tier, ...toSum(ofTier) });
    const { total } = await send("GET", `/stats/breakdown?tier=${encodeURIComponent(tier)}&${query}`);
    expect(total).toMatchObject({ requests, unpriced, cost });
  }
  if (expected.length === 0) return;
  const { series } = await send("GET", `/stats/series?bucket=month&${query}`);
  const { requests, unpriced, cost, cost_reported } = toSum(expected);
  const sums = series.filter((bucket: any) => bucket.requests > 0);
  expect(sums.reduce((sum: number, bucket: any) => sum + bucket.requests, 0)).toBe(requests);
  expect(sums.reduce((sum: number, bucket: any) => sum + bucket.unpriced_requests, 0)).toBe(unpriced);
  if (sums.length === 1)
    expect({ cost, cost_reported }).toEqual({ cost: sums[0].cost, cost_reported: sums[0].cost_reported });
}

function toSum(of: readonly Expected[]) {
  const costs = of.flatMap(({ costPico }) => costPico ?? []);
  const reported = of.flatMap(({ reported: told }) => (told === null ? [] : toPico(told)));
  return {
    requests: of.length,
    unpriced: of.filter(({ unpriced }) => unpriced).length,
    cost: costs.length === 0 ? null : picoToNumber(add(costs)),
    cost_reported: reported.length === 0 ? undefined : picoToNumber(add(reported)),
  };
}

const toPico = (told: number) => BigInt(told.toFixed(12).replace(".", ""));
const add = (amounts: readonly bigint[]) => amounts.reduce((sum, amount) => sum + amount, 0n);
