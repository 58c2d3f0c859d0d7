import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { INTERFACE_VERSION } from "#kernel/version.ts";
import { COST, startWorld, type World } from "../limits/world.ts";
import { engineEnvironment } from "../support/engine.ts";
import { runLocal, type CliInput } from "./terminal.ts";

setDefaultTimeout(60_000);

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.stop());

const beside = (line: string, input?: CliInput) => runLocal(world.app.dataDir, line.split(" "), input);
const remote = (line: string, input: CliInput = {}) =>
  runLocal("/nonexistent/lockport", line.split(" "), {
    ...input,
    env: { LOCKPORT_URL: world.app.url, LOCKPORT_API_KEY: world.app.adminKey, ...input.env },
  });
const json = async (line: string) => JSON.parse((await beside(`${line} --json`)).data);

/** A line that takes something away, and what is said of it before; each answer but yes leaves all as it was. */
async function asks(line: string, said: RegExp, isThere: () => Promise<boolean>): Promise<void> {
  const refused = await beside(line);
  expect({ line, code: refused.code, data: refused.data }).toEqual({ line, code: 2, data: "" });
  expect(refused.messages).toMatch(said);
  expect(refused.messages).toEndWith("Nothing was changed: add --yes.\n");
  const elsewhere = await remote(line);
  expect({ line, code: elsewhere.code }).toEqual({ line, code: 2 });
  expect(elsewhere.messages).toStartWith(`lockport: On ${world.app.url}: `);
  expect(elsewhere.messages).toMatch(said);
  for (const typed of ["", "n", "yess"]) {
    const asked = await beside(line, { typed });
    expect({ typed, code: asked.code, data: asked.data }).toEqual({ typed, code: 1, data: "" });
    expect(asked.messages).toMatch(said);
    expect(asked.messages).toEndWith("? [y/N] lockport: Nothing was changed.\n");
  }
  expect(await isThere()).toBe(true);
  expect(await beside(line, { typed: "y" })).toMatchObject({ code: 0 });
  expect(await isThere()).toBe(false);
}

describe("what takes something away tells before what goes, and asks or takes --yes", () => {
  test("a key: its end, its label, its owner, its last use and what it cost in 30 days", async () => {
    const { id, key } = await json("key create --principal admin --label laptop");
    await beside(`limit set held --amount 9 --per month --key ${id}`);
    for (let count = 0; count < 2; count += 1) await (await world.chat({ key })).text();
    const suffix = key.slice(-4);
    await asks(
      `key delete ${id}`,
      new RegExp(
        `The key …${suffix} \\(laptop\\) of admin was last used \\d{4}-\\d\\d-\\d\\d [\\d:]+ UTC\\. ` +
          `A limit goes with it: held\\. 2 requests for \\$0\\.20 in the last 30 days\\.`,
      ),
      async () => (await json("key list")).some((each: any) => each.id === id),
    );
    expect(await json("limit list")).toEqual([]);
  });

  test("a principal: its keys and tokens and what it used, which stays in the reports under its name", async () => {
    const { key } = await world.person("ada");
    await (await world.chat({ key })).text();
    await beside("relay-token create --principal ada --label editor");
    await asks(
      "principal delete ada",
      /The member ada has key …\w{4}, relay token …\w{4} \(editor\), which stop working at once\. What was used stays under the name\. 1 request for \$0\.10 /,
      async () => (await json("principal list")).some((each: any) => each.name === "ada"),
    );
    expect((await world.chat({ key })).status).toBe(401);
    expect((await json("usage --by principal --principal ada")).total).toMatchObject({
      requests: 1,
      cost: COST,
    });
  });

  test("a provider and its models, a model, a relay token", async () => {
    await beside("provider add spare --base-url http://127.0.0.1:9/v1 --no-api-key");
    for (const alias of ["one", "two"])
      await beside(`model add ${alias} --provider spare --upstream-name ${alias}-x`);
    const has = (list: string, field: string, value: string) => async () =>
      (await json(list)).some((each: any) => each[field] === value);
    await asks(
      "model delete one",
      /The model one is one-x of spare\. No requests in the last 30 days\./,
      has("model list", "alias", "one"),
    );
    await asks(
      "provider delete spare",
      /The provider spare serves 1 model that goes with it: two\./,
      has("provider list", "name", "spare"),
    );
    expect(await has("model list", "alias", "two")()).toBe(false);
    const { id } = await json("relay-token create --principal admin");
    await asks(
      `relay-token remove ${id}`,
      /The relay token …\w{4} of admin was never used\./,
      has("relay-token list", "id", id),
    );
  });

  test("sessions, and with them no key", async () => {
    const line = "principal revoke-sessions admin";
    expect(await beside(line)).toMatchObject({
      code: 2,
      messages: expect.stringContaining("signed in as admin will have to sign in again; its keys stay."),
    });
    expect(await beside(`${line} --yes`)).toMatchObject({ code: 0 });
    expect((await world.chat()).status).toBe(200);
  });

  test("every key at once, with a new secret key", async () => {
    expect(await beside("secrets rotate --revoke-keys")).toMatchObject({
      code: 2,
      data: "",
      messages: expect.stringContaining("deletes every API key and relay token"),
    });
    expect((await world.chat()).status).toBe(200);
  });
});

