import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import Papa from "papaparse";
import { listRouteCommands } from "#cli/commands/route-commands.ts";
import { groupByTag } from "#cli/commands/usage.ts";
import { RELAY_SENTINEL } from "#cli/input/report.ts";
import { writeRows } from "#cli/routes/answer.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import type { Route } from "#http/door/route.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { makeEmptyInstallation } from "../support/empty-installation.ts";
import { isOnPostgres } from "../support/engine.ts";
import { makeFolder } from "../support/folder.ts";
import { until } from "../support/waiting.ts";
import { chat, startBothWays, type BothWays } from "./both-ways.ts";
import { runLocal } from "./terminal.ts";

/** All tests but those that change it ask for the same usage. */
let installation: BothWays;
beforeAll(async () => {
  installation = await startUsed();
});
afterAll(() => installation.stop());

/** Runs a test on an installation of its own. */
async function onItsOwn(step: () => Promise<void>): Promise<void> {
  const shared = installation;
  installation = await startUsed();
  try {
    await step();
  } finally {
    await installation.stop();
    installation = shared;
  }
}

async function startUsed(): Promise<BothWays> {
  const used = await startBothWays();
  const { app, ways, upstream } = used;
  const run = async (line: string) => expect(await ways[0]!.run(line)).toMatchObject({ code: 0 });
  await run(`provider add up --base-url ${upstream.baseUrl} --no-api-key`);
  await run(
    "model add priced --provider up --upstream-name a --price input_tokens=2 --price output_tokens=10",
  );
  await run("model add half --provider up --upstream-name b --price input_tokens=0.1");
  await run("model add free --provider up --upstream-name c");
  await run("principal create ada");
  const key = (await ways[0]!.run("key create --principal ada")).data.trim();
  for (const [model, who, tags] of [
    ["priced", app.adminKey, "team:search,app:wiki"],
    ["priced", key, "team:search"],
    ["half", key, "app:wiki"],
    ["free", key, ""],
  ] as const) {
    expect(await chat(app, model, { key: who, tags })).toBe(200);
  }
  expect(await chat(app, "priced", { content: "refuse" })).toBe(429);
  // A local report leaves out, and says so, what is in the journal only.
  await untilApplied(app.url);
  return used;
}

function untilApplied(url: string): Promise<void> {
  return until(
    async () => /^proxy_journal_uncommitted_bytes 0$/m.test(await (await fetch(`${url}/metrics`)).text()),
    () => "the journal is in the database",
  );
}

const eachWay = (line: string) => Promise.all(installation.ways.map((way) => way.run(line)));
async function eachJson(line: string): Promise<any> {
  const [local, remote] = await eachWay(`${line} --json`);
  expect(local).toMatchObject({ code: 0, messages: "" });
  const [first, second] = [JSON.parse(local!.data), JSON.parse(remote!.data)];
  // A window told as "ago" was asked for at two moments.
  expect({ ...second, since: null, until: null }).toEqual({ ...first, since: null, until: null });
  return first;
}

