import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { until } from "../support/waiting.ts";
import { call, expectError } from "./support.ts";
import { bearer, startTeam, type Team } from "./team.ts";

let team: Team;
/** Held before a step changes costs, until it is fulfilled. */
let held: Promise<void> | null = null;
beforeAll(async () => {
  team = await startTeam((store) => ({
    ...store,
    async applyStep(...asked) {
      await held;
      return store.applyStep(...asked);
    },
    async revertStep(...asked) {
      await held;
      return store.revertStep(...asked);
    },
  }));
  const { alice, bob } = team;
  await team.record(
    { at: "2026-03-01T10:00:00Z", by: alice, tags: ["app:shop"] },
    { at: "2026-03-02T10:00:00Z", by: bob },
    { at: "2026-03-02T11:00:00Z", by: bob, model: "slow" },
    { at: "2026-03-03T10:00:00Z", by: alice, tier: "flex", prices: {}, costPico: null, unpriced: true },
  );
});
afterAll(() => team.stop());

const PATH = "/admin/v1/repricing";
/** Ten tokens in, of which four from a cache, and two out: 6 × 2 + 4 × 1 + 2 × 4 = 24 millionths. */
const FAST = { pricing: { input_tokens: 2, output_tokens: 4, cached_input_tokens: 1 } };
const post = (path: string, body: unknown = {}, headers: Record<string, string> = team.asAdmin) =>
  call(team, "POST", path, { body, headers });
const costOf = async () => {
  const { buckets, series } = await team.read("/stats/series?bucket=month&since=2026-03-01");
  return (buckets ?? series).reduce((sum: number, { cost }: any) => sum + (cost ?? 0), 0);
};

async function create(body: object): Promise<any> {
  const response = await post(PATH, body);
  const text = await response.text();
  if (response.status !== 202) throw new Error(`${response.status} ${text}`);
  const { id } = JSON.parse(text);
  return rested(id);
}

async function rested(id: string): Promise<any> {
  let view: any;
  await until(
    async () => {
      view = await team.read(`${PATH}/${id}`);
      return view.total !== null && !["running", "reverting"].includes(view.state);
    },
    () => JSON.stringify(view),
  );
  return view;
}

test("what is wrong within prices that were sent is told at its place, never as a union", async () => {
  const price = { input_tokens: "1" };
  for (const [prices, param, message] of [
    [{ fast: {} }, "prices.fast.pricing", "prices.fast.pricing is required."],
    [{ fast: { pricing: price, other: 1 } }, undefined, /does not have/],
    [5, "prices", "prices is not valid: expected 'history'."],
    [{ fast: { pricing: 5 } }, "prices.fast.pricing", /^prices\.fast\.pricing is not valid: expected object/],
  ] as const) {
    const response = await post(PATH, { prices, dry_run: true });
    const { error } = await response.json();
    expect([response.status, error.code]).toEqual([400, "invalid_request"]);
    if (param !== undefined) expect(error.param).toBe(param);
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain("union");
  }
});

