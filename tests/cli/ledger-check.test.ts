import { Database } from "bun:sqlite";
import { expect, test, afterEach, beforeEach } from "bun:test";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";
import { runLocal } from "./terminal.ts";
import type { Clock } from "#kernel/clock.ts";
import { createClockAt, startWorld, type World } from "../limits/world.ts";

test("ledger check works beside a running server and without one, ends with 1 for what does not add up, and changes nothing", async () => {
  const folder = makeFolder();
  const dataDir = join(folder.path, "data");
  const none = await runLocal(dataDir, ["ledger", "check"]);
  expect(none).toMatchObject({ code: 78, data: "" });
  expect(none.messages).toContain("There is no ledger in");

  const app = await startApp({ dataDir });
  await app.api("POST", "/admin/v1/providers", { name: "gone", base_url: "http://127.0.0.1:9/v1" });
  await app.api("POST", "/admin/v1/models", { alias: "fast", provider: "gone", upstream_name: "m" });
  for (let count = 0; count < 3; count += 1) {
    const answer = await app.api("POST", "/v1/chat/completions", { model: "fast", messages: [] });
    expect(answer.status).toBe(502);
  }
  // A report is asked for after what has ended is committed.
  await (await app.api("GET", "/stats/requests")).text();
  const beside = await runLocal(dataDir, ["ledger", "check", "--json"]);
  expect(beside.code).toBe(0);
  expect(JSON.parse(beside.data)).toEqual({
    ok: true,
    events: 3,
    rows_from: null,
    journal: { checked_requests: 3, waiting_requests: 0, waiting_bytes: 0 },
    findings: [],
  });
  await app.stop();

  const database = new Database(join(dataDir, "usage.db"));
  database.run("DELETE FROM event WHERE id = (SELECT min(id) FROM event)");
  database.close();
  const { code, data, messages } = await runLocal(dataDir, ["ledger", "check"]);
  expect(code).toBe(1);
  expect(data).toContain("added up: 2 requests");
  expect(data).toContain("ends that are no event: 1 request missing");
  expect(data).not.toContain("nothing is missing");
  expect(messages).toContain("The ledger does not add up in");
  folder.remove();
}, 30_000);

let folder: ReturnType<typeof makeFolder>;
let world: World;
let clock: Clock;
beforeEach(async () => {
  folder = makeFolder();
  // Noon: no window of a day, a week or a month ends while a test runs.
  clock = createClockAt("2026-03-11T12:00:00Z");
  world = await startWorld({ dataDir: join(folder.path, "data"), clock });
});
afterEach(async () => {
  await world.stop();
  folder.remove();
});

const check = (isAsked: boolean, ...options: readonly string[]) =>
  runLocal(world.app.dataDir, ["limit", "check", ...options], {
    clock,
    env: isAsked ? { LOCKPORT_API_KEY: world.app.adminKey } : {},
  });

async function makeLimits(): Promise<void> {
  for (const draft of [
    { name: "cost", subject: {}, measure: "cost", amount: 5, window: "month" },
    { name: "each", subject: {}, each: "principal", measure: "requests", amount: 9, window: "day" },
    { name: "tag", subject: { tag: "team:search" }, measure: "tokens", amount: 1e6, window: "hour" },
    { name: "minute", subject: { model: "m" }, measure: "requests", amount: 100, window: "minute" },
    { name: "all", subject: {}, measure: "cost", amount: 5, window: "total" },
    { name: "two", subject: {}, measure: "concurrent", amount: 2 },
  ])
    await world.limit(draft);
}

/** Changes the file, on which nothing else waits. */
function change(sql: string): void {
  const database = new Database(join(world.app.dataDir, "usage.db"));
  database.run("PRAGMA busy_timeout = 5000");
  database.run(sql);
  database.close();
}

