import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createFailures } from "#http/door/failures.ts";
import { createRefusals, type Refusal, type RefusalStore } from "#http/door/refusals.ts";
import { REFUSALS_KEPT } from "#views/refusals.ts";
import { ProxyError } from "#kernel/errors.ts";
import { createLog, type LogLevel } from "#kernel/log.ts";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { makeFolder } from "../support/folder.ts";
import { createTestClock } from "../identity/support.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { findValue, parseExposition } from "../support/exposition.ts";
import { provide } from "../support/installation.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";

let upstream: ScriptedUpstream;
let app: TestApp;
let folder: ReturnType<typeof makeFolder>;
const start = () =>
  startApp({
    messagesBaseUrl: upstream.baseUrl,
    maxBodyBytes: 4096,
    dataDir: join(folder.path, "data"),
  });
beforeEach(async () => {
  upstream = await startUpstream({
    script: (call) => call.reply({ body: '{"usage":{"prompt_tokens":1}}' }),
  });
  folder = makeFolder();
  app = await start();
  await provide(app.url, app.adminKey, { name: "up", baseUrl: upstream.baseUrl, models: { m: "m" } });
});
afterEach(async () => {
  await app.stop();
  await upstream.stop();
  folder.remove();
});

/** Stops the server, changes its folder, and starts it again. */
async function restart(change: () => void = () => undefined): Promise<TestApp> {
  await app.stop();
  change();
  app = await start();
  return app;
}

const CHAT = "/v1/chat/completions";
const UNKNOWN_KEY = `lp_${"u".repeat(43)}`;

const send = async (...args: Parameters<TestApp["api"]>) => {
  const response = await app.api(...args);
  await response.text();
  return response;
};
const read = async () => JSON.parse(await (await app.api("GET", "/admin/v1/refusals")).text());
const total = async () => Object.values<number>((await read()).counts).reduce((sum, count) => sum + count, 0);