describe("POST /admin/v1/repricing", () => {
  test("plans, applies and takes back: by model, unit and tier in money and in requests, and no report moves before it is applied", async () => {
    const before = await costOf();
    const prices = {
      fast: { ...FAST, price_variants: [{ when: { tier: "flex" }, pricing: { input_tokens: 1 } }] },
    };
    const plan = await create({ since: "2026-03-01", until: "2026-03-04", prices, dry_run: true });
    expect(plan).toMatchObject({
      state: "planned",
      dry_run: true,
      since: "2026-03-01T00:00:00.000000Z",
      models: ["fast"],
      progress: { done: 3, total: 3 },
      total: {
        requests: 3,
        cost_before: 0.000024,
        cost_after: 0.000054,
        difference: 0.00003,
        unpriced_before: 1,
        unpriced_after: 1,
      },
    });
    const flex = { model: "fast", tier: "flex", requests: 1, cost_before: 0, unpriced_before: 1 };
    expect(plan.changes).toContainEqual({
      ...flex,
      unit: "input_tokens",
      quantity: 6,
      cost_after: 0.000006,
      unpriced_after: 0,
    });
    expect(plan.changes).toContainEqual({
      ...flex,
      unit: "output_tokens",
      quantity: 2,
      cost_after: 0,
      unpriced_after: 1,
    });
    expect(await costOf()).toBe(before);

    const started = await post(`${PATH}/${plan.id}/apply`);
    expect(started.status).toBe(202);
    const applied = await rested(plan.id);
    expect(applied.state).toBe("applied");
    expect([applied.total, applied.changes]).toEqual([plan.total, plan.changes]);
    expect(await costOf()).toBeCloseTo(before + 0.00003, 12);
    const { requests } = await team.read("/stats/requests?tag=app:shop");
    expect(requests[0].cost).toBe(0.000024);
    const { events } = await team.read("/admin/v1/events");
    expect(events[0]).toMatchObject({ action: "repricing.apply", target_ref: plan.id });

    await expectError(await post(`${PATH}/${plan.id}/apply`), "409 repricing_outdated");
    expect((await post(`${PATH}/${plan.id}/revert`)).status).toBe(202);
    expect((await rested(plan.id)).state).toBe("reverted");
    expect(await costOf()).toBe(before);
    const { repricings } = await team.read(PATH);
    expect(repricings[0]).toMatchObject({ id: plan.id, state: "reverted" });
    expect(repricings[0].changes).toBeUndefined();
  });

  test("prices: history gives each request the prices that were in force for its model at its end, dated back ones included, as they were when it was planned; a relayed request of that name keeps its own", async () => {
    const send = async (method: string, path: string, body: object) => {
      const response = await call(team, method, path, { body, headers: team.asAdmin });
      expect(response.status < 300 ? "" : await response.text()).toBe("");
    };
    const MODEL = "/admin/v1/models/dated";
    const setPrice = (input_tokens: number, effective_from: string) =>
      send("PATCH", MODEL, { pricing: { input_tokens }, effective_from });
    await send("POST", "/admin/v1/models", { alias: "dated", provider: "up", upstream_name: "dated-1" });
    await setPrice(1, "2026-02-02T00:00:00Z");
    await setPrice(3, "2026-02-03T00:00:00Z");
    const usage = { shape: "inclusive", quantities: { input_tokens: 10 } } as const;
    const used = { by: team.alice, model: "dated", usage };
    await team.record(
      { ...used, at: "2026-02-01T10:00:00Z" },
      { ...used, at: "2026-02-02T10:00:00Z" },
      // It ends on the next day.
      { ...used, at: "2026-02-02T23:59:59Z", durationUs: 2_000_000 },
      { ...used, at: "2026-02-03T10:00:00Z" },
      { ...used, at: "2026-02-03T11:00:00Z", provider: RELAY_PROVIDER },
    );
    const window = "since=2026-02-01&until=2026-02-05&model=dated";
    const costs = async () => {
      const { requests } = await team.read(`/stats/requests?${window}`);
      return requests.map(({ cost }: any) => Math.round(cost * 1e6)).toReversed();
    };
    const before = await costs();
    const plan = await create({
      since: "2026-02-01",
      until: "2026-02-05",
      filters: { model: "dated" },
      prices: "history",
      dry_run: true,
    });
    expect(plan).toMatchObject({ state: "planned", prices: "history", models: ["dated"] });
    expect(plan.total.requests).toBe(3);
    expect(await costs()).toEqual(before);
    // A plan keeps the history that it was made with.
    await setPrice(100, "2026-02-01T00:00:00Z");
    await post(`${PATH}/${plan.id}/apply`);
    const applied = await rested(plan.id);
    expect([applied.total, applied.changes]).toEqual([plan.total, plan.changes]);
    expect(await costs()).toEqual([before[0], 10, 30, 30, before[4]]);
    await post(`${PATH}/${plan.id}/revert`);
    await rested(plan.id);
    expect(await costs()).toEqual(before);
  });

  test("takes the filters of /stats, and applies by itself without a dry run", async () => {
    const before = await costOf();
    const done = await create({
      since: "2026-03-01",
      filters: { principal: "bob" },
      prices: { fast: FAST },
      dry_run: false,
    });
    expect(done).toMatchObject({ state: "applied", total: { requests: 1 } });
    expect(await costOf()).toBeCloseTo(before + 0.000012, 12);
    await post(`${PATH}/${done.id}/revert`);
    await rested(done.id);
    expect(await costOf()).toBe(before);
  });

  test("is refused for prices and filters that are none, for a second one, and to a member", async () => {
    const body = { prices: { fast: FAST }, dry_run: true };
    await expectError(await post(PATH, { ...body, since: "x" }), "400 invalid_date");
    await expectError(await post(PATH, { ...body, filters: { none: "x" } }), "400 invalid_request");
    await expectError(await post(PATH, { ...body, filters: { outcome: "x" } }), "400 invalid_outcome");
    const wrong = { fast: { pricing: { words: 1 } } };
    await expectError(await post(PATH, { ...body, prices: wrong }), "400 invalid_pricing");
    await expectError(await post(PATH, { ...body, prices: "today" }), "400 invalid_request");
    const empty = { fast: { ...FAST, price_variants: [{ when: {}, pricing: FAST.pricing }] } };
    await expectError(await post(PATH, { ...body, prices: empty }), "400 invalid_price_variants");
    await expectError(await post(PATH, body, bearer(team.bob)), "403 admin_required");
    await expectError(await post(`${PATH}/none/apply`), "404 repricing_not_found");
    await expectError(await post(`${PATH}/none/revert`), "404 repricing_not_found");
    const both = await Promise.all([post(PATH, body), post(PATH, body)]);
    const [made, refused] = both.toSorted((one, other) => one.status - other.status);
    expect(made?.status).toBe(202);
    if (refused !== undefined) await expectError(refused, "409 repricing_running");
  });
});