describe("usage", () => {
  test("sums up by model what was answered, the dearest first, with exact costs and what has no price apart", async () => {
    const report = await eachJson("usage");
    expect(report.by).toBe("model");
    expect(report.usage).toEqual([
      {
        model: "priced",
        requests: 2,
        cancelled: 0,
        cost: 0.008,
        units: { input_tokens: 2000, output_tokens: 400 },
      },
      {
        model: "half",
        requests: 1,
        cancelled: 0,
        cost: 0.0001,
        units: { input_tokens: 1000, output_tokens: 200 },
      },
      {
        model: "free",
        requests: 1,
        cancelled: 0,
        cost: null,
        units: { input_tokens: 1000, output_tokens: 200 },
      },
    ]);
    expect(report.total).toEqual({
      requests: 4,
      cancelled: 0,
      cost: 0.0081,
      units: { input_tokens: 4000, output_tokens: 800 },
      unpriced_requests: 2,
    });
  });

  test("by principal, provider, tag, app and client; a request counts under each of its tags, and one without is untagged", async () => {
    const names = async (by: string, field = by) =>
      (await eachJson(`usage --by ${by}`)).usage.map((row: any) => [row[field], row.requests]);
    expect(await names("principal")).toEqual([
      ["ada", 3],
      ["admin", 1],
    ]);
    expect(await names("person", "principal")).toEqual(await names("principal"));
    expect(await names("provider")).toEqual([["up", 4]]);
    expect(await names("tag")).toEqual([
      ["team:search", 2],
      ["app:wiki", 2],
      [null, 1],
    ]);
    expect(await names("app")).toEqual([
      ["wiki", 2],
      ["untagged", 2],
    ]);
    expect(await names("client")).toEqual([["tests/1", 4]]);
  });

  test(
    "by key and by day it is the same usage: what failed is left out, and keys are told by their ends",
    () =>
      onItsOwn(async () => {
        const { usage: keys, total } = await eachJson("usage --by key");
        const byModel = (await eachJson("usage")).total;
        expect(total).toEqual(byModel);
        const listed = JSON.parse((await installation.ways[0]!.run("key list --json")).data);
        const idOf = (name: string) => listed.find(({ principal }: any) => principal === name).id;
        // The one of ada costs less, and has more requests.
        expect(keys.map((row: any) => [row.key, row.requests, row.cost])).toEqual(
          [
            [listed.find(({ label }: any) => label === "tests").id, 1, 0.004],
            [idOf("ada"), 3, 0.0041],
          ].toSorted((left: any, right: any) => right[2] - left[2]),
        );
        for (const { data } of await eachWay("usage --by key")) {
          expect(data).toMatch(/^KEY +REQUESTS /);
          expect(data).toMatch(/\n…\w{4} ada +3 +0 /);
          expect(data).toMatch(/\n…\w{4} admin tests +1 +0 /);
        }
        const { usage: days, since } = await eachJson("usage --by day");
        expect(since).toMatch(/T00:00:00\.000000Z$/);
        expect(days.map((row: any) => row.requests).reduce((sum: number, count: number) => sum + count)).toBe(
          4,
        );
        // Days without any are left out.
        expect(days).toHaveLength(1);
        for (const { day } of days) expect(day).toMatch(/^\d{4}-\d\d-\d\d$/);
        expect((await eachJson("usage --by day --model priced --principal ada")).total).toMatchObject({
          requests: 1,
          cost: 0.004,
        });
        expect((await eachJson("usage --by key --until 1h")).usage).toEqual([]);
        // A key that reads reports and not keys: it sees ids.
        const key = (await installation.ways[0]!.run("key create --principal ada")).data.trim();
        const seen = await installation.ways[1]!.run("usage --by key", { env: { LOCKPORT_API_KEY: key } });
        expect(seen).toMatchObject({ code: 0, data: expect.stringContaining(idOf("ada")) });
      }),
    30_000,
  );

  test("without any tells of a filter whose name nothing has, and what was probably meant; one that is gone still filters", () =>
    onItsOwn(async () => {
      for (const [flags, said] of [
        ["--principal adda", "There is no principal of this name now.\n(Did you mean ada?)\n"],
        ["--model pricd", "There is no model of this name now.\n(Did you mean priced?)\n"],
        ["--provider somebody", "There is no provider of this name now.\n"],
      ] as const)
        for (const line of [`usage ${flags}`, `requests tail ${flags}`])
          for (const { code, messages } of await eachWay(line)) {
            expect({ line, code }).toEqual({ line, code: 0 });
            expect(messages).toContain(`No requests in this window.\n${said}`);
          }
      for (const line of ["usage --principal ada --until 1h", "usage --principal ada"])
        for (const { messages } of await eachWay(line)) expect(messages).not.toContain("There is no");
      await installation.ways[0]!.run("principal delete ada --yes");
      for (const { data, messages } of await eachWay("usage --principal ada")) {
        expect(data).toMatch(/\ntotal +3 /);
        expect(messages).not.toContain("There is no");
      }
    }));

  test("takes every filter, and a window in ISO 8601 or as how long ago", async () => {
    const requests = async (flags: string) => (await eachJson(`usage ${flags}`)).total.requests;
    expect(await requests("--principal ada --model priced")).toBe(1);
    expect(await requests("--person ada --model priced")).toBe(1);
    expect(await requests("--tag team:search --tag app:wiki")).toBe(1);
    expect(await requests("--client tests --provider up --since 1h")).toBe(4);
    expect(await requests("--until 1h")).toBe(0);
    expect(await requests("--since 2000-01-01 --until 2000-02-01")).toBe(0);
    for (const run of await eachWay("usage --since yestreday"))
      expect(run).toMatchObject({
        code: 2,
        data: "",
        messages: expect.stringContaining("(Did you mean yesterday?)"),
      });
  });

  test("as a table says unpriced and never zero, names its window in UTC and says what the cost leaves out", async () => {
    for (const { data, messages } of await eachWay("usage")) {
      expect(data).toMatch(/^MODEL +REQUESTS +CANCELLED +INPUT +OUTPUT +COST\n/);
      expect(data).toMatch(/\nfree +1 +0 +1,000 +200 +unpriced\n/);
      expect(data).toMatch(/\ntotal +4 .* \$0\.0081\n$/);
      expect(messages).toMatch(
        /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d to now, UTC\n2 requests have units without a price, which the cost leaves out/,
      );
    }
  });
});