describe("a refused request", () => {
  test("of a known caller tells when, who, by which key, for which model, of which program, and its answer's id", async () => {
    const response = await send(
      "POST",
      CHAT,
      { model: "nope\n" },
      {
        authorization: `Bearer ${app.adminKey}`,
        "user-agent": "prog/1",
      },
    );
    const { since, counts, refusals } = await read();
    expect(counts).toEqual({ model_not_found: 1 });
    expect(refusals).toEqual([
      {
        id: response.headers.get("x-proxy-request-id"),
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/),
        code: "model_not_found",
        principal: "admin",
        key_suffix: app.adminKey.slice(-4),
        model: String.raw`nope\u000a`,
        endpoint: "chat",
        client: "prog/1",
        message: "The model `nope\\u000a` is not served here. GET /v1/models lists the models that are.",
      },
    ]);
    expect(since < refusals[0].at).toBe(true);
  });

  test.each([
    ["without a key", "missing_api_key", null, "chat", () => send("POST", CHAT, {}, {})],
    [
      "with a deleted or unknown key",
      "invalid_api_key",
      "uuuu",
      "chat",
      () => send("POST", CHAT, {}, { "x-api-key": UNKNOWN_KEY }),
    ],
    [
      "with another product's key, whose end is not told",
      "invalid_api_key",
      null,
      "embeddings",
      () => send("POST", "/embeddings", {}, { "x-api-key": "sk-other-1234" }),
    ],
    [
      "with a body over the limit",
      "request_too_large",
      "own",
      "chat",
      () => send("POST", CHAT, "x".repeat(5000)),
    ],
    ["whose body is not JSON", "invalid_json", "own", "completions", () => send("POST", "/completions", "{")],
    [
      "for a path that is not served",
      "unknown_endpoint",
      "own",
      "/v1/responses",
      () => send("POST", "/v1/responses", {}),
    ],
    [
      "for the list of models",
      "invalid_endpoint",
      "own",
      "/v1/models",
      () => send("GET", "/v1/models?endpoint=x"),
    ],
    [
      "of the relay",
      "unknown_relay_token",
      null,
      "/v1/messages",
      () => send("POST", "/transparent/messages/lpt_x/v1/messages", {}, {}),
    ],
    [
      "with a wrong key, of an admin's route",
      "invalid_api_key",
      "uuuu",
      "/admin/v1/keys",
      () => send("GET", "/admin/v1/keys?limit=1", undefined, { authorization: `Bearer ${UNKNOWN_KEY}` }),
    ],
    [
      "with a wrong password",
      "wrong_password",
      null,
      "/auth/password",
      () => send("POST", "/auth/password", { password: "no" }, {}),
    ],
    [
      "with a wrong login link",
      "invalid_login_link",
      null,
      "/auth/login-link",
      () => send("POST", "/auth/login-link", { token: "no" }, {}),
    ],
  ])("%s is counted by its code and told once", async (_, code, suffix, endpoint, ask) => {
    await ask();
    const { counts, refusals } = await read();
    expect(counts).toEqual({ [code]: 1 });
    const own = suffix === "own" ? app.adminKey.slice(-4) : suffix;
    expect(refusals).toMatchObject([{ code, endpoint, key_suffix: own }]);
    const families = parseExposition(await (await app.api("GET", "/metrics")).text());
    expect(findValue(families, "proxy_refusals_total", { code })).toBe(1);
  });

  test("that names a model is told with it whatever it is refused for", async () => {
    await send("POST", CHAT, { model: "m", stream: "yes" });
    await send("POST", "/v1/chat/completions", { model: "" });
    expect((await read()).refusals).toMatchObject([
      { code: "model_required", model: null },
      { code: "invalid_request", model: "m" },
    ]);
  });

  test("by a limit is told with its model", async () => {
    const limit = { name: "one", subject: {}, measure: "requests", amount: 1, window: "day" };
    await send("POST", "/admin/v1/limits", limit);
    await send("POST", CHAT, { model: "m" });
    expect((await send("POST", CHAT, { model: "m" })).status).toBe(429);
    await send("POST", CHAT, { model: "m" });
    const { counts, refusals } = await read();
    expect(counts).toEqual({ limit_exceeded: 2 });
    expect(refusals[0]).toMatchObject({ code: "limit_exceeded", model: "m", principal: "admin" });
  });

  test("leaves neither a key nor a token, wherever it was put", async () => {
    const token = `lpt_${"t".repeat(43)}`;
    await send("POST", CHAT, { model: UNKNOWN_KEY });
    await send(
      "POST",
      CHAT,
      { model: "x" },
      { authorization: `Bearer ${app.adminKey}`, "user-agent": token },
    );
    await send("GET", `/v1/${UNKNOWN_KEY}`);
    await send("GET", `/v1/%6cp_${"u".repeat(43)}`);
    await send("GET", `/v1/%256cp_${"u".repeat(43)}`);
    await send("GET", `/v1/%6cp_${"u".repeat(43)}/%ff`);
    await send("GET", `/v1/%${"25".repeat(500)}6cp_${"u".repeat(43)}`);
    await send("GET", `/transparent/messages/${token}/v1/${token}`, undefined, {});
    const text = JSON.stringify(await read());
    expect(text).not.toContain("uuuuu");
    expect(text).not.toContain("ttttt");
    expect(await total()).toBe(8);
    await send("GET", "/v1/100%25/a%2520b");
    expect((await read()).refusals[0].endpoint).toBe("/v1/100%25/a%2520b");
  });

  test("is in no usage event, and what has one is no refusal: neither an upstream's error nor a 502", async () => {
    await send("POST", CHAT, { model: "nope" });
    await send("POST", CHAT, { model: "m" });
    await provide(app.url, app.adminKey, {
      name: "down",
      baseUrl: "http://127.0.0.1:1/v1",
      models: { down: "x" },
    });
    expect((await send("POST", CHAT, { model: "down" })).status).toBe(502);
    const log = JSON.parse(await (await app.api("GET", "/admin/v1/requests")).text());
    expect([log.total, await total()]).toEqual([2, 1]);
  });

  test("of an admin's route that is no wrong credential is not told", async () => {
    await send("GET", "/admin/v1/models", undefined, {});
    await send("POST", "/admin/v1/models", { alias: 1 });
    await send("GET", "/nothing/here", undefined, { accept: "application/json" });
    expect(await total()).toBe(0);
  });
});

