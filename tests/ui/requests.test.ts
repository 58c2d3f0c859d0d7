import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { eventIdToUuid } from "#kernel/ids.ts";
import { picoToNumber } from "#kernel/units.ts";
import { priceUsage } from "#usage/cost.ts";
import { toRequestUnits } from "#views/request-units.ts";
import type { RefusedRequest, RequestRow } from "../../ui/api/reports.ts";
import { isPartlyPriced, readCost } from "../../ui/pages/requests/cost-card.tsx";
import { toOutcomeBars } from "../../ui/pages/requests/histogram.tsx";
import type { LogOrder } from "../../ui/search/filters.ts";
import {
  addTail,
  followTail,
  type LogView,
  type Look,
  type Tail,
  TAIL_ROWS_MAX,
  toLogRows,
} from "../../ui/pages/requests/log.ts";

type Metered = Parameters<typeof readCost>[0];

const PRICES = { input_tokens: 2.5, output_tokens: 10, cached_input_tokens: 0.25 };

describe("how a cost comes out of its units", () => {
  test("a cached part within the input is taken out of it, and is not paid twice", () => {
    const units = { input_tokens: 1000, output_tokens: 100, cached_input_tokens: 400 };
    const unit_details = { input_tokens: { quantity: 600, price: 2.5 } };
    expect(readCost({ units, unit_prices: PRICES, unit_details, cost: 0.0026 })).toEqual([
      { unit: "input_tokens", quantity: 600, pricePerMillion: 2.5, amount: 0.0015 },
      { unit: "output_tokens", quantity: 100, pricePerMillion: 10, amount: 0.001 },
      { unit: "cached_input_tokens", quantity: 400, pricePerMillion: 0.25, amount: 0.0001 },
    ]);
  });

  test("a cached part beside the input leaves the input as it is", () => {
    const units = { input_tokens: 1000, output_tokens: 100, cached_input_tokens: 400 };
    const [line] = readCost({ units, unit_prices: PRICES, cost: 0.0036 });
    expect(line).toMatchObject({ unit: "input_tokens", quantity: 1000, amount: 0.0025 });
  });

  test("what was written to a cache is a line of its own for each price, and the cost infers none", () => {
    const units = { input_tokens: 10, output_tokens: 100, cached_input_tokens: 4000 };
    const unit_details = {
      cache_write_tokens: { quantity: 700, price: 3.125 },
      cache_write_1h_tokens: { quantity: 20, price: 5 },
    };
    const lines = readCost({ units, unit_prices: PRICES, unit_details, cost: null });
    expect(lines.map(({ unit, quantity, amount }) => [unit, quantity, amount])).toEqual([
      ["input_tokens", 10, 0.000025],
      ["output_tokens", 100, 0.001],
      ["cached_input_tokens", 4000, 0.001],
      ["cache_write_tokens", 700, 0.0021875],
      ["cache_write_1h_tokens", 20, 0.0001],
    ]);
    const without = readCost({ units, unit_prices: PRICES, cost: 0.005 });
    expect(without.map(({ unit }) => unit)).toEqual(["input_tokens", "output_tokens", "cached_input_tokens"]);
  });

  test("a unit without a price has no amount, and one beside priced ones makes the cost partial", () => {
    const units = { input_tokens: 1000, audio_seconds: 12.5 };
    const unpriced: Metered = { units, unit_prices: { input_tokens: null, audio_seconds: null }, cost: null };
    expect(readCost(unpriced).map(({ amount }) => amount)).toEqual([null, null]);
    expect(isPartlyPriced(unpriced)).toBe(false);
    const partial: Metered = { units, unit_prices: { input_tokens: 2, audio_seconds: null }, cost: 0.002 };
    expect(readCost(partial).map(({ amount }) => amount)).toEqual([0.002, null]);
    expect(isPartlyPriced(partial)).toBe(true);
    expect(isPartlyPriced({ ...partial, units: { input_tokens: 1000, audio_seconds: 0 } })).toBe(false);
  });

  test("whatever the server priced is read from its row, and the amounts add up to the cost", () => {
    const quantity = fc.nat(2_000_000);
    const price = fc.nat(100_000_000);
    const each = <Value>(value: fc.Arbitrary<Value>) =>
      fc.record(
        {
          input_tokens: value,
          output_tokens: value,
          cached_input_tokens: value,
          cache_write_tokens: value,
          cache_write_1h_tokens: value,
        },
        { requiredKeys: ["input_tokens"] },
      );
    const usage = fc.record({
      shape: fc.constantFrom("inclusive" as const, "exclusive" as const),
      quantities: each(quantity),
    });
    fc.assert(
      fc.property(usage, each(price), (reported, prices) => {
        const { costPico } = priceUsage(reported, prices);
        const cost = picoToNumber(costPico ?? 0n);
        const lines = readCost({ ...toRequestUnits(reported, prices), cost });
        expect(lines.reduce((total, { amount }) => total + toPico(amount ?? 0), 0n)).toBe(costPico ?? 0n);
      }),
    );
  });
});

function toPico(amount: number): bigint {
  return BigInt(amount.toFixed(12).replace(".", ""));
}

/** The request that arrived that many milliseconds after the first. */
function at(ms: number): RequestRow {
  const id = eventIdToUuid(1_790_000_000_000_000 + ms * 1000);
  return {
    id,
    ts: "2026-09-21T14:13:20.000000Z",
    principal: "ada",
    key_id: null,
    key_label: null,
    relay_token_id: null,
    provider: "lab",
    model: "small",
    upstream_name: "small",
    endpoint: "chat",
    client: null,
    status_code: 200,
    outcome: "ok",
    error_kind: null,
    cancelled: false,
    streamed: false,
    duration_ms: 1,
    time_to_first_byte_ms: 1,
    cost: null,
    units: {},
    unit_prices: {},
    tags: [],
  };
}