test("limit check finds the server, the totals and the events to be one, and without a key says whom it has not asked", async () => {
  const none = await runLocal(join(folder.path, "nowhere"), ["limit", "check"]);
  expect(none).toMatchObject({ code: 78, data: "" });

  await makeLimits();
  const ada = await world.person("ada");
  for (const key of [ada.key, ada.key, world.app.adminKey])
    expect((await world.chat({ key, tags: "team:search" })).status).toBe(200);
  const asked = await check(true, "--json");
  expect({ code: asked.code, messages: asked.messages }).toEqual({ code: 0, messages: "" });
  const same = (value: number) => ({ by_events: value, by_totals: value, server: value });
  expect(JSON.parse(asked.data)).toMatchObject({
    ok: true,
    events: 3,
    rows_from: null,
    server: world.app.url,
    limits: [
      { name: "all", ...same(0.3) },
      { name: "cost", ...same(0.3) },
      { name: "each", ...same(3) },
      { name: "minute", ...same(3) },
      { name: "tag", ...same(60) },
    ],
    findings: [],
    notices: [],
  });
  const unasked = await check(false);
  expect(unasked.code).toBe(0);
  expect(unasked.data).toContain("added up: 3 requests\n");
  expect(unasked.data).toMatch(/\ncost +\$0\.30 +\$0\.30 +-\n/);
  expect(unasked.data).toContain("every limit counts what its events add up to\n");
  expect(unasked.messages).toContain("set LOCKPORT_API_KEY");
}, 30_000);

test("limit check holds while requests begin and end beside it", async () => {
  await makeLimits();
  const end = new AbortController();
  const callers = Array.from({ length: 4 }, async () => {
    let count = 0;
    for (; !end.signal.aborted; count += 1) await (await world.chat({ tags: "team:search" })).arrayBuffer();
    return count;
  });
  try {
    for (let round = 0; round < 5; round += 1) {
      const { code, data, messages } = await check(true, "--json");
      const { findings, notices } = JSON.parse(data);
      expect({ code, messages, findings, notices }).toEqual({
        code: 0,
        messages: "",
        findings: [],
        notices: [],
      });
    }
  } finally {
    end.abort();
  }
  expect((await Promise.all(callers)).every((count) => count > 0)).toBe(true);
}, 120_000);

test("limit check ends with 1 for a total that is not its events and for a server that counts something else, and names each", async () => {
  await makeLimits();
  await world.chat({ tags: "team:search" });
  await world.chat();
  // A report is asked for after what has ended is committed.
  await (await world.app.api("GET", "/stats/requests")).text();
  const least = "combination = (SELECT min(combination) FROM open_cell)";
  change(`UPDATE open_cell SET requests = requests + 1 WHERE ${least}`);
  const totals = await check(true);
  expect(totals.code).toBe(1);
  expect(totals.data).toContain("each, admin: events add up to 2, totals have 3\n");
  expect(totals.data).not.toContain("the server has counted");
  expect(totals.data).not.toContain("every limit counts");
  expect(totals.messages).toContain("What is counted is not what was recorded in 1 place");
  change(`UPDATE open_cell SET requests = requests - 1 WHERE ${least}`);

  change("UPDATE event SET cost_hi = cost_hi + 100 WHERE id = (SELECT min(id) FROM event)");
  const events = await check(true);
  expect(events.code).toBe(1);
  expect(events.data).toContain("cost: events add up to $0.30, totals have $0.20\n");
  const unasked = await check(false, "--json");
  expect(JSON.parse(unasked.data).findings).toMatchObject([
    { limit: "all", totals: 0.2, by_events: 0.3 },
    { limit: "cost", totals: 0.2, by_events: 0.3 },
  ]);
  const { findings } = JSON.parse((await check(true, "--json")).data);
  expect(findings).toContainEqual({ limit: "all", server: 0.2, by_events: 0.3 });
  expect(findings).toHaveLength(4);
  change("UPDATE event SET cost_hi = cost_hi - 100 WHERE id = (SELECT min(id) FROM event)");
  expect((await check(true)).code).toBe(0);
}, 30_000);