describe("sums by tag", () => {
  const row = (cost: number | null, requests = 1, tags: readonly string[] = ["a:b"]) => ({
    tags: [...tags],
    requests,
    cancelled: 0,
    cost,
    units: {},
  });
  const costOf = (...costs: readonly (number | null)[]) =>
    groupByTag(costs.map((cost) => row(cost)))[0]?.cost;

  test("are exact where floating point is not, and nothing priced stays nothing", () => {
    expect(costOf(0.1, 0.2)).toBe(0.3);
    expect(costOf(...Array.from({ length: 1000 }, () => 0.000_000_000_001))).toBe(0.000_000_001);
    expect(costOf(null, null)).toBeNull();
    expect(costOf(null, 0)).toBe(0);
    expect(costOf(123_456_789.123_456)).toBe(123_456_789.123_456);
  });

  test("put what costs nothing after what costs something, and groups of one cost in order of requests", () => {
    const rows = [row(null, 9, ["m:0"]), row(0, 1, ["m:1"]), row(5, 1, ["m:2"]), row(5, 2, ["m:3"])];
    expect(groupByTag(rows).map(({ name }) => name)).toEqual(["m:3", "m:2", "m:1", "m:0"]);
  });
});

describe("pricing missing", () => {
  test("lists units that were used and have no price now, and no longer those that got one", () =>
    onItsOwn(async () => {
      const missing = await eachJson("pricing missing").then(Object.values);
      const unpriced = { kind: "model", requests: 1, last_seen: expect.any(String), has_price: false };
      const expected = [
        { ...unpriced, model: "free", unit: "input_tokens", quantity: 1000 },
        { ...unpriced, model: "free", unit: "output_tokens", quantity: 200 },
        { ...unpriced, model: "half", unit: "output_tokens", quantity: 200 },
      ];
      expect(missing.filter((each) => each !== null)).toEqual(expected);
      const feed = {
        version: "1",
        entries: [{ model: "c", unit: "input_tokens", price_per_million: 1 }],
      };
      await installation.ways[1]!.run("pricing load -", { stdin: JSON.stringify(feed) });
      const left: any[] = JSON.parse((await installation.ways[0]!.run("pricing missing --json")).data);
      expect(left).toEqual(expected.slice(1));
    }));

  test("the relay's sentinel is the one that events are recorded under", () => {
    expect(RELAY_SENTINEL).toBe(RELAY_PROVIDER);
  });
});

