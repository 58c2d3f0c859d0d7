import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { useFolder } from "../support/folder.ts";
import { provide } from "../support/installation.ts";
import { chat, startBothWays, type BothWays } from "./both-ways.ts";

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

test("a file that is no JSON is refused before anything is asked", async () => {
  const path = join(folder.path, "broken.json");
  await Bun.write(path, "{");
  const refused = await both.ways[1]?.run(["reprice", "plan", "--prices", path]);
  expect(refused?.code).not.toBe(0);
  expect(refused?.messages).toContain("is no JSON");
});