const toRefusal = (id: string, arrivedAtUs: number): Refusal => ({
  id,
  arrivedAtUs,
  code: "model_not_found",
  message: null,
  principal: null,
  principalId: null,
  keySuffix: null,
  model: "gone",
  endpoint: "chat",
  client: null,
});

describe("the list of refusals", () => {
  const refuse = (model: string, key = app.adminKey) =>
    send("POST", CHAT, { model }, { authorization: `Bearer ${key}` });
  const list = async (query: string) => {
    const response = await app.api("GET", `/admin/v1/refusals?${query}`);
    return { status: response.status, ...JSON.parse(await response.text()) };
  };

  test("is filtered by id, code, caller, model and time, and comes in pages with its total", async () => {
    const ids: (string | null)[] = [];
    for (const model of ["a", "b", "a"]) ids.push((await refuse(model)).headers.get("x-proxy-request-id"));
    await refuse("a", UNKNOWN_KEY);
    const found = async (query: string) => (await list(query)).refusals.map(({ id }: any) => id);
    expect(await found("model=a&code=model_not_found")).toEqual([ids[2], ids[0]]);
    expect(await found("principal=admin")).toEqual([ids[2], ids[1], ids[0]]);
    expect(await found(`id=${ids[1]}`)).toEqual([ids[1]]);
    expect(await found("id=none")).toEqual([]);
    expect(await found("code=&model=b")).toEqual([ids[1]]);
    const { at } = (await list(`id=${ids[1]}`)).refusals[0];
    expect(await found(`until=${at}`)).toEqual([ids[0]]);
    expect(await found(`principal=admin&since=${at}`)).toEqual([ids[2], ids[1]]);
    expect(await list("principal=admin&limit=1&offset=1")).toMatchObject({
      refusals: [{ id: ids[1] }],
      limit: 1,
      offset: 1,
      total: 3,
      counts: { model_not_found: 3, invalid_api_key: 1 },
    });
    expect(await list("since=x")).toMatchObject({ status: 400, error: { code: "invalid_date" } });
  });

  test("outlasts a restart in a private file without a secret, and counts anew", async () => {
    const id = (await refuse("a")).headers.get("x-proxy-request-id");
    await refuse("b");
    await send("GET", "/v1/typed", undefined, { authorization: `Bearer ${UNKNOWN_KEY}` });
    const limit = { name: "none", subject: {}, measure: "requests", amount: 1, window: "day" };
    await send("POST", "/admin/v1/limits", limit);
    await refuse("m");
    expect((await refuse("m")).status).toBe(429);
    const [before, path] = [await list(""), join(app.dataDir, "refusals.jsonl")];
    const { dataDir } = await restart();
    expect(dataDir).toBe(app.dataDir);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, "utf8")).not.toContain("uuuuu");
    const after = await list("");
    // A model that is unknown and a path are whatever was typed there: no file has them.
    const written = ({ model, endpoint, message, ...row }: any) => ({
      ...row,
      ...(row.code !== "model_not_found" && { message }),
      model: model === "m" ? "m" : null,
      endpoint: endpoint.startsWith("/") ? null : endpoint,
    });
    expect(before.refusals).toMatchObject([
      { model: "m" },
      { endpoint: "/v1/typed" },
      { model: "b" },
      { model: "a" },
    ]);
    expect(after.refusals).toEqual(before.refusals.map(written));
    expect(readFileSync(path, "utf8")).not.toContain("typed");
    expect(after.counts).toEqual({});
    expect(after.since > before.since).toBe(true);
    const newer = (await refuse("c")).headers.get("x-proxy-request-id");
    const { refusals: rows } = await list("principal=admin");
    expect([rows[0].id, rows.at(-1).id]).toEqual([newer, id]);
  });

  test("whose file is damaged, too large or none keeps no server from starting, and what can be read of it counts", async () => {
    const id = (await refuse("a")).headers.get("x-proxy-request-id");
    const path = join(app.dataDir, "refusals.jsonl");
    const damages = [
      [(text: string) => `{"id":1}\n${text}{"id":"x","arrivedAtUs":1,"code":"toString"}\n\0torn`, [id]],
      [() => "", []],
      [(text: string) => text.padEnd(17 * 1024 * 1024, "\n"), []],
    ] as const;
    for (const [damage, kept] of damages) {
      await restart(() => writeFileSync(path, damage(readFileSync(path, "utf8"))));
      expect((await list("")).refusals.map((row: any) => row.id)).toEqual([...kept]);
      await refuse("a");
      expect((await list("")).total).toBe(kept.length + 1);
      await restart(() => writeFileSync(path, `${JSON.stringify(toRefusal(String(id), 1))}\n`));
    }
    await restart(() => {
      rmSync(path);
      mkdirSync(path);
    });
    await refuse("a");
    expect((await list("")).total).toBe(1);
    await restart();
    rmSync(path, { recursive: true });
  });
});

