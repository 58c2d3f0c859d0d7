import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createFailures } from "#http/door/failures.ts";
import { createRefusals, REFUSALS_KEPT } from "#http/door/refusals.ts";
import { ProxyError } from "#kernel/errors.ts";
import { createLog, type LogLevel } from "#kernel/log.ts";
import { createTestClock } from "../identity/support.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { findValue, parseExposition } from "../support/exposition.ts";
import { provide } from "../support/installation.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";

let upstream: ScriptedUpstream;
let app: TestApp;
beforeEach(async () => {
  upstream = await startUpstream({
    script: (call) => call.reply({ body: '{"usage":{"prompt_tokens":1}}' }),
  });
  app = await startApp({ messagesBaseUrl: upstream.baseUrl, maxBodyBytes: 4096 });
  await provide(app.url, app.adminKey, { name: "up", baseUrl: upstream.baseUrl, models: { m: "m" } });
});
afterEach(async () => {
  await app.stop();
  await upstream.stop();
});

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

describe("the trace of refusals", () => {
  const open = (level: LogLevel = "debug") => {
    const lines: Record<string, unknown>[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line));
    const clock = createTestClock();
    const log = createLog({ level, json: true, write, timestamp: () => "" });
    const refusals = createRefusals(log, clock);
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

  test("keeps the newest 200 and counts all of them", () => {
    const { refusals, refuse } = open();
    refuse("model_not_found", "192.0.2.7", 1000);
    expect(refusals.newest()).toHaveLength(REFUSALS_KEPT);
    expect(refusals.newest().map(({ arrivedAtUs }) => arrivedAtUs)[0]).toBe(999);
    expect([...refusals.counts()]).toEqual([["model_not_found", 1000]]);
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
