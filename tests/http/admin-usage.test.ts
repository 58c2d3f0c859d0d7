import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createCaller } from "./support.ts";
import { CANCELLED, LIMITED, startTeam, type Team } from "./team.ts";

let team: Team;

beforeEach(async () => {
  team = await startTeam();
  const { alice, bob } = team;
  await team.record(
    { at: "2026-03-08T10:00:00Z", by: alice },
    { at: "2026-03-09T10:00:00Z", by: alice, provider: "other", client: "curl", tags: ["app:shop"] },
    { at: "2026-03-09T11:00:00Z", by: bob, ...CANCELLED },
    { at: "2026-03-10T10:00:00Z", by: bob, ...LIMITED },
    { at: "2026-03-10T11:00:00Z", by: bob, model: "free", prices: {}, costPico: null, unpriced: true },
  );
});
afterEach(() => team.stop());

const units = { input_tokens: 6, output_tokens: 2, cached_input_tokens: 4 };
const row = {
  principal: "bob",
  model: "fast",
  endpoint: "chat",
  requests: 1,
  cancelled: 1,
  cost: 0.000012,
  units,
};
const aliceRow = {
  ...row,
  principal: "alice",
  requests: 2,
  cancelled: 0,
  cost: 0.000024,
  units: { input_tokens: 12, output_tokens: 4, cached_input_tokens: 8 },
};
const freeRow = { ...row, model: "free", cancelled: 0, cost: null };

describe("GET /admin/v1/usage/summary", () => {
  test("groups by principal, model and endpoint, whatever the provider, client and tags, sorted in that order", async () => {
    expect(await team.read("/admin/v1/usage/summary")).toEqual({ usage: [aliceRow, row, freeRow] });
  });

  test("can be asked for one principal by name and for a window; an empty name is no filter", async () => {
    expect(await team.read("/admin/v1/usage/summary?principal=alice")).toEqual({ usage: [aliceRow] });
    expect(await team.read("/admin/v1/usage/summary?principal=alic")).toEqual({ usage: [] });
    expect(await team.read("/admin/v1/usage/summary?principal=&since=2026-03-10")).toEqual({
      usage: [freeRow],
    });
  });

  test("takes the filters of /stats, and ignores a bucket", async () => {
    expect(await team.read("/admin/v1/usage/summary?model=free&bucket=minute")).toEqual({ usage: [freeRow] });
  });

  test("keeps a deleted principal under its name", async () => {
    const dave = await createCaller(team, "dave");
    await team.record({ at: "2026-02-01T10:00:00Z", by: dave });
    await team.deps.principals.delete(dave.principal.id, null);
    const { usage } = await team.read("/admin/v1/usage/summary?principal=dave");
    expect(usage).toMatchObject([{ principal: "dave", requests: 1 }]);
  });

  test("comes as CSV", async () => {
    const response = await team.get("/admin/v1/usage/summary?since=2026-03-10", {
      ...team.asAdmin,
      accept: "text/csv",
    });
    expect(response.headers.get("content-disposition")).toBe('attachment; filename="usage-by-principal.csv"');
    expect((await response.text()).split("\r\n")).toEqual([
      "principal,model,endpoint,requests,cancelled,cost,input_tokens,output_tokens,cached_input_tokens,audio_seconds",
      "bob,free,chat,1,0,,6,2,4,",
      "",
    ]);
  });
});

describe("GET /admin/v1/usage/series", () => {
  test("counts everyone, or one principal by name", async () => {
    const read = async (query: string) =>
      (await team.read(`/admin/v1/usage/series?since=2026-03-08&${query}`)).series.map(
        ({ requests, failed, unpriced_requests }: any) => [requests, failed, unpriced_requests],
      );
    expect(await read("")).toEqual([
      [1, 0, 0],
      [2, 0, 0],
      [2, 1, 1],
      [0, 0, 0],
    ]);
    expect(await read("principal=alice&outcome=ok")).toEqual([
      [1, 0, 0],
      [1, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ]);
  });
});

describe("GET /admin/v1/usage/missing-prices", () => {
  const free = {
    model: "free",
    kind: "gone",
    requests: 1,
    last_seen: "2026-03-10T11:00:00.000000Z",
    has_price: false,
  };

  test("tells each unit of each name that had no price, and not what was priced or failed without usage", async () => {
    expect(await team.read("/admin/v1/usage/missing-prices")).toEqual({
      missing: [
        { ...free, unit: "input_tokens", quantity: 6 },
        { ...free, unit: "output_tokens", quantity: 2 },
        { ...free, unit: "cached_input_tokens", quantity: 4 },
      ],
    });
    expect(await team.read("/admin/v1/usage/missing-prices?until=2026-03-10")).toEqual({ missing: [] });
  });

  test("says of a unit that has got a price since that the next request is priced, and keeps what was not", async () => {
    const entries = [{ model: "free", unit: "output_tokens", price_per_million: 0 }];
    await team.deps.catalog.loadFeed({ version: "1", entries }, null);
    const { missing } = await team.read("/admin/v1/usage/missing-prices");
    expect(missing.map(({ unit, quantity, has_price: has }: any) => [unit, quantity, has])).toEqual([
      ["input_tokens", 6, false],
      ["output_tokens", 2, true],
      ["cached_input_tokens", 4, false],
    ]);
  });
});