describe("a request by its id", () => {
  const find = async (id: string | null, key = app.adminKey) => {
    const response = await app.api("GET", `/stats/requests/${id}`, undefined, {
      authorization: `Bearer ${key}`,
    });
    return { status: response.status, ...JSON.parse(await response.text()) };
  };
  const idOf = (response: Response) => response.headers.get("x-proxy-request-id");

  test("is its row of the log, relayed or not, or its refusal, whatever the case it is typed in", async () => {
    const { token } = JSON.parse(await (await app.api("POST", "/my/relay-tokens", {})).text());
    const chat = idOf(await send("POST", CHAT, { model: "m" }));
    const relayed = idOf(
      await send("POST", `/transparent/messages/${token}/v1/messages`, { model: "x" }, {}),
    );
    const refused = idOf(await send("POST", CHAT, { model: "nope" }));
    const row = async (id: string | null) => {
      const log = JSON.parse(await (await app.api("GET", "/stats/requests")).text());
      return log.requests.find((each: any) => each.id === id);
    };
    expect(await find(chat)).toEqual({ status: 200, request: await row(chat), refusal: null });
    expect(await find(relayed)).toEqual({ status: 200, request: await row(relayed), refusal: null });
    const { refusals } = await read();
    expect(await find(refused)).toEqual({ status: 200, request: null, refusal: refusals[0] });
    expect((await find(` ${refused?.toUpperCase()}`)).refusal.id).toBe(refused);
  });

  test("that is neither, or no id, is 404 and says where one may be", async () => {
    const chat = idOf(await send("POST", CHAT, { model: "m" }));
    const refused = idOf(await send("POST", CHAT, { model: "nope" }));
    for (const [id, said] of [
      [`${chat?.slice(0, -1)}7`, "Replica 7 took this one"],
      [`${refused?.slice(0, -1)}7`, "Replica 7 took this one"],
      ["019cdd2a-7c00-7000-8000-000000000000", "Nor is it among the newest 1000 refusals"],
      ["ffffffff-ffff-7fff-8000-000000000000", "no id of a request"],
      ["nothing", "no id of a request"],
    ] as const)
      expect(await find(id)).toMatchObject({
        status: 404,
        error: { code: "request_not_found", message: expect.stringContaining(said) },
      });
  });

  test("is in the log for a member too, who is shown its own refusals alone, and none of another bearer of its name", async () => {
    const makeBob = async () => {
      await send("POST", "/admin/v1/principals", { name: "bob" });
      const made = await app.api("POST", "/admin/v1/keys", { principal: "bob" });
      return JSON.parse(await made.text()).key;
    };
    const refuse = async (key: string) =>
      idOf(await send("POST", CHAT, { model: "nope" }, { authorization: `Bearer ${key}` }));
    const key = await makeBob();
    const chat = idOf(await send("POST", CHAT, { model: "m" }));
    const [refused, ofAdmin, ofNobody] = [
      await refuse(key),
      await refuse(app.adminKey),
      await refuse(UNKNOWN_KEY),
    ];
    expect(await find(chat, key)).toMatchObject({ status: 200, request: { id: chat } });
    const own = await find(refused, key);
    expect(own).toMatchObject({ status: 200, request: null, refusal: { id: refused, principal: "bob" } });
    for (const other of [ofAdmin, ofNobody]) {
      const { status, error } = await find(other, key);
      expect(status).toBe(404);
      expect(error.message).toContain("A refused request is shown to its caller and to admins.");
      expect(error.message).not.toContain("Nor is it");
    }
    const { principals } = JSON.parse(await (await app.api("GET", "/admin/v1/principals")).text());
    const { id } = principals.find(({ name }: any) => name === "bob");
    expect((await send("DELETE", `/admin/v1/principals/${id}`)).status).toBe(200);
    expect((await find(refused, await makeBob())).status).toBe(404);
    await restart();
    expect((await find(refused)).refusal).toMatchObject({ code: "model_not_found", principal: "bob" });
  });

  test("tells a refusal in the words of its answer, the nearest model and a limit included, and none with a secret", async () => {
    const refuse = async (model: string) => {
      const response = await app.api("POST", CHAT, { model });
      const { message } = JSON.parse(await response.text()).error;
      return { id: idOf(response), said: message.replace(/ \(request .*/, "") };
    };
    await provide(app.url, app.adminKey, {
      name: "other",
      baseUrl: upstream.baseUrl,
      models: { "gpt-4o-mini": "gpt-4o-mini" },
    });
    const typo = await refuse("gtp-4o-mini");
    expect(typo.said).toContain("Did you mean `gpt-4o-mini`?");
    expect((await find(typo.id)).refusal.message).toBe(typo.said);
    const planted = await refuse(`${"x".repeat(150)}${UNKNOWN_KEY}`);
    const { refusal } = await find(planted.id);
    expect(refusal.model).toBeNull();
    expect(refusal).not.toHaveProperty("message");
    const limit = { name: "one", subject: {}, measure: "requests", amount: 1, window: "day" };
    await send("POST", "/admin/v1/limits", limit);
    await send("POST", CHAT, { model: "m" });
    const over = await refuse("m");
    expect(over.said).toContain('"one"');
    await restart();
    expect((await find(over.id)).refusal.message).toBe(over.said);
    // It names a model that no catalog has.
    expect((await find(typo.id)).refusal).not.toHaveProperty("message");
  });
});

describe("the trace of refusals", () => {
  const open = (level: LogLevel = "debug", store: RefusalStore | null = null) => {
    const lines: Record<string, unknown>[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line));
    const clock = createTestClock();
    const log = createLog({ level, json: true, write, timestamp: () => "" });
    const refusals = createRefusals(log, clock, store);
    const failures = createFailures(log, refusals);
    const refuse = (code: "invalid_api_key" | "model_not_found", address = "192.0.2.7", times = 1) => {
      for (let time = 0; time < times; time += 1)
        failures.answer(new ProxyError(code, "no"), new Request("http://localhost/v1/x"), {
          arrivedAtUs: time,
          findAddress: () => address,
          principal: null,
          dataPlane: "chat",
          dialect: "completions",
        });
    };
    return { lines, clock, refusals, refuse };
  };

  test("keeps the newest 1,000 and counts all of them", () => {
    const { refusals, refuse } = open();
    refuse("model_not_found", "192.0.2.7", 2500);
    expect(REFUSALS_KEPT).toBe(1000);
    expect(refusals.newest().map(({ arrivedAtUs }) => arrivedAtUs)).toEqual(
      Array.from({ length: 1000 }, (_, index) => 2499 - index),
    );
    expect([...refusals.counts()]).toEqual([["model_not_found", 2500]]);
  });

  test("is written down in one piece however many there are, and what came before a restart goes when newer ones come", async () => {
    const written: (readonly Refusal[])[] = [];
    const former = Array.from({ length: 1000 }, (_, index) => toRefusal(`former-${index}`, index));
    const store = { read: () => former, write: async (rows: readonly Refusal[]) => void written.push(rows) };
    const { refusals, refuse } = open("warn", store);
    refuse("model_not_found", "192.0.2.7", 600);
    expect(written).toEqual([]);
    await refusals.close();
    expect(written).toHaveLength(1);
    expect(written[0]).toHaveLength(1000);
    expect(written[0]?.[0]?.id).toBe("former-600");
    expect(refusals.find("former-599", null)).toBeNull();
    expect(refusals.find("former-999", null)).toEqual(former[999]!);
    expect(refusals.newest()[0]?.arrivedAtUs).toBe(599);
    // Counts are of this process alone.
    expect([...refusals.counts()]).toEqual([["model_not_found", 600]]);
    await refusals.close();
    expect(written).toHaveLength(1);
  });

  test("is written down in the next turn when there was none for a while, and those behind it a second later in one piece", async () => {
    const written: number[] = [];
    const store = {
      read: () => [],
      write: async (rows: readonly Refusal[]) => void written.push(rows.length),
    };
    const { refusals, refuse } = open("warn", store);
    refuse("model_not_found");
    expect(written).toEqual([]);
    await nextTurn();
    await nextTurn();
    expect(written).toEqual([1]);
    refuse("model_not_found", "192.0.2.7", 20);
    expect(written).toEqual([1]);
    await refusals.close();
    expect(written).toEqual([1, 21]);
  });

  test("is a line of the log at debug, without what was asked for, and none above", () => {
    const { lines, refuse } = open();
    refuse("model_not_found");
    expect(lines).toMatchObject([{ level: "debug", code: "model_not_found", address: "192.0.2.7" }]);
    expect(Object.keys(lines[0] ?? {}).toSorted()).toEqual(
      ["address", "code", "level", "message", "principal", "request_id", "ts"].toSorted(),
    );
    const quiet = open("info");
    quiet.refuse("model_not_found");
    expect(quiet.lines).toEqual([]);
  });

  test("warns once of more than 20 wrong credentials of one address in a minute, and names the address", () => {
    const { lines, clock, refuse } = open("warn");
    refuse("invalid_api_key", "192.0.2.7", 20);
    refuse("invalid_api_key", "198.51.100.1", 20);
    refuse("model_not_found", "192.0.2.7", 100);
    expect(lines).toEqual([]);
    refuse("invalid_api_key", "192.0.2.7", 500);
    expect(lines).toMatchObject([{ level: "warn", address: "192.0.2.7", code: "invalid_api_key" }]);
    clock.advance(60_000);
    refuse("invalid_api_key", "192.0.2.7", 20);
    expect(lines).toHaveLength(1);
    refuse("invalid_api_key", "192.0.2.7", 1);
    expect(lines).toHaveLength(2);
  });

  test("of ever more addresses stays in bounds", () => {
    const { lines, refuse } = open("warn");
    for (let index = 0; index < 5000; index += 1)
      refuse("invalid_api_key", `10.0.${index >> 8}.${index & 255}`);
    // Beyond a thousand they count together, and are one warning together.
    expect(lines).toHaveLength(1);
  });
});