describe("a name that does not exist is answered with the one that was probably meant", () => {
  test("of a provider, a model, a principal and a key, by either way", async () => {
    await beside("provider add openai --base-url http://127.0.0.1:9/v1 --no-api-key");
    await beside("model add gpt-4o --provider openai --upstream-name gpt-4o");
    await beside("principal create linus");
    const { id, key_suffix: suffix } = await json("key create --principal linus --label workstation");
    for (const [line, meant] of [
      ["provider disable opnai", "openai"],
      ["provider discover opneai", "openai"],
      ["provider remove opnai", "openai"],
      ["model add x --provider opnai --upstream-name x", "openai"],
      ["model set gpt4o --hidden", "gpt-4o"],
      ["model remove gpt4o", "gpt-4o"],
      ["model resolve gpt4o", "gpt-4o"],
      ["model alias x gpt4o", "gpt-4o"],
      ["principal disable linsu", "linus"],
      ["principal delete linsu", "linus"],
      ["key create --principal linsu", "linus"],
      ["key list --principal linsu", "linus"],
      ["limit set x --amount 1 --per day --principal linsu", "linus"],
      ["key delete workstation", id],
      [`key set ${suffix} --pause`, id],
      [`key delete --yes ${id.slice(0, -1)}x`, id],
    ] as const) {
      for (const run of [await beside(line), await remote(line)]) {
        expect({ line, code: run.code, data: run.data }).toEqual({ line, code: 1, data: "" });
        expect(run.messages.replaceAll("`", "")).toContain(`Did you mean ${meant}?`);
      }
    }
    const far = await beside("provider disable something-else");
    expect(far).toMatchObject({ code: 1, messages: "lockport: No such provider. (provider_not_found)\n" });
  });

  test("and not to a caller that may not list them", async () => {
    const { key } = await json("key create --principal linus");
    const { code, messages } = await remote("provider disable opnai", { env: { LOCKPORT_API_KEY: key } });
    expect({ code, tells: messages.includes("openai") }).toEqual({ code: 77, tells: false });
  });
});

describe("the server that commands work on", () => {
  test("is named by LOCKPORT_URL for every command with --url; --url and --data-dir precede it", async () => {
    const nowhere = { LOCKPORT_URL: "http://127.0.0.1:1" };
    expect(await remote("model list")).toMatchObject({ code: 0, data: expect.stringContaining("m ") });
    expect((await remote("model list", { env: nowhere })).code).toBe(69);
    expect((await remote(`model list --url ${world.app.url}`, { env: nowhere })).code).toBe(0);
    const onFolder = { ...nowhere, ...(await engineEnvironment(world.app.dataDir)) };
    expect(await remote(`model list --data-dir ${world.app.dataDir}`, { env: onFolder })).toMatchObject({
      code: 0,
      data: expect.stringContaining("m "),
    });
    expect(await remote("health")).toMatchObject({ code: 0, data: "ok\n" });
    expect((await remote("snippet curl --model m")).data).toContain(world.app.url);
    expect((await remote("complete -- model show ")).data).toBe("");
    // Commands of a data folder alone are told nothing else by it.
    expect((await beside("limit check", { env: nowhere })).code).toBe(0);
  });

  test("is not looked for where LOCKPORT_URL is malformed, and its value is not repeated", async () => {
    for (const value of [
      "models.example.org",
      "https://user:hunter2@example.org",
      "https://example.org/v1",
    ]) {
      const { code, messages } = await remote("model list", { env: { LOCKPORT_URL: value } });
      expect({ value, code }).toEqual({ value, code: 78 });
      expect(messages).toStartWith("lockport: LOCKPORT_URL must be an origin");
      expect(messages).not.toContain("example.org/");
      expect(messages).not.toContain("hunter2");
    }
  });

  test("takes the API key of LOCKPORT_API_KEY, else that of its former name, which a terminal is told of", async () => {
    const { adminKey: key } = world.app;
    const former = { LOCKPORT_API_KEY: "", PROXY_API_KEY: key };
    const quiet = await remote("model list --json", { env: former });
    expect({ code: quiet.code, messages: quiet.messages }).toEqual({ code: 0, messages: "" });
    const told = await remote("model list --json", { env: former, screens: true });
    expect(told.messages).toBe(
      "PROXY_API_KEY is called LOCKPORT_API_KEY now; the former name still works.\n",
    );
    expect((await remote("model list", { env: { PROXY_API_KEY: "lp_wrong" } })).code).toBe(0);
    const none = await remote("model list", { env: { LOCKPORT_API_KEY: "" } });
    expect(none).toMatchObject({
      code: 77,
      messages: expect.stringContaining("Set LOCKPORT_API_KEY to an API key of the server that LOCKPORT_URL"),
    });
  });
});

test("a server that knows no dry run has deleted at once, and nothing says that it was left", async () => {
  const asked: string[] = [];
  const former = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      asked.push(`${request.method} ${pathname}${search}`);
      return Response.json({ deleted: "up" }, { headers: { "x-proxy-version": INTERFACE_VERSION } });
    },
  });
  const env = { LOCKPORT_URL: `http://127.0.0.1:${former.port}` };
  const { code, data, messages } = await remote("provider remove up", { env });
  await former.stop(true);
  expect({ code, data }).toEqual({ code: 1, data: "" });
  expect(messages).toContain("the deletion has been made, without a question");
  expect(messages).not.toContain("Nothing was changed");
  expect(asked).toEqual(["DELETE /admin/v1/providers/up?dry_run=1"]);
});
