import { afterAll, beforeAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import { formatInstant } from "#kernel/clock.ts";
import type { AppliedPrices, ModelPrices, PriceConditions, PriceVariant } from "#kernel/price-variants.ts";
import { picoToNumber, type PriceSet } from "#kernel/units.ts";
import type { ReportedUsage } from "#usage/event.ts";
import { type ScriptedUpstream, startUpstream } from "../support/upstream.ts";
import { until } from "../support/waiting.ts";
import { KilledServer } from "./killed-server.ts";
import { type Answered, arbitraryConditions, arbitraryModelPrices, toApplied, toMoney } from "./pricing.ts";
import { expectFocus } from "./focus.ts";
import { readSettings } from "./settings.ts";

const SEQUENCES = 12;
const SURELY_GIVEN = 300;
const HOUR_US = 3_600_000_000;
const { seed, scale } = readSettings("money");
const TEST_MS_MAX = 300_000 * Math.max(1, scale / 10);

/** `m` routes, and `n` is a name for it: it has the variants of `m` until it has some of its own. */
type Step =
  /** Prices of `m` from now on, from a moment to come on, or from one that has passed. */
  | { readonly kind: "prices"; readonly prices: ModelPrices; readonly fromInUs: number; readonly kill: Kill }
  | { readonly kind: "reprice"; readonly repricing: AskedRepricing }
  /** Takes the last re-pricing back that is applied. */
  | { readonly kind: "revert"; readonly kill: Kill }
  | { readonly kind: "own"; readonly variants: readonly PriceVariant[]; readonly kill: Kill }
  /** The server is killed while it has nothing to do. */
  | { readonly kind: "kill" }
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

/** When the server is killed that was asked for a change: at once, or once it has accepted it and may be in the middle. */
type Kill = "asked" | "accepted" | null;

interface AskedRepricing {
  readonly prices: "history" | { readonly m?: ModelPrices; readonly n?: ModelPrices };
  readonly isUnpricedOnly: boolean;
  readonly tier: string | undefined;
  readonly isApplied: boolean;
  readonly kill: Kill;
}

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
const toKill = (every: number): fc.Arbitrary<Kill> =>
  fc.oneof(
    { weight: every - 1, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constantFrom("asked", "accepted") },
  );
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("kill") }) },
  {
    weight: 24,
    arbitrary: fc.record({
      kind: fc.constant("prices"),
      prices: arbitraryModelPrices,
      fromInUs: fc.oneof(fc.constant(0), fc.integer({ min: -60 * HOUR_US, max: 60 * HOUR_US })),
      kill: toKill(40),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("reprice"),
      repricing: fc.record({
        prices: fc.oneof(
          fc.constant("history" as const),
          fc
            .record({ m: arbitraryModelPrices, n: arbitraryModelPrices }, { requiredKeys: [] })
            .filter((named) => Object.keys(named).length > 0),
        ),
        isUnpricedOnly: fc.boolean(),
        tier: fc.constantFrom(undefined, undefined, "standard", "flex"),
        isApplied: fc.constantFrom(true, true, false),
        kill: toKill(6),
      }),
    }),
  },
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("revert"), kill: toKill(6) }) },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("own"),
      variants: arbitraryModelPrices.map(({ variants }) => variants),
      kill: toKill(40),
    }),
  },
  {
    weight: 72,
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
const server = new KilledServer();
let answer: object = {};

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
  await server.start();
  await send("POST", "/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
});
afterAll(async () => {
  await server.stop();
  await upstream.stop();
});