const BUCKET = {
  start: "2026-09-21T14:00:00.000000Z",
  requests: 10,
  ok: 6,
  cancelled: 1,
  failed: 3,
  unpriced_requests: 0,
  cost: null,
  units: {},
};

const view = (rows: readonly RequestRow[], total: number): LogView => ({
  rows,
  refusals: [],
  total,
  refusalsTotal: 0,
  bars: [{ ...BUCKET, start: "2026-09-21T13:00:00.000000Z" }, BUCKET],
  barsFailure: null,
  notes: null,
  cursor: "c0",
});
const begin: Tail = { cursor: "c0", rows: [], refusals: [], freshIds: new Set() };
const look = (requests: readonly RequestRow[], more: Partial<Look> = {}): Look => ({
  requests,
  total: requests.length,
  cursor: "c1",
  gap: false,
  ...more,
});

describe("the live tail", () => {
  const old = view([at(30), at(10)], 20);
  const follow = (tail: Tail | null, found: Look) =>
    followTail(tail ?? begin, found, { view: old, bucket: "hour" });

  test("adds what is new to rows, total and bars alike, and nothing that the view has already", () => {
    const failed = { ...at(40), outcome: "unreachable" as const };
    const tail = follow(null, look([failed, at(30)]));
    expect([...(tail?.freshIds ?? [])]).toEqual([at(40).id]);
    const shown = addTail(old, tail, { rowsAPage: 100, bucket: "hour" });
    expect(shown.rows.map(({ id }) => id)).toEqual([at(40).id, at(30).id, at(10).id]);
    expect(shown.total).toBe(21);
    expect(shown.bars?.map(({ requests, ok, failed: bad }) => [requests, ok, bad])).toEqual([
      [10, 6, 3],
      [11, 6, 4],
    ]);
    expect(follow(tail, look([], { cursor: "c2" }))).toEqual({ ...(tail ?? begin), cursor: "c2" });
  });

  test("puts a long request, which is logged when it ends, where it began, and cuts what is beyond the page", () => {
    const tail = follow(null, look([at(20)]));
    const ids = (rowsAPage: number) =>
      addTail(old, tail, { rowsAPage, bucket: "hour" }).rows.map(({ id }) => id);
    expect(ids(100)).toEqual([at(30).id, at(20).id, at(10).id]);
    expect(ids(2)).toEqual([at(30).id, at(20).id]);
  });

  test("adds refusals where they arrived, which no total of requests and no bar counts, and cuts those beyond the page", () => {
    const refused = (ms: number): RefusedRequest => ({
      id: at(ms).id,
      at: at(ms).ts,
      code: "model_not_found",
      principal: null,
      key_suffix: null,
      model: "nope",
      endpoint: "chat",
      client: null,
    });
    const seen = { ...old, refusals: [refused(5)], refusalsTotal: 1 };
    const found = look([at(40)], { refusals: [refused(35), refused(5)] });
    const tail = followTail(begin, found, { view: seen, bucket: "hour" });
    expect([...(tail?.freshIds ?? [])]).toEqual([at(40).id, at(35).id]);
    const show = (rowsAPage: number) => addTail(seen, tail, { rowsAPage, bucket: "hour" });
    expect(show(100)).toMatchObject({ total: 21, refusalsTotal: 2 });
    expect(show(100).bars?.[1]?.requests).toBe(11);
    const idsIn = (rowsAPage: number, order?: LogOrder) =>
      toLogRows(show(rowsAPage), order).map(({ id }) => id);
    const all = [40, 35, 30, 10, 5].map((ms) => at(ms).id);
    expect(idsIn(100)).toEqual(all);
    expect(idsIn(100, "oldest")).toEqual(all.toReversed());
    expect(idsIn(2)).toEqual(all.slice(0, 3));
    expect(toLogRows(old)).toBe(old.rows);
    // A refusal alone is news as well.
    expect(follow(null, look([], { refusals: [refused(50)] }))?.refusals).toHaveLength(1);
  });

  test("has the view read anew when something was missed, has no bar yet, or the tail grows long", () => {
    expect(follow(null, look([], { gap: true }))).toBeNull();
    expect(follow(null, look([at(40)], { total: 101 }))).toBeNull();
    expect(follow(null, look([{ ...at(40), ts: "2026-09-21T15:00:00.000000Z" }]))).toBeNull();
    let tail: Tail | null = begin;
    for (let last = 100; last < 100 + TAIL_ROWS_MAX && tail !== null; last += 1) {
      tail = follow(tail, look([at(last)]));
    }
    expect(tail?.rows).toHaveLength(TAIL_ROWS_MAX);
    expect(follow(tail, look([at(9999)]))).toBeNull();
  });
});

describe("the histogram", () => {
  test("tells failures as one without a filter by outcome, and as what they are with one", () => {
    const labels = (outcome: Parameters<typeof toOutcomeBars>[1]) =>
      toOutcomeBars([BUCKET], outcome).series.map(({ id, label }) => [id, label]);
    expect(labels(undefined)).toEqual([
      ["ok", "ok"],
      ["cancelled", "cancelled"],
      ["upstream_error", "failed"],
    ]);
    expect(labels(["unreachable"])).toEqual([["unreachable", "unreachable"]]);
    expect(labels(["failed"]).map(([, label]) => label)).toEqual(["cancelled", "failed"]);
    expect(toOutcomeBars([BUCKET], undefined).buckets).toEqual([{ start: BUCKET.start, values: [6, 1, 3] }]);
  });
});
