import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { callApi } from "../support/installation.ts";
import { createCaller, expectError, openSession, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

async function send(method: string, path: string, body?: unknown, key = harness.adminKey): Promise<Response> {
  return await callApi(harness.url, key, method, path, body);
}

async function make(path: string, body: unknown): Promise<any> {
  const response = await send("POST", `/admin/v1${path}`, body);
  expect(response.status).toBe(201);
  return await response.json();
}

/** Everything that a deletion could change, the audit trail included. */
async function readAll(): Promise<unknown> {
  const paths = ["catalog", "principals", "keys", "relay-tokens", "limits", "events"];
  const lists = paths.map(async (path) => (await send("GET", `/admin/v1/${path}`)).json());
  return await Promise.all([...lists, harness.deps.principals.listSessions(null)]);
}

/** Asks for a deletion, and sees that nothing has changed. */
async function ask(path: string, key = harness.adminKey): Promise<any> {
  const before = await readAll();
  const response = await send("DELETE", `${path}?dry_run=1`, undefined, key);
  expect(response.status).toBe(200);
  const told: any = await response.json();
  expect(await readAll()).toEqual(before);
  expect(told).toMatchObject({ deleted: path.split("/").at(-1)!.replace("%2F", "/"), applied: false });
  return told;
}

async function makeModels(): Promise<void> {
  await make("/providers", { name: "acme", base_url: "http://127.0.0.1:9/v1" });
  await make("/models", { alias: "big", provider: "acme", upstream_name: "m", pricing: { input_tokens: 1 } });
  await make("/models", { alias: "small", provider: "acme", upstream_name: "s" });
  await make("/models", { alias: "team/fast", target: "big" });
}

describe("DELETE with dry_run=1 answers what would be deleted, and changes nothing", () => {
  test("of a provider its models and the names for them", async () => {
    await makeModels();
    await make("/providers", { name: "bare", base_url: "http://127.0.0.1:9/v1" });
    expect(await ask("/admin/v1/providers/acme")).toEqual({
      deleted: "acme",
      applied: false,
      sentence:
        "The provider acme serves 2 models that go with it: big, small. 1 other name of them goes too: team/fast.",
      models: ["big", "small"],
      names: ["team/fast"],
    });
    expect((await ask("/admin/v1/providers/bare")).sentence).toBe("The provider bare serves no models.");
    await send("DELETE", "/admin/v1/providers/acme?dry_run=0");
    const { models }: any = await (await send("GET", "/admin/v1/models")).json();
    expect(models).toEqual([]);
  });

  test("of a model the prices that were set with it", async () => {
    await makeModels();
    expect(await ask("/admin/v1/models/team%2Ffast")).toEqual({
      deleted: "team/fast",
      applied: false,
      sentence: "The model team/fast is a name for big.",
      prices: [],
    });
    await send("DELETE", "/admin/v1/models/team%2Ffast");
    expect(await ask("/admin/v1/models/big")).toEqual({
      deleted: "big",
      applied: false,
      sentence: "The model big is m of acme. The prices that were set with it go with it.",
      prices: ["input_tokens"],
    });
  });

  test("of a principal its keys, relay tokens, sessions and limits, and of those nothing secret", async () => {
    const { principal, key } = await createCaller(harness, "ada");
    await openSession(harness, principal);
    const token: any = await (await send("POST", "/my/relay-tokens", { label: "claude" }, key)).json();
    const { keys }: any = await (await send("GET", "/my/keys", undefined, key)).json();
    const draft = { measure: "requests", amount: 5, window: "day" };
    const monthly = await make("/limits", { ...draft, name: "ada", subject: { principal: "ada" } });
    const ofKey = await make("/limits", { ...draft, name: "key", subject: { key: keys[0].id } });
    await make("/limits", { ...draft, name: "all", subject: {} });
    const told = await ask(`/admin/v1/principals/${principal.id}`);
    expect(told).toEqual({
      deleted: principal.id,
      applied: false,
      sentence: expect.stringMatching(
        /^The member ada has key ….{4}( \(\w+\))?, relay token ….{4} \(claude\), which stop working at once\. 1 browser session ends\. What was used stays under the name\. 2 limits go with it: ada, key\.$/,
      ),
      name: "ada",
      keys: [{ id: keys[0].id, key_suffix: keys[0].key_suffix, label: keys[0].label }],
      relay_tokens: [{ id: token.id, token_suffix: token.token_suffix, label: "claude" }],
      sessions: 1,
      limits: [monthly, ofKey].map(({ id, name }) => ({ id, name })),
    });
    expect(JSON.stringify(told)).not.toContain(key);
    expect(JSON.stringify(told)).not.toContain(token.token);
  });

  test("of a key and a relay token when it was last used, and its limits; its owner is told of those that it sees", async () => {
    const { key } = await createCaller(harness, "ada");
    const token: any = await (await send("POST", "/my/relay-tokens", {}, key)).json();
    const made: any = await (await send("POST", "/my/keys", { label: "laptop" }, key)).json();
    const draft = { measure: "requests", amount: 5, window: "day" };
    const on = await make("/limits", { ...draft, name: "on", subject: { key: made.id } });
    const off = await make("/limits", { ...draft, name: "off", subject: { key: made.id }, enabled: false });
    const limits = [on, off].map(({ id, name }) => ({ id, name }));
    const sentence = `The key …${made.key_suffix} (laptop) of ada was never used.`;
    expect(await ask(`/admin/v1/keys/${made.id}`)).toEqual({
      deleted: made.id,
      applied: false,
      sentence: `${sentence} 2 limits go with it: on, off.`,
      last_used_at: null,
      limits,
    });
    await send("GET", "/my/keys", undefined, made.key);
    const own = await ask(`/my/keys/${made.id}`, key);
    expect(own).toMatchObject({ limits: limits.slice(0, 1), last_used_at: expect.any(String) });
    expect(own.sentence).toMatch(
      / was last used \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\. A limit goes with it: on\.$/,
    );
    for (const path of ["/my/relay-tokens", "/admin/v1/relay-tokens"])
      expect(await ask(`${path}/${token.id}`, path === "/my/relay-tokens" ? key : undefined)).toMatchObject({
        sentence: `The relay token …${token.token_suffix} of ada was never used.`,
        limits: [],
      });
  });

  test("of a limit what it is", async () => {
    const draft = { name: "all", subject: {}, measure: "cost", amount: 50, window: "month" };
    const { id } = await make("/limits", draft);
    expect(await ask(`/admin/v1/limits/${id}`)).toEqual({
      deleted: id,
      applied: false,
      sentence: "The limit all: At most $50.00 a month for everybody: requests beyond it are refused.",
      name: "all",
    });
  });
});

test("a deletion that would be refused is refused when it is only asked for", async () => {
  await makeModels();
  const { key } = await createCaller(harness, "eve");
  const { key: other } = await createCaller(harness, "ada");
  const { keys }: any = await (await send("GET", "/my/keys", undefined, other)).json();
  const unknown = "01900000-0000-7000-8000-000000000000";
  for (const [path, status, code, as] of [
    ["/admin/v1/models/big", 409, "model_in_use", undefined],
    ["/admin/v1/models/none", 404, "model_not_found", undefined],
    ["/admin/v1/providers/none", 404, "provider_not_found", undefined],
    [`/admin/v1/principals/${harness.adminId}`, 409, "last_admin", undefined],
    [`/admin/v1/principals/${unknown}`, 404, "principal_not_found", undefined],
    [`/admin/v1/limits/${unknown}`, 404, "limit_not_found", undefined],
    [`/my/keys/${keys[0].id}`, 404, "key_not_found", key],
    [`/my/relay-tokens/${unknown}`, 404, "relay_token_not_found", key],
    ["/admin/v1/providers/acme", 403, "admin_required", key],
  ] as const) {
    const answers = [];
    for (const query of ["?dry_run=1", ""]) {
      const response = await send("DELETE", path + query, undefined, as);
      const { error }: any = await response.clone().json();
      answers.push(error);
      await expectError(response, `${status} ${code}`, error.param);
    }
    expect(answers[0]).toEqual(answers[1]);
  }
  for (const path of ["/admin/v1/providers/acme", `/admin/v1/principals/${harness.adminId}`]) {
    const stale = { "if-match": '"0000000000000000"' };
    const url = `${path}?dry_run=1`;
    const response = await callApi(harness.url, harness.adminKey, "DELETE", url, undefined, stale);
    await expectError(response, "412 changed_meanwhile");
  }
});

test("a dry run that is spelled wrong deletes nothing, wherever something can be deleted", async () => {
  await makeModels();
  const { principal, key } = await createCaller(harness, "ada");
  const token: any = await (await send("POST", "/my/relay-tokens", {}, key)).json();
  const { keys }: any = await (await send("GET", "/my/keys", undefined, key)).json();
  const draft = { name: "all", subject: {}, measure: "cost", amount: 50, window: "month" };
  const limit = await make("/limits", draft);
  const before = await readAll();
  for (const [path, as] of [
    ["/admin/v1/providers/acme"],
    ["/admin/v1/models/small"],
    [`/admin/v1/principals/${principal.id}`],
    [`/admin/v1/limits/${limit.id}`],
    [`/admin/v1/keys/${keys[0].id}`],
    [`/admin/v1/relay-tokens/${token.id}`],
    [`/my/keys/${keys[0].id}`, key],
    [`/my/relay-tokens/${token.id}`, key],
  ] as const) {
    for (const query of ["dry_run=yes", "dry_run=", "dry_run=1&dry_run=0"]) {
      const response = await send("DELETE", `${path}?${query}`, undefined, as);
      await expectError(response, "400 invalid_request", "dry_run");
    }
    for (const query of ["dry-run=1", "dryRun=1", "dry_run=1&force=1", "DRY_RUN=1", "lp_secret"]) {
      const response = await send("DELETE", `${path}?${query}`, undefined, as);
      const { error }: any = await response.clone().json();
      await expectError(response, "400 invalid_request");
      expect(error.message).toContain("`dry_run`");
      expect(error.message.endsWith("Did you mean `dry_run`?")).toBe(/^(dry-run|dryRun)/.test(query));
      expect(error.message).not.toMatch(/force|secret|dry-run|dryRun/);
    }
  }
  expect(await readAll()).toEqual(before);
});

test("a catalog file whose dry run is misspelled is not applied", async () => {
  await makeModels();
  const before = await readAll();
  const response = await send("POST", "/admin/v1/catalog?dry-run=1&prune=1", { providers: [], models: [] });
  await expectError(response, "400 invalid_request");
  expect(await readAll()).toEqual(before);
});

test("who may not delete is told so before anything of the query", async () => {
  await makeModels();
  const { key } = await createCaller(harness, "eve");
  const response = await send("DELETE", "/admin/v1/providers/acme?dry-run=1", undefined, key);
  await expectError(response, "403 admin_required");
});
