import { expect } from "bun:test";
import { createSystemIds } from "#kernel/ids.ts";
import type { ModelPrices } from "#kernel/price-variants.ts";
import type { RepricingFigures, RepricingState, RepricingStore } from "#stats/repricing.ts";
import { type NewRepricing, Repricings } from "#stats/repricings.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import type { ServeOptions, Storage } from "#storage/engine.ts";
import { choosePrices, priceUsage } from "#usage/cost.ts";
import type { ReportedUsage, UsageBeginning, UsageEnding } from "#usage/event.ts";
import { createManualClock, DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "../ledger/usage.ts";
import { until } from "../support/waiting.ts";
import { type LedgerEngine, PAGE, silentLog } from "./support.ts";

export const ROOT = { principalId: "root" };
export const HOUR_US = DAY_US / 24;
const MODELS = ["fast", "slow", "other"] as const;
const TIERS = [undefined, "flex", "priority"] as const;

/** What `fast` and `slow` should have cost; `other` keeps its prices. */
const PRICES: readonly (readonly [string, ModelPrices])[] = [
  [
    "fast",
    {
      prices: { input_tokens: 5_000_000, output_tokens: 7_000_001, cached_input_tokens: 3 },
      variants: [
        { when: { tier: "flex" }, input_tokens: 2_500_000, output_tokens: 3_500_000 },
        { when: { inputOver: 150 }, input_tokens: 10_000_000, output_tokens: 14_000_000 },
      ],
    },
  ],
  ["slow", { prices: { input_tokens: 1_000_000, audio_seconds: 999_999 }, variants: [] }],
];
export const TERMS = {
  query: EVERYTHING,
  prices: PRICES.map(([model, prices]) => [model, [{ fromUs: 0, prices }]] as const),
  isUnpricedOnly: false,
};

interface BenchOptions {
  readonly onCosts?: (change: "going" | "done") => Promise<void>;
  readonly toStore?: (store: RepricingStore) => RepricingStore;
  readonly serve?: Partial<ServeOptions>;
  readonly nowUs?: number;
}

export async function openBench(
  engine: LedgerEngine,
  { onCosts = async () => {}, toStore = (store) => store, serve, nowUs }: BenchOptions = {},
) {
  const clock = createManualClock(nowUs);
  const storage = await engine.serve({ ...serve, clock });
  const repricings = new Repricings({
    store: toStore(storage.repricings),
    audit: storage.audit,
    clock,
    ids: createSystemIds(),
    log: silentLog,
    isShared: storage.limitBoard !== null,
    onCosts,
  });
  const reached = async (id: string, state: RepricingState) => {
    await until(
      async () => {
        const found = await repricings.get(id);
        return found.state === state && found.figures !== null;
      },
      () => `${id} is ${state}`,
    );
    await repricings.rested();
    return repricings.get(id);
  };
  const planned = async (terms: Omit<NewRepricing, "isDryRun" | "actor">) => {
    const { id } = await repricings.create({ ...terms, isDryRun: true, actor: ROOT });
    return reached(id, "planned");
  };
  return {
    clock,
    storage,
    repricings,
    reached,
    planned,
    [Symbol.asyncDispose]: () => repricings.close(),
  };
}

export type Bench = Awaited<ReturnType<typeof openBench>>;

export async function record(
  { ledger }: Storage,
  subject: Partial<UsageBeginning>,
  ending: UsageEnding = ENDING,
): Promise<void> {
  await ledger.open({ ...SUBJECT, ...subject }).end(ending);
}

/** A request of `fast` at second `at` that was billed at these prices. */
export async function recordBilled(
  storage: Storage,
  at: number,
  {
    quantities,
    prices,
    ...ending
  }: Partial<UsageEnding> & {
    readonly quantities: ReportedUsage["quantities"] | null;
    readonly prices: UsageEnding["prices"];
  },
): Promise<void> {
  const usage = quantities === null ? null : { shape: "inclusive" as const, quantities };
  const { costPico, unpriced } = priceUsage(usage, prices);
  const subject = { arrivedAtUs: NEW_YEAR_US + at * 1_000_000, model: "fast" };
  await record(storage, subject, { ...ENDING, usage, prices, costPico, unpriced, ...ending });
}

/** A request each hour, of every model, tier and some amounts; one of a day ends on the next. */
export async function recordDays(storage: Storage, days: number): Promise<void> {
  for (let hour = 0; hour < days * 24; hour += 1) {
    const tier = TIERS[hour % 5];
    const input_tokens = hour % 7 === 0 ? 0 : 100 + hour;
    const quantities = {
      input_tokens,
      output_tokens: hour,
      cached_input_tokens: Math.min(hour % 40, input_tokens),
      ...(hour % 6 === 0 && { audio_seconds: hour / 7 }),
    };
    const usage = hour % 11 === 0 ? null : { shape: "inclusive" as const, quantities };
    const prices = tier === undefined ? ENDING.prices : { lacks: "tier" as const };
    const { costPico, unpriced } = priceUsage(usage, prices);
    await record(
      storage,
      {
        arrivedAtUs: NEW_YEAR_US + hour * HOUR_US + 1_000,
        model: MODELS[hour % 3] ?? null,
        streamed: hour % 2 === 0,
      },
      {
        ...ENDING,
        durationUs: hour % 24 === 23 ? 2 * HOUR_US : 1_500_000,
        usage,
        ...(tier !== undefined && { tier }),
        prices,
        costPico,
        unpriced,
      },
    );
  }
}

export async function listRows({ stats, ledger }: Storage): Promise<readonly RequestLogRow[]> {
  await ledger.flush();
  const { rows, total } = await stats.listRequests(EVERYTHING, PAGE);
  expect(rows.length).toBe(total);
  return rows;
}

/** The row as it should be, by the rules of prices and nothing of the ledger's. */
export function reprice(row: RequestLogRow): RequestLogRow {
  const prices = new Map(PRICES).get(row.model ?? "");
  if (prices === undefined || row.usage === null) return row;
  const { tier, geo, usage } = row;
  const chosen = choosePrices(prices, { tier, geo, usage, endedAtUs: row.arrivedAtUs + row.durationUs });
  return { ...row, prices: chosen, costPico: priceUsage(usage, chosen).costPico };
}

export const isUnpriced = ({ usage, prices }: RequestLogRow) => priceUsage(usage, prices).unpriced;
export const toCost = ({ id, costPico, prices }: RequestLogRow) => ({ id, costPico, prices });
export const toUsed = ({ id, usage, durationUs, outcome }: RequestLogRow) => ({
  id,
  usage,
  durationUs,
  outcome,
});
export const sum = (rows: readonly RequestLogRow[]) =>
  rows.reduce((all, { costPico }) => all + (costPico ?? 0n), 0n);

export async function sumCost({ stats }: Storage): Promise<bigint> {
  const series = await stats.readSeries({ ...EVERYTHING, bucket: "month", nowUs: NEW_YEAR_US + 20 * DAY_US });
  return series.buckets.reduce((all, { costPico }) => all + (costPico ?? 0n), 0n);
}

export function expectFigures(figures: RepricingFigures | null, before: readonly RequestLogRow[]): void {
  const touched = before.filter((row) => !Bun.deepEquals(toCost(reprice(row)), toCost(row)));
  expect(touched.length).toBeWithin(30, before.length - 30);
  const after = touched.map(reprice);
  expect(figures).toMatchObject({
    requests: touched.length,
    costBeforePico: sum(touched),
    costAfterPico: sum(after),
    unpricedBefore: touched.filter(isUnpriced).length,
    unpricedAfter: after.filter(isUnpriced).length,
  });
  const units = figures?.units ?? [];
  const total = (read: (unit: (typeof units)[number]) => bigint) =>
    units.reduce((all, unit) => all + read(unit), 0n);
  // A request with fractions is rounded by itself, and a sum of them once.
  const rounding = BigInt(touched.length);
  for (const [of, figure] of [
    [total((unit) => unit.costBeforePico), figures?.costBeforePico ?? 0n],
    [total((unit) => unit.costAfterPico), figures?.costAfterPico ?? 0n],
  ] as const)
    expect(of > figure ? of - figure : figure - of).toBeLessThanOrEqual(rounding);
  expect(units.map(({ model, tier, unit }) => `${model} ${tier ?? ""} ${unit}`)).toContain(
    "fast flex input_tokens",
  );
}