describe("requests tail", () => {
  test("shows the newest last, failures included, as lines or as one JSON object each", async () => {
    const [local, remote] = await eachWay("requests tail --json");
    expect(remote).toEqual(local);
    const rows = local!.data
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(rows.map(({ model, outcome }) => [model, outcome])).toEqual([
      ["priced", "ok"],
      ["priced", "ok"],
      ["half", "ok"],
      ["free", "ok"],
      ["priced", "upstream_error"],
    ]);
    for (const { data } of await eachWay("requests tail -n 2 --provider up")) {
      const [heading, ok, failed] = data.split("\n");
      expect(heading).toStartWith("TIME (UTC)");
      expect(ok).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +ada +free +up +ok +200 .* 1,000 +200 +unpriced$/);
      expect(failed).toMatch(/ upstream_error +429 .* rate_limit_error$/);
    }
    expect(
      (await eachWay("requests tail --outcome failed -n 5")).map(({ data }) => data.split("\n").length),
    ).toEqual([3, 3]);
  });

  test("a count that is none is exit code 2", async () => {
    for (const count of ["-1", "501", "x", "1.5"]) {
      expect(await installation.ways[0]!.run(`requests tail -n ${count}`)).toMatchObject({
        code: 2,
        data: "",
      });
    }
  });

  // Last, as they add requests.
  test("and the sums beside the server have each request as soon as its answer was there", async () => {
    const local = installation.ways[0]!;
    const countAll = async () =>
      JSON.parse((await local.run("usage --json --model free")).data).total.requests;
    const before = await countAll();
    for (let count = 1; count <= 8; count += 1) {
      const tag = `turn:${before}-${count}`;
      expect(await chat(installation.app, "free", { tags: tag })).toBe(200);
      expect(JSON.parse((await local.run("requests tail --json -n 1")).data).tags).toEqual([tag]);
      expect(await countAll()).toBe(before + count);
    }
  }, 30_000);

  test("-f goes on with each request as it ends, by its filters, and ends when it is told to", async () => {
    for (const way of installation.ways) {
      const end = new AbortController();
      const shown: string[] = [];
      const begun = Promise.withResolvers<void>();
      const seen = Promise.withResolvers<void>();
      const running = way.run("requests tail -f -n 1 --model half --json", {
        end: end.signal,
        onData: (text) => {
          shown.push(JSON.parse(text).model);
          if (shown.length === 1) begun.resolve();
          if (shown.length === 3) seen.resolve();
        },
      });
      await begun.promise;
      for (const model of ["half", "free", "half"]) await chat(installation.app, model);
      await seen.promise;
      end.abort();
      expect(await running).toMatchObject({ code: 0, messages: "" });
      expect(shown).toEqual(["half", "half", "half"]);
    }
  }, 20_000);
});

test("usage as JSON says that it was cut, and nothing of it where all rows are there", async () => {
  const { app } = installation;
  const readUsage = async (truncated: boolean) => {
    // It answers as a server with more values than rows does.
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch({ url, headers }) {
        const { pathname, search } = new URL(url);
        const answer = await fetch(`${app.url}${pathname}${search}`, { headers });
        const body: object = JSON.parse(await answer.text());
        return Response.json({ ...body, truncated });
      },
    });
    const told = await runLocal(
      "/nonexistent/lockport",
      ["usage", "--json", "--since", "2026-03-01", "--url", server.url.origin],
      {
        env: { LOCKPORT_API_KEY: app.adminKey },
      },
    );
    await server.stop(true);
    expect([told.code, told.messages.includes("cost the most")]).toEqual([0, truncated]);
    return JSON.parse(told.data);
  };
  const { truncated, ...cut } = await readUsage(true);
  expect(truncated).toBe(true);
  expect(await readUsage(false)).toEqual(cut);
});

describe("a ledger without a server", () => {
  test("that was never made has no usage, and no report makes a file", async () => {
    const folder = makeFolder();
    const dataDir = join(folder.path, "data");
    await makeEmptyInstallation(dataDir);
    const run = (line: string) => runLocal(dataDir, line.split(" "));
    expect(JSON.parse((await run("usage --json")).data).total).toMatchObject({ requests: 0, cost: null });
    expect(await run("requests tail --json")).toEqual({ code: 0, data: "", messages: "" });
    expect(await run("pricing missing --json")).toEqual({ code: 0, data: "[]\n", messages: "" });
    const made = existsSync(dataDir) ? readdirSync(dataDir) : [];
    expect(made.filter((name) => /usage|journal|spool|serving/.test(name))).toEqual([]);
    folder.remove();
  });

  test("that a server left is read, key use included; what its journal holds beyond it is said and not counted", async () => {
    const folder = makeFolder();
    const dataDir = join(folder.path, "data");
    const { startApp } = await import("../support/app.ts");
    const app = await startApp({ dataDir });
    await app.api("POST", "/admin/v1/providers", { name: "p", base_url: "http://127.0.0.1:1/v1" });
    await app.api("POST", "/admin/v1/models", { alias: "m", provider: "p", upstream_name: "u" });
    expect(await chat(app, "m")).toBe(502);
    await app.stop();
    const run = (line: string) => runLocal(dataDir, line.split(" "));
    const tail = await run("requests tail --json");
    expect(tail).toMatchObject({ code: 0, messages: "" });
    expect(JSON.parse(tail.data)).toMatchObject({ model: "m", outcome: "unreachable" });
    expect(JSON.parse((await run("key list --json")).data)[0].last_used_at).toMatch(/Z$/);

    const journal = join(dataDir, isOnPostgres ? "spool" : "journal");
    mkdirSync(journal, { recursive: true });
    appendFileSync(join(journal, "000000000999.journal"), "x".repeat(100));
    const behind = await run("requests tail --json");
    expect(behind.data).toBe(tail.data);
    expect(behind.messages).toStartWith("100 bytes of the usage journal are not in the database yet");
    rmSync(journal, { recursive: true });
    folder.remove();
  });
});

