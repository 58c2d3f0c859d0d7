import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { ReportedUsage } from "#usage/event.ts";
import { priceUsage } from "#usage/cost.ts";
import { call, expectError } from "./support.ts";
import { bearer, startTeam, type Team } from "./team.ts";

let team: Team;
beforeAll(async () => {
  team = await startTeam();
});
afterAll(() => team.stop());

const PRICES = { input_tokens: 1_000_000, output_tokens: 2_000_000, cached_input_tokens: 500_000 };

function bill(usage: ReportedUsage, prices = PRICES) {
  const { costPico, unpriced } = priceUsage(usage, prices);
  return { usage, prices, costPico, unpriced };
}

const toPico = (amount: number) => BigInt(amount.toFixed(12).replace(".", ""));
const sum = (terms: Record<string, number>) =>
  Object.values(terms).reduce((total, term) => total + toPico(term), 0n);
const TERMS = ["volume", "models", "tokens", "cache", "unpriced", "price", "unexplained"];

interface Change {
  readonly before: { readonly cost: number | null };
  readonly now: { readonly cost: number | null };
  readonly difference: number;
  readonly terms: Record<string, number>;
}

function expectWhole({ before, now, difference, terms }: Change): void {
  expect(Object.keys(terms)).toEqual(TERMS);
  expect(toPico(difference)).toBe(toPico(now.cost ?? 0) - toPico(before.cost ?? 0));
  expect(sum(terms)).toBe(toPico(difference));
}

const read = (query: string, headers = bearer(team.alice)) =>
  team.read(`/stats/cost-change?${query}`, headers);

describe("why a window costs another amount than the one before", () => {
  beforeAll(async () => {
    const { alice, bob } = team;
    await team.record(
      // Twelve millionths each.
      { at: "2026-03-02T10:00:00Z", by: alice },
      { at: "2026-03-02T11:00:00Z", by: bob, model: "slow" },
      { at: "2026-03-09T10:00:00Z", by: alice },
      { at: "2026-03-09T11:00:00Z", by: alice },
      // Nothing comes from the cache any longer, and output got dearer.
      {
        at: "2026-03-09T12:00:00Z",
        by: bob,
        model: "slow",
        ...bill(
          { shape: "inclusive", quantities: { input_tokens: 10, output_tokens: 2 } },
          { ...PRICES, output_tokens: 5_000_000 },
        ),
      },
      { at: "2026-03-09T13:00:00Z", by: bob, model: "slow", prices: {}, costPico: null, unpriced: true },
      {
        at: "2026-03-09T14:00:00Z",
        by: bob,
        outcome: "upstream_error",
        statusCode: 500,
        usage: null,
        costPico: null,
      },
    );
  });

  const WEEK = "since=2026-03-08&until=2026-03-15";

  test("is told to a member of the whole team as terms that add up to it, of the total and of each model", async () => {
    const answer = await read(WEEK);
    expect(answer).toMatchObject({
      windows: {
        before: { since: "2026-03-01T00:00:00.000000Z", until: "2026-03-08T00:00:00.000000Z" },
        now: { since: "2026-03-08T00:00:00.000000Z", until: "2026-03-15T00:00:00.000000Z" },
      },
      total: {
        before: { requests: 2, failed: 0, unpriced_requests: 0, cost: 0.000024 },
        now: { requests: 5, failed: 1, unpriced_requests: 1, cost: 0.000044 },
        difference: 0.00002,
        // Twice as many requests; a fifth of what `slow` used is unpriced.
        terms: { volume: 0.000024, models: 0, tokens: 0, unexplained: 0 },
      },
      other_models: null,
      rows: "exact",
    });
    for (const change of [answer.total, ...answer.models]) expectWhole(change);
    const { cache, unpriced, price } = answer.total.terms;
    expect([cache > 0, unpriced < 0, price > 0]).toEqual([true, true, true]);
    for (const term of TERMS)
      expect(toPico(answer.total.terms[term])).toBe(
        answer.models.reduce((all: bigint, { terms }: Change) => all + toPico(terms[term] ?? 0), 0n),
      );
  });

  test("compares with the window that is asked for, which may be of another length, and filters both alike", async () => {
    const answer = await read(`${WEEK}&before_since=2026-03-02&before_until=2026-03-03&principal=alice`);
    expect(answer.windows.before).toEqual({
      since: "2026-03-02T00:00:00.000000Z",
      until: "2026-03-03T00:00:00.000000Z",
    });
    expect(answer.models.map(({ model }: { model: string }) => model)).toEqual(["fast"]);
    expect(answer.total).toMatchObject({ difference: 0.000012, terms: { volume: 0.000012, price: 0 } });
  });

  test("is the last seven days and the seven before where nothing is asked for, and the very windows of all other reports", async () => {
    const answer = await read("");
    expect(answer.windows).toEqual({
      before: { since: "2026-02-25T12:00:00.000000Z", until: "2026-03-04T12:00:00.000000Z" },
      now: { since: "2026-03-04T12:00:00.000000Z", until: "2026-03-11T12:00:00.000000Z" },
    });
    const { total } = await team.read("/stats/breakdown?since=2026-03-04T12:00:00Z", bearer(team.alice));
    const { requests, failed, unpriced, cost, units } = total;
    expect(answer.total.now).toEqual({ requests, failed, unpriced_requests: unpriced, cost, units });
  });

  test("is one's own alone at /my/usage/cost-change", async () => {
    const answer = await team.read(`/my/usage/cost-change?${WEEK}`, bearer(team.alice));
    expect(answer.total).toMatchObject({
      before: { requests: 1 },
      now: { requests: 2 },
      difference: 0.000012,
    });
    expect(JSON.stringify(answer)).not.toContain("slow");
  });

  test("refuses a date that is none by the name of its parameter", async () => {
    const refused = await call(team, "GET", "/stats/cost-change?before_since=then", {
      headers: bearer(team.alice),
    });
    await expectError(refused, "400 invalid_date", "before_since");
  });
});

