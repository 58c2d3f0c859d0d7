import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { until } from "../support/waiting.ts";
import { call, expectError } from "./support.ts";
import { bearer, CANCELLED, startTeam, type Team, type Used } from "./team.ts";

const USED = (team: Team): readonly Used[] => [
  { at: "2026-03-01T00:00:00Z", by: team.alice, tags: ["app:shop", "team:a"] },
  { at: "2026-03-02T10:00:00Z", by: team.bob, tags: ["team:a"] },
  { at: "2026-03-02T11:00:00Z", by: team.bob, prices: {}, costPico: null, unpriced: true },
  { at: "2026-03-03T10:00:00Z", by: team.bob, ...CANCELLED, usage: null, costPico: null },
];

let team: Team;
beforeAll(async () => {
  team = await startTeam();
  await team.record(...USED(team), { at: "2026-04-01T00:00:00Z", by: team.bob });
});
afterAll(() => team.stop());

/** One that is made, applied or taken back, once it rests. */
async function reprice(path: string, body: object = {}): Promise<any> {
  const begun = await call(team, "POST", `/admin/v1/repricing${path}`, { body });
  const { id } = await begun.json();
  let view: any;
  await until(
    async () => {
      view = await team.read(`/admin/v1/repricing/${id}`);
      return view.total !== null && !["running", "reverting"].includes(view.state);
    },
    () => JSON.stringify(view),
  );
  return view;
}

describe("GET /stats/statement", () => {
  test("has the month by person, key and tag, what is unpriced and unknown beside its cost", async () => {
    const { month, hash, total, rows } = await team.read("/stats/statement?month=2026-03");
    expect(month).toBe("2026-03");
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(total).toEqual({ requests: 4, unpriced_requests: 1, unmetered_requests: 1, cost: 0.000024 });
    const bob = { requests: 3, unpriced_requests: 1, unmetered_requests: 1, cost: 0.000012 };
    const alice = { requests: 1, unpriced_requests: 0, unmetered_requests: 0, cost: 0.000012 };
    expect(rows).toContainEqual({ by: "principal", value: "alice", ...alice });
    expect(rows).toContainEqual({ by: "principal", value: "bob", ...bob });
    expect(rows).toContainEqual(expect.objectContaining({ by: "key", value: team.bob.keyId, ...bob }));
    expect(rows).toContainEqual({ by: "tag", value: "app:shop", ...alice });
    expect(rows).toContainEqual({ by: "tag", value: "team:a", ...alice, requests: 2, cost: 0.000024 });
    expect(rows).toHaveLength(6);
  });

  test("comes as CSV with exact costs, and the hash beside its total", async () => {
    const response = await team.get("/stats/statement?month=2026-03", {
      ...team.asAdmin,
      accept: "text/csv",
    });
    expect(response.headers.get("content-disposition")).toContain("statement-2026-03.csv");
    const { hash } = await team.read("/stats/statement?month=2026-03");
    const lines = (await response.text()).trimEnd().split("\r\n");
    expect(lines).toContain("2026-03,principal,alice,,1,0,0,0.000012,");
    expect(lines.at(-1)).toBe(`2026-03,total,,,4,1,1,0.000024,${hash}`);
  });

  test("has one hash for one month in whatever order it ended, and another one after a request more or another cost", async () => {
    const hashOf = async () => (await team.read("/stats/statement?month=2026-02")).hash;
    const used = (at: string, costPico: bigint): Used => ({ at, by: team.alice, costPico });
    const empty = await hashOf();
    await team.record(used("2026-02-02T10:00:00Z", 5n), used("2026-02-02T09:00:00Z", 7n));
    const first = await hashOf();
    expect(first).not.toBe(empty);
    expect(await hashOf()).toBe(first);
    await team.record(used("2026-02-03T10:00:00Z", 7n));
    expect(await hashOf()).not.toBe(first);
    const { hash } = await team.read("/stats/statement?month=2026-03");
    expect(await hashOf()).not.toBe(hash);
  });

  test("has the hash that the documentation defines, on every engine", async () => {
    const { providers } = await team.deps.catalog.snapshot();
    const providerId = providers.find(({ name }) => name === "up")?.id;
    const toLine = (day: number, { principal, keyId }: Used["by"], tags: string[], sums: unknown[]) =>
      JSON.stringify([
        Date.UTC(2026, 2, day) / 86_400_000,
        principal.id,
        keyId,
        providerId,
        "fast",
        "fast-2026",
        "chat",
        JSON.stringify(tags),
        null,
        null,
      ]) + `${JSON.stringify(sums)}\n`;
    const units = [6, 2, 4, null, null, null, null, null];
    const lines = [
      toLine(1, team.alice, ["app:shop", "team:a"], [1, 0, 0, "12000000", ...units]),
      toLine(2, team.bob, ["team:a"], [1, 0, 0, "12000000", ...units]),
      toLine(2, team.bob, [], [1, 1, 0, null, ...units]),
      toLine(3, team.bob, [], [1, 0, 1, null, ...units.map(() => null)]),
    ];
    const { hash } = await team.read("/stats/statement?month=2026-03");
    expect(hash).toBe(new Bun.CryptoHasher("sha256").update(lines.sort().join("")).digest("hex"));
  });

  test("says when costs of the month were priced again, and taken back, and of other months nothing", async () => {
    const january = "/stats/statement?month=2026-01";
    await team.record({ at: "2026-01-31T23:00:00Z", by: team.alice });
    const before = await team.read(january);
    expect(before.repricings).toEqual([]);
    const plan = await reprice("", {
      since: "2026-01-15",
      until: "2026-02-01",
      prices: { fast: { pricing: { input_tokens: 2, output_tokens: 4, cached_input_tokens: 1 } } },
      dry_run: true,
    });
    expect((await team.read(january)).repricings).toEqual([]);

    await reprice(`/${plan.id}/apply`);
    const applied = await team.read(january);
    expect(applied.repricings).toEqual([{ state: "applied", changed_at: expect.stringMatching(/Z$/) }]);
    expect(applied.total).toEqual({ ...before.total, cost: 0.000024 });
    expect(applied.hash).not.toBe(before.hash);
    expect((await team.read("/stats/statement?month=2026-02")).repricings).toEqual([]);
    expect((await team.read("/stats/statement?month=2025-12")).repricings).toEqual([]);

    await reprice(`/${plan.id}/revert`);
    const reverted = await team.read(january, bearer(team.alice));
    expect(reverted.repricings).toMatchObject([{ state: "reverted" }]);
    expect(JSON.stringify(reverted)).not.toContain(plan.id);
    expect((await team.read(january)).hash).toBe(before.hash);
  });

  test("shows a member its own month, and nothing of others", async () => {
    const { total, rows } = await team.read("/stats/statement?month=2026-03", bearer(team.alice));
    expect(total.requests).toBe(1);
    expect(JSON.stringify(rows)).not.toContain("bob");
  });

  test("refuses what is no month", async () => {
    await expectError(await team.get("/stats/statement?month=march"), "400 invalid_date");
  });
});