describe("what-if", () => {
  test("prices a model's usage as another one's, to the last digit, and names what that one has no price for", () =>
    onItsOwn(async () => {
      const report = await eachJson("what-if half priced");
      expect(report.total).toEqual({
        requests: 1,
        unpriced_requests: 1,
        cost: 0.0001,
        other_cost: 0.004,
        difference: null,
      });
      const [cheap] = (await eachJson("what-if priced half")).models;
      expect(cheap).toMatchObject({ requests: 3, cost: 0.008, other_cost: 0.0002, difference: null });
      expect((await eachJson("what-if priced priced --tag app:wiki")).total).toEqual({
        requests: 1,
        unpriced_requests: 0,
        cost: 0.004,
        other_cost: 0.004,
        difference: 0,
      });
    }));

  test("shows units with their difference, and says what it is", async () => {
    for (const { code, data, messages } of await eachWay("what-if priced priced --outcome ok")) {
      expect(code).toBe(0);
      expect(data.split("\n").map((line) => line.trim().replaceAll(/\s{2,}/g, "|"))).toEqual([
        "UNIT|QUANTITY|COST|AT THE OTHER'S|DIFFERENCE",
        "input_tokens|2,000|$0.004|$0.004|$0.00",
        "output_tokens|400|$0.004|$0.004|$0.00",
        "total|-|$0.008|$0.008|$0.00",
        "",
      ]);
      expect(messages).toContain("Same tokens, other prices; no forecast.");
    }
    for (const { messages } of await eachWay("what-if none priced"))
      expect(messages).toContain("There is no model of this name now.");
    for (const { code, messages } of await eachWay("what-if priced prised")) {
      expect(code).not.toBe(0);
      expect(messages).toContain("priced");
    }
  });
});

describe("breakdown", () => {
  test("with --cache has what caches gave, cost and saved, and without it no such columns", async () => {
    for (const { code, data } of await eachWay("breakdown --by model --model priced --cache")) {
      expect(code).toBe(0);
      expect(data).toMatch(/CACHE READS +CACHE WRITES +CACHE SAVED/);
      expect(data).toMatch(/priced .* 0\.0% +\$0\.00 +\$0\.00\n/);
    }
    for (const { data } of await eachWay("breakdown")) expect(data).not.toContain("CACHE SAVED");
    const { rows, total } = await eachJson("breakdown --by hour --cache");
    expect(rows.map(({ value }: any) => value)).toEqual([expect.stringMatching(/:00:00\.000000Z$/)]);
    expect(total.cache).toEqual({ read_share: 0, write_cost: 0, saving: 0 });
  });
});

describe("why", () => {
  test("tells a difference by model as terms that add up to it, and every term as money", async () => {
    const { total, models } = await eachJson("why --since 2026-03-01 --until 2026-04-01");
    const toPico = (amount: number) => Math.round(amount * 1e12);
    for (const { difference, terms } of [total, ...models])
      expect(Object.values<number>(terms).reduce((sum, term) => sum + toPico(term), 0)).toBe(
        toPico(difference),
      );
    expect(total.difference).toBe(total.now.cost);
    for (const { code, data } of await eachWay("why --before-since 2020-01-01 --before-until 2020-02-01")) {
      expect(code).toBe(0);
      const [head, ...rows] = data.split("\n").map((line) => line.trim().replaceAll(/\s{2,}/g, "|"));
      expect(head).toMatch(
        /^MODEL\|.*DIFFERENCE\|VOLUME\|MODELS\|TOKENS\|CACHE\|UNPRICED\|PRICE\|UNEXPLAINED$/,
      );
      expect(rows.find((row) => row.startsWith("priced|"))).toMatch(/\$0\.008\|\$0\.008\|\$0\.00\|/);
    }
  });
});