const quantities = fc.record(
  {
    input_tokens: fc.nat(5_000),
    output_tokens: fc.nat(500),
    cached_input_tokens: fc.nat(5_000),
    cache_write_tokens: fc.nat(900),
    audio_seconds: fc.integer({ min: 0, max: 10 ** 8 }).map((micros) => micros / 10 ** 6),
  },
  { requiredKeys: [] },
);
const prices = fc.record(
  {
    input_tokens: fc.nat(9_999_999),
    output_tokens: fc.nat(9_999_999),
    cached_input_tokens: fc.nat(999_999),
    cache_write_tokens: fc.nat(9_999_999),
    audio_seconds: fc.nat(9_999_999),
  },
  { requiredKeys: [] },
);
const event = fc.record({
  hour: fc.nat(47),
  model: fc.constantFrom("fast", "slow", "dear", null),
  shape: fc.constantFrom("inclusive", "exclusive"),
  quantities,
  prices,
});

test("terms of recorded requests add up to the difference, and leave unexplained at most the rounding of fractions", async () => {
  let year = 2000;
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 12 }), async (events) => {
      year += 1;
      await team.record(
        ...events.map(({ hour, model, shape, quantities: used, prices: set }) => {
          const instant = new Date(Date.UTC(year, 5, 1, hour)).toISOString();
          const { costPico, unpriced } = priceUsage({ shape, quantities: used }, set);
          return {
            at: instant,
            by: team.bob,
            model,
            usage: { shape, quantities: used },
            prices: set,
            costPico,
            unpriced,
          };
        }),
      );
      const answer = await read(`since=${year}-06-02&until=${year}-06-03`);
      expect(answer.total.before.requests + answer.total.now.requests).toBe(events.length);
      for (const change of [answer.total, ...answer.models]) expectWhole(change);
      // Half a pico for each request, and for each model and set of prices that is added up.
      const rounding = BigInt(4 * events.length + 4);
      const left = toPico(answer.total.terms.unexplained);
      expect(left <= rounding && left >= -rounding).toBe(true);
    }),
    { numRuns: 15 },
  );
});