async function send(method: string, path: string, body?: object): Promise<any> {
  const response = await server.api(method, path, body);
  const read = await response.json();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${JSON.stringify(read)}`);
  return read;
}

/** Asks for a change whose server may be killed; one that the next server has not made is asked for again. */
async function change(
  asked: () => Promise<unknown>,
  kill: Kill,
  isMade: () => Promise<boolean>,
): Promise<void> {
  if (kill === null) return void (await asked());
  const answered = asked().catch(() => undefined);
  if (kill === "accepted") await answered;
  await server.kill();
  if (!(await isMade())) await asked();
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

/** A request that was made: what decides its price, and what it costs by now. */
interface Known extends Answered, Omit<Expected, "tier"> {
  readonly id: string;
  readonly model: "m" | "n";
  readonly beganAtUs: number;
  readonly applied: AppliedPrices;
}

/** What held from when on, in the order of time. */
class Timeline<Value> {
  #spans: { readonly fromUs: number; readonly value: Value }[] = [];

  /** A moment that has passed takes the place of what was known of later ones, and of none to come. */
  set(fromUs: number, value: Value, atUs: number): void {
    const kept = this.#spans.filter((span) => span.fromUs < fromUs || span.fromUs > atUs);
    this.#spans = [...kept, { fromUs, value }].sort((one, other) => one.fromUs - other.fromUs);
  }

  hasBegun(instantUs: number, isSome: (value: Value) => boolean): boolean {
    return this.#spans.some(({ fromUs, value }) => fromUs <= instantUs && isSome(value));
  }

  toFinder(): (instantUs: number) => Value | undefined {
    const spans = this.#spans;
    return (instantUs) => spans.findLast(({ fromUs }) => fromUs <= instantUs)?.value;
  }
}

/** The models of one sequence, and all that was asked of them. */
class Scene {
  readonly #prices = new Timeline<ModelPrices>();
  readonly #own = new Timeline<readonly PriceVariant[]>();
  readonly #applied: { readonly id: string; readonly former: readonly Known[] }[] = [];
  readonly #names: { readonly m: string; readonly n: string };
  requests: readonly Known[] = [];
  /** Requests whose rows are not compared yet: their server may not have stored them. */
  #sent: Sent[] = [];
  /** Requests that a re-pricing gave a price by the request. */
  givenCount = 0;

  private constructor(index: number) {
    this.#names = { m: `m${index}`, n: `n${index}` };
  }

  static async make(index: number): Promise<Scene> {
    const scene = new Scene(index);
    const { m, n } = scene.#names;
    await send("POST", "/admin/v1/models", { alias: m, provider: "up", upstream_name: "real" });
    await send("POST", "/admin/v1/models", { alias: n, target: m });
    return scene;
  }

  findPrices(model: "m" | "n", atUs: number): ModelPrices {
    return this.#toFinder(model)(atUs);
  }

  /** Finds the prices by what is known by now, whatever is dated back later. */
  #toFinder(model: "m" | "n"): (atUs: number) => ModelPrices {
    const [findPrices, findOwn] = [this.#prices.toFinder(), this.#own.toFinder()];
    return (atUs) => {
      const prices = findPrices(atUs) ?? { prices: {}, variants: [] };
      const own = model === "n" ? (findOwn(atUs) ?? []) : [];
      return own.length > 0 ? { ...prices, variants: own } : prices;
    };
  }

  /** A history tells nothing of what ended before the first price that it has. */
  #hasHistory({ model, endedAtUs }: Known): boolean {
    const isPriced = this.#prices.hasBegun(
      endedAtUs,
      ({ prices, variants }) => hasPrice(prices) || variants.length > 0,
    );
    return isPriced || (model === "n" && this.#own.hasBegun(endedAtUs, (variants) => variants.length > 0));
  }

  async take(next: Step): Promise<void> {
    const { m, n } = this.#names;
    if (next.kind !== "request") await this.settle();
    if (next.kind === "kill") return server.kill();
    const atUs = await server.advance(next.kind === "request" ? next.waitUs : 0);
    if (next.kind === "prices") {
      const fromUs = atUs + next.fromInUs;
      const patch = {
        pricing: toPricing(next.prices.prices),
        price_variants: toWireVariants(next.prices.variants),
        ...(next.fromInUs !== 0 && { effective_from: formatInstant(fromUs) }),
      };
      await this.#patch(m, patch, next.kill);
      this.#prices.set(fromUs, next.prices, atUs);
    } else if (next.kind === "own") {
      await this.#patch(n, { price_variants: toWireVariants(next.variants) }, next.kill);
      this.#own.set(atUs, next.variants, atUs);
    } else if (next.kind === "request") {
      this.#sent.push(await request(this.#names[next.model], next, this.#toFinder(next.model)));
    } else if (next.kind === "reprice") await this.#reprice(next.repricing);
    else {
      const last = this.#applied.pop();
      if (last === undefined) return;
      await this.#change(last.id, { to: "revert", from: "applied", kill: next.kill });
      await toRested(last.id, "reverted");
      this.#replace(last.former);
    }
  }

  /** Compares the rows of all that was sent since. */
  async settle(): Promise<void> {
    for (const sent of this.#sent) this.requests = [...this.requests, await compareRow(sent)];
    this.#sent = [];
  }

  /** A change that was killed is made again: prices that are there already change nothing. */
  #patch(model: string, patch: object, kill: Kill): Promise<void> {
    return change(
      () => send("PATCH", `/admin/v1/models/${model}`, patch),
      kill,
      async () => false,
    );
  }

  #change(
    id: string,
    { to, from, kill }: { to: "apply" | "revert"; from: string; kill: Kill },
  ): Promise<void> {
    return change(
      () => send("POST", `/admin/v1/repricing/${id}/${to}`),
      kill,
      async () => (await send("GET", `/admin/v1/repricing/${id}`)).state !== from,
    );
  }

  async #reprice({ prices, isUnpricedOnly, tier, isApplied, kill }: AskedRepricing): Promise<void> {
    const { m, n } = this.#names;
    const named = Object.entries(prices === "history" ? {} : prices).map(([name, model]) => [
      name === "m" ? m : n,
      { pricing: toPricing(model.prices), price_variants: toWireVariants(model.variants) },
    ]);
    const { id } = await send("POST", "/admin/v1/repricing", {
      filters: { model: [m, n], ...(tier !== undefined && { tier: [tier] }) },
      prices: prices === "history" ? prices : Object.fromEntries(named),
      unpriced_only: isUnpricedOnly,
      dry_run: true,
    });
    const plan = await toRested(id, "planned");
    const former = this.requests.filter(
      (known) =>
        (prices === "history" ? this.#hasHistory(known) : known.model in prices) &&
        (tier === undefined || (known.tier ?? "standard") === tier) &&
        (!isUnpricedOnly || known.unpriced),
    );
    const after = former.map((known) => {
      const model =
        prices === "history" ? this.findPrices(known.model, known.endedAtUs) : prices[known.model];
      return model === undefined ? known : { ...known, ...toRepriced(known, model) };
    });
    const { difference, unpriced_before: unpricedBefore, unpriced_after: unpricedAfter } = plan.total;
    const [was, becomes] = [former, after].map((of) => toSum(of.map(toExpected)));
    const [costWas, costBecomes] = [former, after].map((of) =>
      add(of.flatMap(({ costPico }) => costPico ?? [])),
    );
    expect({ prices, difference, unpriced: unpricedAfter - unpricedBefore }).toEqual({
      prices,
      difference: picoToNumber((costBecomes ?? 0n) - (costWas ?? 0n)),
      unpriced: (becomes?.unpriced ?? 0) - (was?.unpriced ?? 0),
    });
    if (!isApplied) return;
    await this.#change(id, { to: "apply", from: "planned", kill });
    expect((await toRested(id, "applied")).total).toEqual(plan.total);
    this.#applied.push({ id, former });
    this.givenCount += after.filter(
      ({ usage }, index) => isRequestBilled(usage) && !isRequestBilled(former[index]?.usage ?? null),
    ).length;
    this.#replace(after);
  }

  #replace(changed: readonly Known[]): void {
    const byId = new Map(changed.map((known) => [known.id, known]));
    this.requests = this.requests.map((known) => byId.get(known.id) ?? known);
  }

  /** The requests, each under the name of its model. */
  named() {
    return this.requests.map((known) => Object.assign({}, known, { model: this.#names[known.model] }));
  }

  /** Its models go and its requests stay: a change of prices looks at every model that there is. */
  async leave(): Promise<void> {
    for (const model of [this.#names.n, this.#names.m]) await send("DELETE", `/admin/v1/models/${model}`);
  }

  async expectRows(): Promise<void> {
    const { m, n } = this.#names;
    const { requests } = await send("GET", `/stats/requests?limit=500&model=${m}&model=${n}`);
    const rows = new Map<string, number | null>(requests.map(({ id, cost }: any) => [id, cost]));
    const costs = this.requests.map(
      ({ id, costPico }) => [id, costPico === null ? null : picoToNumber(costPico)] as const,
    );
    expect(rows).toEqual(new Map(costs));
    await expectSums([m, n], this.requests.map(toExpected));
  }
}

const isRequestBilled = (usage: ReportedUsage | null) => usage?.quantities.requests !== undefined;
const NO_USAGE: ReportedUsage = { shape: "inclusive", quantities: {} };
const hasPrice = (prices: PriceSet) => Object.values(prices).some((price) => typeof price === "number");

/**
 * A request is billed by itself once some price is by the request, whatever else it told, and from then on. It costs nothing where
 * no price is by the request any more.
 */
function toRepriced(
  known: Known,
  model: ModelPrices,
): Pick<Known, "usage" | "costPico" | "unpriced" | "applied"> {
  const applied = toApplied(model, known);
  if (isBilledByRequest(model, applied)) {
    const usage = { ...(known.usage ?? NO_USAGE), quantities: { ...known.usage?.quantities, requests: 1 } };
    return { usage, applied, ...toMoney({ usage, prices: applied }) };
  }
  const { usage } = known;
  const free = isRequestBilled(usage) ? { ...applied, requests: 0 } : applied;
  return { usage, applied: free, ...toMoney({ usage, prices: free }) };
}

/** It would be free otherwise where no price names its tier. */
function isBilledByRequest(model: ModelPrices, applied: AppliedPrices): boolean {
  const sets: readonly PriceSet[] =
    applied.lacks === undefined ? [applied] : [model.prices, ...model.variants];
  return sets.some((set) => typeof set.requests === "number");
}

const toExpected = ({ tier, ...known }: Omit<Known, "model">): Expected => ({
  ...known,
  tier: tier ?? "standard",
});

async function toRested(id: string, state: string): Promise<any> {
  let view: any;
  await until(
    async () => {
      view = await send("GET", `/admin/v1/repricing/${id}`);
      return view.state === state && view.total !== null;
    },
    () => JSON.stringify(view),
  );
  return view;
}

test(
  "rows, reports, limits, statements and FOCUS have what sections 1 to 3 say, whatever prices, dates, re-pricings, reverts and kills come between requests",
  async () => {
    const sequences = fc.sample(fc.array(step, { minLength: 8, maxLength: 24 }), {
      numRuns: SEQUENCES * scale,
      seed,
    });
    const limit = { name: "all", subject: {}, measure: "cost", amount: 1e6, window: "total" };
    await send("POST", "/admin/v1/limits", limit);
    const scenes: Scene[] = [];
    for (const [index, steps] of sequences.entries()) {
      const scene = await Scene.make(index);
      scenes.push(scene);
      for (const next of steps) await scene.take(next);
      await scene.settle();
      await scene.expectRows();
      await scene.leave();
    }
    const all = scenes.flatMap((scene) => scene.named());
    const { cost, unpriced } = toSum(all.map(toExpected));
    let used: any;
    await until(
      async () => {
        [used] = (await send("GET", "/admin/v1/limits")).limits;
        return used.used === cost;
      },
      () => JSON.stringify({ used, cost }),
    );
    expect(used.unpriced_requests).toBe(unpriced);
    for (const [month, ofMonth] of Map.groupBy(all, ({ beganAtUs }) =>
      formatInstant(beganAtUs).slice(0, 7),
    )) {
      const { total } = await send("GET", `/stats/statement?month=${month}`);
      const sum = toSum(ofMonth.map(toExpected));
      const { requests, unpriced: open, cost: sumOfMonth } = sum;
      expect(total).toMatchObject({ requests, unpriced_requests: open, cost: sumOfMonth });
      const focus = await server.api("GET", `/stats/focus?month=${month}`);
      expectFocus(await focus.text(), ofMonth);
    }
    // One in some thirty sequences has such a re-pricing.
    if (sequences.length >= SURELY_GIVEN)
      expect(scenes.reduce((sum, { givenCount }) => sum + givenCount, 0)).toBeGreaterThan(0);
    console.log(`money: ${sequences.length} sequences, ${all.length} requests, ${server.kills} kills`);
    // Priced and unpriced ones are both among them.
    expect(Math.min(unpriced, all.length - unpriced)).toBeGreaterThan(0);
  },
  TEST_MS_MAX,
);

interface Sent {
  readonly id: string | null;
  readonly asked: Extract<Step, { kind: "request" }>;
  readonly findPrices: (endedAtUs: number) => ModelPrices;
}

async function request(model: string, asked: Sent["asked"], findPrices: Sent["findPrices"]): Promise<Sent> {
  answer = toAnswer(asked);
  const response = await server.api("POST", "/v1/chat/completions", {
    model,
    stream: asked.stream,
    messages: [],
  });
  await response.text();
  return { id: response.headers.get("x-proxy-request-id"), asked, findPrices };
}

async function compareRow({ id, asked, findPrices }: Sent): Promise<Known> {
  let row: any = null;
  const isThere = async () => {
    ({ request: row } = await send("GET", `/stats/requests/${id}`).catch(() => ({ request: null })));
    return row !== null;
  };
  await until(isThere, () => `the row of ${id}`);
  const told: ReportedUsage | null =
    asked.quantities === null ? null : { shape: "inclusive", quantities: asked.quantities };
  const endedAtUs = toInstantUs(row.ts) + Math.round(row.duration_ms * 1000);
  const inForce = findPrices(endedAtUs);
  const applied = toApplied(inForce, { ...asked.conditions, usage: told, endedAtUs });
  const usage: ReportedUsage | null = isBilledByRequest(inForce, applied)
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
  const beganAtUs = toInstantUs(row.ts);
  const answered = { tier, geo, usage, endedAtUs, applied };
  return { ...answered, id: row.id, model: asked.model, beganAtUs, costPico, unpriced, reported: asked.cost };
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