test("why has the models that its answer leaves out as one row before the total, and no such row where it has all", () => {
  const route = { method: "GET", path: "/stats/cost-change", tag: "Statistics" } as Route;
  const [why] = listRouteCommands([route]);
  const toChange = (difference: number) => ({ before: {}, now: {}, difference, terms: {} });
  const write = (others: object | null) => {
    let text = "";
    const terminal = {
      columns: null,
      env: {},
      screens: { data: false, messages: false },
      writeData: (data: string) => void (text += data),
    };
    const body = {
      models: [{ model: "a", ...toChange(3) }],
      other_models: others,
      total: toChange(5),
    };
    writeRows(terminal as unknown as Terminal, body, why!.table!);
    return text
      .split("\n")
      .slice(1, -1)
      .map((line) => line.split(/\s{2,}|\t/)[0]);
  };
  expect(write(toChange(2))).toEqual(["a", "all others", "total"]);
  expect(write(null)).toEqual(["a", "total"]);
});

describe("errors", () => {
  test("clients and retries answer alike either way, with whom they tell of and no cost of what used nothing", async () => {
    // One failure is neither.
    expect(await eachJson("errors clients --since 2026-03-01")).toMatchObject({ clients: [] });
    const { storms, total } = await eachJson("errors retries --since 2026-03-01");
    expect({ storms, total }).toEqual({ storms: [], total: { storms: 0, attempts: 0, cost: null } });
    for (const { code, data } of await eachWay("errors --since 2026-03-01")) {
      expect(code).toBe(0);
      expect(data).toContain("429");
    }
  });

  test("retries shows a storm, and no cost where no attempt told a usage", async () => {
    await onItsOwn(async () => {
      for (let attempt = 0; attempt < 5; attempt += 1)
        expect(await chat(installation.app, "priced", { content: "refuse" })).toBe(429);
      await untilApplied(installation.app.url);
      for (const { code, data } of await eachWay("errors retries")) {
        expect(code).toBe(0);
        const [head, ...rows] = data
          .trim()
          .split("\n")
          .map((line) => line.trim().split(/\s{2,}/));
        expect(rows).toHaveLength(1);
        const cellOf = (name: string) => rows[0]![head!.indexOf(name)];
        expect([cellOf("PRINCIPAL"), cellOf("MODEL"), cellOf("COST")]).toEqual(["admin", "priced", "-"]);
        expect(Number(cellOf("ATTEMPTS"))).toBeGreaterThanOrEqual(5);
      }
    });
  });
});

describe("export focus", () => {
  test("writes the same file either way, and its costs are the month's", async () => {
    const [beside, through] = await eachWay("export focus --month 2026-03 --currency EUR");
    expect(beside).toMatchObject({ code: 0, messages: "" });
    expect(through).toMatchObject({ code: 0, data: beside!.data });
    const { data: rows } = Papa.parse<Record<string, string>>(beside!.data.trimEnd(), { header: true });
    const sum = rows.reduce((all, row) => all + Number(row["BilledCost"]) * 1e12, 0);
    const { series } = await eachJson("series --since 2026-03-01 --until 2026-04-01");
    const cost = series.reduce((all: number, day: { cost: number | null }) => all + (day.cost ?? 0), 0);
    expect(Math.round(sum)).toBe(Math.round(cost * 1e12));
    expect(new Set(rows.map((row) => row["x_Principal"]))).toEqual(new Set(["admin", "ada"]));
    expect(new Set(rows.map((row) => row["BillingCurrency"]))).toEqual(new Set(["EUR"]));
    for (const { code, messages } of await eachWay("export focus --month march")) {
      expect(code).not.toBe(0);
      expect(messages).toContain("month must be a month such as 2026-03");
    }
  });
});

describe("statement", () => {
  test("has the month by person, key and tag with one hash either way, and the sum of its people is the month's", async () => {
    const { month, hash, total, rows } = await eachJson("statement --month 2026-03");
    expect({ month, length: hash.length }).toEqual({ month: "2026-03", length: 64 });
    const people = rows.filter(({ by }: { by: string }) => by === "principal");
    const sum = people.reduce((all: number, { cost }: { cost: number | null }) => all + (cost ?? 0), 0);
    expect(sum).toBeCloseTo(total.cost, 12);
    for (const { code, data } of await eachWay("statement --month 2026-03")) {
      expect(code).toBe(0);
      expect(data).toContain("UNPRICED");
      expect(data).toContain("team:search");
    }
  });
});
