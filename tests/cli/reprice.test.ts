import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Config, parseConfig } from "#boot/settings/config.ts";
import { createClockAt } from "../limits/world.ts";
import { startApp } from "../support/app.ts";
import { EXIT } from "#cli/screen/failure.ts";
import { isOnPostgres } from "../support/engine.ts";
import { useFolder } from "../support/folder.ts";
import { provide } from "../support/installation.ts";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { until } from "../support/waiting.ts";
import { chat, startBothWays, type BothWays } from "./both-ways.ts";
import { runLocal } from "./terminal.ts";

const folder = useFolder();
let both: BothWays;
beforeAll(async () => {
  both = await startBothWays();
  const { app, upstream } = both;
  await provide(app.url, app.adminKey, {
    name: "lab",
    baseUrl: upstream.baseUrl,
    models: { fast: "fast-2026" },
    pricing: { input_tokens: 1, output_tokens: 5 },
  });
  for (let count = 0; count < 3; count += 1) await chat(app, "fast");
});
afterAll(() => both.stop());

async function costNow(): Promise<number> {
  const response = await both.app.api("GET", "/stats/breakdown?by=model&since=2026-03-01");
  const breakdown: any = await response.json();
  return breakdown.rows[0].cost;
}

test("reprice plans what late prices would change, applies it, takes it back and lists it; no command but apply and revert changes a cost", async () => {
  const remote = both.ways[1];
  if (remote === undefined) throw new Error("there is no way through the server");
  const path = join(folder.path, "prices.json");
  await Bun.write(path, JSON.stringify({ fast: { pricing: { input_tokens: 2, output_tokens: 5 } } }));
  // Three requests of 1,000 tokens in and 200 out.
  expect(await costNow()).toBe(0.006);

  const plan = await remote.run(["reprice", "plan", "--prices", path, "--since", "2026-03-01", "--json"]);
  expect(plan.code).toBe(0);
  const { id, state, total } = JSON.parse(plan.data);
  expect({ state, total }).toMatchObject({
    state: "planned",
    total: { requests: 3, cost_before: 0.006, cost_after: 0.009, difference: 0.003 },
  });
  expect(await costNow()).toBe(0.006);

  const applied = await remote.run(["reprice", "apply", id]);
  expect(applied.messages).toContain(`applied; lockport reprice revert ${id} takes it back`);
  expect(await costNow()).toBe(0.009);
  const list = await remote.run(["reprice", "list", "--json"]);
  expect(JSON.parse(list.data).repricings).toMatchObject([{ id, state: "applied" }]);

  expect((await remote.run(["reprice", "revert", id])).messages).toContain("reverted");
  expect(await costNow()).toBe(0.006);
  expect((await remote.run(["reprice", "show", id])).messages).toContain("reverted");

  const again = await remote.run(["reprice", "apply", id]);
  expect(again.code).not.toBe(0);
  expect(again.messages).toContain("repricing_outdated");
  expect(await costNow()).toBe(0.006);
});

test.skipIf(isOnPostgres)(
  "reprice apply of what cannot be written ends with failure, says so once, and no cost has changed",
  async () => {
    const remote = both.ways[1];
    if (remote === undefined) throw new Error("there is no way through the server");
    const path = join(folder.path, "dear.json");
    await Bun.write(path, JSON.stringify({ fast: { pricing: { input_tokens: 3, output_tokens: 5 } } }));
    const before = await costNow();
    const plan = await remote.run(["reprice", "plan", "--prices", path, "--since", "2026-03-01", "--json"]);
    const { id } = JSON.parse(plan.data);
    using database = new Database(join(both.app.dataDir, "usage.db"));
    database.run("CREATE TRIGGER broken BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'broken'); END");
    const failed = await remote.run(["reprice", "apply", id]);
    database.run("DROP TRIGGER broken");
    expect(failed.code).toBe(EXIT.failure);
    expect(failed.messages).toContain(`failed: lockport reprice apply ${id}`);
    expect(failed.messages.split("taken back")).toHaveLength(2);
    expect(await costNow()).toBe(before);
    expect((await remote.run(["reprice", "show", id])).code).toBe(0);
    expect((await remote.run(["reprice", "apply", id])).code).toBe(0);
    expect((await remote.run(["reprice", "revert", id])).code).toBe(0);
    expect(await costNow()).toBe(before);
  },
);

test("reprice plan --prices history reads no file and plans at the prices that were in force", async () => {
  const remote = both.ways[1];
  const plan = await remote?.run([
    "reprice",
    "plan",
    "--prices",
    "history",
    "--since",
    "2026-03-01",
    "--json",
  ]);
  expect(plan?.code).toBe(0);
  // All three were billed at them already.
  expect(JSON.parse(plan?.data ?? "")).toMatchObject({
    state: "planned",
    prices: "history",
    total: { requests: 0, difference: 0 },
  });
});