test("reports say x-proxy-repricing while costs change, and neither before nor after; a second one is refused meanwhile", async () => {
  const REPORTS = [
    "/stats/series?bucket=month",
    "/stats/summary",
    "/stats/requests",
    "/stats/breakdown?by=model",
  ];
  const told = () =>
    Promise.all(REPORTS.map(async (path) => (await team.get(path)).headers.get("x-proxy-repricing")));
  const all = (id: string | null) => REPORTS.map(() => id);
  await team.deps.repricings.rested();
  const plan = await create({ since: "2026-03-01", prices: { fast: FAST }, dry_run: true });
  expect(await told()).toEqual(all(null));
  for (const change of ["apply", "revert"] as const) {
    const release = Promise.withResolvers<void>();
    held = release.promise;
    expect((await post(`${PATH}/${plan.id}/${change}`)).status).toBe(202);
    expect(await told()).toEqual(all(plan.id));
    await expectError(await post(PATH, { prices: { fast: FAST }, dry_run: true }), "409 repricing_running");
    // Answers that no cost stands in do not say it.
    expect((await team.get("/admin/v1/models")).headers.get("x-proxy-repricing")).toBeNull();
    release.resolve();
    expect((await rested(plan.id)).state).toBe(change === "apply" ? "applied" : "reverted");
    await team.deps.repricings.rested();
    expect(await told()).toEqual(all(null));
  }
});

test("what is recorded behind a plan and ended before it is told beside its figures, and is taken back with them", async () => {
  await team.record({ at: "2026-04-01T10:00:00Z", by: team.alice });
  const window = { since: "2026-04-01", until: "2026-04-02" };
  const costOfDay = async () =>
    (await team.read("/stats/breakdown?since=2026-04-01&until=2026-04-02")).total.cost;
  const plan = await create({ ...window, prices: { fast: FAST }, dry_run: true });
  expect(plan.total.requests).toBe(1);
  expect(plan.beyond_plan).toBeUndefined();
  const late = { at: "2026-04-01T11:00:00Z", by: team.bob };
  await team.record(late, late);
  const before = await costOfDay();
  await post(`${PATH}/${plan.id}/apply`);
  const applied = await rested(plan.id);
  expect(applied.total).toEqual(plan.total);
  const { requests, difference, unpriced } = applied.beyond_plan;
  expect({ requests, unpriced }).toEqual({ requests: 2, unpriced: 0 });
  expect(difference).toBeCloseTo(2 * plan.total.difference, 12);
  expect(await costOfDay()).toBeCloseTo(before + 3 * plan.total.difference, 12);
  await post(`${PATH}/${plan.id}/revert`);
  const reverted = await rested(plan.id);
  expect(reverted.state).toBe("reverted");
  expect(reverted.rows_gone).toBeUndefined();
  expect(await costOfDay()).toBe(before);
});

test("applying and taking back refuse a field that they do not have, and change nothing", async () => {
  await team.record({ at: "2026-05-01T10:00:00Z", by: team.alice });
  const plan = await create({
    since: "2026-05-01",
    until: "2026-05-02",
    prices: { fast: FAST },
    dry_run: true,
  });
  const before = await team.read("/stats/breakdown?since=2026-05-01&until=2026-05-02");
  for (const change of ["apply", "revert"]) {
    const refused = await post(`${PATH}/${plan.id}/${change}`, { dry_run: true });
    await expectError(refused, "400 invalid_request", "dry_run");
  }
  expect((await rested(plan.id)).state).toBe("planned");
  expect(await team.read("/stats/breakdown?since=2026-05-01&until=2026-05-02")).toEqual(before);
});

test("a request that uses nothing by its nature is none of those that a plan would change", async () => {
  const { alice } = team;
  const nothing = { usage: { shape: "exclusive", quantities: {} }, costPico: null } as const;
  await team.record(
    { at: "2026-06-01T10:00:00Z", by: alice },
    { at: "2026-06-01T11:00:00Z", by: alice, endpoint: "moderation", ...nothing },
    { at: "2026-06-01T12:00:00Z", by: alice, endpoint: "responses/retrieve", ...nothing },
    { at: "2026-06-01T13:00:00Z", by: alice, endpoint: "messages/count_tokens", ...nothing },
  );
  const window = { since: "2026-06-01", until: "2026-06-02" };
  const plan = await create({ ...window, prices: { fast: FAST }, dry_run: true });
  expect(plan.total).toMatchObject({ requests: 1, cost_before: 0.000012, cost_after: 0.000024 });
});
