import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../support/app.ts";
import { runLocal } from "./terminal.ts";

let app: TestApp;
beforeEach(async () => {
  app = await startApp();
});
afterEach(() => app.stop());

const run = (line: string) => runLocal(app.dataDir, line.split(" "));
async function json(line: string): Promise<any> {
  const { code, data, messages } = await run(`${line} --json`);
  expect({ line, code, messages }).toEqual({ line, code: 0, messages: "" });
  return JSON.parse(data);
}
async function told(key: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await app.api("GET", "/v1/models?include_pricing=1", undefined, headers);
  const body: any = await response.json();
  return response.ok ? "ok" : body.error.message.replace(/ \(request .*/, "");
}

test("a key and a relay token are made with an expiry from now on or at a moment, and keys with models", async () => {
  const before = Date.now();
  const made = await json("key create --principal admin --expires 30d --models gpt,later");
  const days = (Date.parse(made.expires_at) - before) / 86_400_000;
  expect(days).toBeGreaterThanOrEqual(30);
  expect(days).toBeLessThan(30.1);
  expect(made.models).toEqual(["gpt", "later"]);
  expect(await told(made.key)).toBe("ok");
  const at = "2126-01-31T08:00:00Z";
  const token = await json(`relay-token create --principal admin --expires ${at}`);
  expect(token).toMatchObject({ expires_at: "2126-01-31T08:00:00.000000Z", principal: "admin" });
  expect(token).not.toHaveProperty("models");
});

test("a change holds at the running server's next request, and the list tells of it", async () => {
  const { id, key } = await json("key create --principal admin --label laptop");
  expect(await told(key)).toBe("ok");
  expect(await run(`key set ${id} --pause`)).toMatchObject({ code: 0, messages: `changed key ${id}\n` });
  expect(await told(key)).toContain("paused");
  const paused = (await run("key list")).data.split("\n");
  expect(paused[0]).toMatch(/LAST USED AT +EXPIRES AT +ENABLED$/);
  expect(paused.find((line) => line.startsWith(id))).toMatch(/ - +no$/);
  await json(`key set ${id} --resume --expires 2126-01-31T08:00:00Z`);
  expect(await told(key)).toBe("ok");
  expect((await run("key list")).data).toMatch(/ 2126-01-31T08:00:00\.000000Z +yes\n/);
  const { id: token } = await json("relay-token create --principal admin");
  expect(await json(`relay-token set ${token} --pause --label desk`)).toMatchObject({
    enabled: false,
    label: "desk",
  });
  expect((await run("relay-token list")).data).toMatch(/ - +no\n/);
  expect(await json(`relay-token set ${token} --resume`)).not.toHaveProperty("enabled");
});

test("a rotation prints the new secret alone on stdout; the old one works for its grace, and not at all without one", async () => {
  const { id, key } = await json("key create --principal admin");
  const graced = await run(`key rotate ${id} --grace 7d`);
  expect(graced.data).toMatch(/^lp_[0-9A-Za-z]{43}\n$/);
  expect(graced.messages).toContain("shown once");
  const second = graced.data.trim();
  expect(await Promise.all([key, second].map(told))).toEqual(["ok", "ok"]);
  const third = (await json(`key rotate ${id}`)).key;
  expect(await Promise.all([key, second, third].map(told))).toEqual([
    "This API key is not valid.",
    "This API key is not valid.",
    "ok",
  ]);
});

test("fixed tags are given, listed, replaced and taken away, of principals, keys and relay tokens", async () => {
  expect((await run("principal list")).data.split("\n")[0]).not.toContain("TAGS");
  expect(await json("principal create tagged --tag team:search --tag Env:Prod")).toMatchObject({
    tags: ["env:prod", "team:search"],
  });
  expect((await run("principal list")).data).toMatch(/ID +TAGS\n[^]*tagged .*env:prod,team:search\n/);
  const set = await run("principal set tagged --tag team:core");
  expect(set.messages).toBe("tagged has the fixed tags team:core\n");
  const both = await run("principal set tagged --role admin --clear-tags");
  expect(both.messages).toBe("tagged is an admin now and has no fixed tags\n");
  for (const kind of ["key", "relay-token"]) {
    const made = await json(`${kind} create --principal tagged --tag app:wiki`);
    expect(made.tags).toEqual(["app:wiki"]);
    expect((await run(`${kind} list`)).data).toMatch(/ENABLED +TAGS\n[^]*app:wiki\n/);
    expect(await json(`${kind} set ${made.id} --tag app:docs`)).toMatchObject({ tags: ["app:docs"] });
    expect(await json(`${kind} set ${made.id} --label kept`)).toMatchObject({ tags: ["app:docs"] });
    expect(await json(`${kind} set ${made.id} --clear-tags`)).not.toHaveProperty("tags");
  }
});

describe("what this machine can judge alone is exit code 2", () => {
  test.each([
    ["key create --principal admin --expires soon", "invalid_expiry"],
    ["key create --principal admin --expires 2020-01-01T00:00:00Z", "invalid_expiry"],
    ["key create --principal admin --expires 0d", "invalid_expiry"],
    ["key create --principal admin --models gpt,,x", "invalid_models"],
    ["key set x --models -gpt", "invalid_models"],
    ["key set x", "Say what to change"],
    ["key set x --pause --resume", "--pause and --resume exclude each other"],
    ["key set x --expires 1d --never-expires", "--expires and --never-expires exclude each other"],
    ["key set x --models a --all-models", "--models and --all-models exclude each other"],
    ["key create --principal admin --tag wiki", "invalid_tags"],
    ["key set x --tag a:1 --tag a:2", "invalid_tags"],
    ["key set x --tag a:1 --clear-tags", "cannot be used with"],
    ["key rotate x --grace 8d", "at most seven days"],
    ["key rotate x --grace 5", "at most seven days"],
    ["relay-token set x", "Say what to change"],
    ["relay-token create --principal admin --models gpt", "unknown option"],
  ])("%s", async (line, message) => {
    const { code, data, messages } = await run(line);
    expect([code, data]).toEqual([2, ""]);
    expect(messages).toContain(message);
  });
});