test("a file that is no JSON is refused before anything is asked", async () => {
  const path = join(folder.path, "broken.json");
  await Bun.write(path, "{");
  const refused = await both.ways[1]?.run(["reprice", "plan", "--prices", path]);
  expect(refused?.code).not.toBe(0);
  expect(refused?.messages).toContain("is no JSON");
});

test("a limit counts the new cost once it is applied and the former one once it is taken back, and limit check agrees", async () => {
  const { app, ways } = both;
  const remote = ways[1];
  const made = await app.api("POST", "/admin/v1/limits", {
    name: "cost",
    subject: {},
    measure: "cost",
    amount: 5,
    window: "total",
  });
  expect(made.status).toBe(201);
  const used = async () => {
    const response = await app.api("GET", "/admin/v1/limits");
    const { limits }: any = await response.json();
    return limits[0].used;
  };
  expect(await used()).toBe(0.006);
  const path = join(folder.path, "prices.json");
  await Bun.write(path, JSON.stringify({ fast: { pricing: { input_tokens: 4, output_tokens: 5 } } }));
  const plan = await remote?.run(["reprice", "plan", "--prices", path, "--since", "2026-03-01", "--json"]);
  const { id } = JSON.parse(plan?.data ?? "");
  expect(await used()).toBe(0.006);
  for (const [change, cost] of [
    ["apply", 0.015],
    ["revert", 0.006],
  ] as const) {
    expect((await remote?.run(["reprice", change, id]))?.code).toBe(0);
    await until(
      async () => (await used()) === cost,
      () => `the limit counts ${cost} after ${change}`,
    );
    const env = { LOCKPORT_API_KEY: app.adminKey };
    const checked = await ways[0]?.run(["limit", "check", "--json"], { env });
    expect(checked?.code).toBe(0);
    expect(JSON.parse(checked?.data ?? "")).toMatchObject({
      ok: true,
      limits: [{ name: "cost", by_events: cost, by_totals: cost, server: cost }],
      findings: [],
    });
  }
});

test.skipIf(isOnPostgres)(
  "what was applied is taken back after its folder was restored from a backup, and after that was moved to PostgreSQL",
  async () => {
    const { app, ways } = both;
    const clock = createClockAt("2026-03-11T13:00:00Z");
    const path = join(folder.path, "prices.json");
    await Bun.write(path, JSON.stringify({ fast: { pricing: { input_tokens: 3, output_tokens: 5 } } }));
    const plan = await ways[1]?.run(["reprice", "plan", "--prices", path, "--since", "2026-03-01", "--json"]);
    const { id } = JSON.parse(plan?.data ?? "");
    expect((await ways[1]?.run(["reprice", "apply", id]))?.code).toBe(0);
    expect(await costNow()).toBe(0.012);

    const file = join(folder.path, "backup.tar.zst");
    const restored = join(folder.path, "restored");
    const done = async (dataDir: string, words: readonly string[], env = {}) => {
      const { code, messages } = await runLocal(dataDir, words, { env, clock });
      expect({ words, code, messages: code === 0 ? "" : messages }).toEqual({ words, code: 0, messages: "" });
    };
    await done(app.dataDir, ["backup", file, "--with-secret-key"]);
    await done(restored, ["restore", file]);
    const revertOn = async (dataDir: string, database: Partial<Config> = {}) => {
      const other = await startApp({ dataDir, ...database }, { clock });
      try {
        const read = async (at: string): Promise<any> => (await other.api("GET", at)).json();
        const cost = async () => (await read("/stats/breakdown?by=model&since=2026-03-01")).rows[0].cost;
        expect(await cost()).toBe(0.012);
        expect((await other.api("POST", `/admin/v1/repricing/${id}/revert`)).status).toBe(202);
        await until(
          async () => (await read(`/admin/v1/repricing/${id}`)).state === "reverted",
          () => "it is taken back",
        );
        expect(await cost()).toBe(0.006);
        const { requests } = await read("/stats/requests");
        expect(requests.map((row: { readonly cost: number }) => row.cost)).toEqual([0.002, 0.002, 0.002]);
      } finally {
        await other.stop();
      }
    };
    if (postgresMissing === null) {
      const server = await sharedPostgres();
      await using schema = server.schema();
      const moved = join(folder.path, "moved");
      const env = {
        PROXY_DATABASE_URL: schema.url,
        PROXY_DATABASE_SCHEMA: schema.schema,
        PROXY_SECRET_KEY: readFileSync(join(restored, "secret.key"), "utf8").trim(),
      };
      await done(moved, ["migrate", "--from", restored], env);
      const { database, secretKey } = parseConfig({ PROXY_DATA_DIR: moved, ...env });
      await revertOn(moved, { database, secretKey });
    }
    // The folder that was moved is left as it was.
    await revertOn(restored);
    expect(await costNow()).toBe(0.012);
    expect((await ways[1]?.run(["reprice", "revert", id]))?.code).toBe(0);
    expect(await costNow()).toBe(0.006);
  },
  60_000,
);
