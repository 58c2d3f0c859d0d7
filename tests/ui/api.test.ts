import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { MODELS, providerQuery, PROVIDERS, resolutionQuery } from "../../ui/api/catalog.ts";
import { fetchWholeList, ROWS_MAX } from "../../ui/api/resource.ts";
import { ALL_KEYS, MY_KEYS, PRINCIPALS } from "../../ui/api/people.ts";
import { fetchRequests, type PageQuery, teamSeriesQuery } from "../../ui/api/reports.ts";
import { fetchCsv } from "../../ui/api/csv.ts";
import { ApiFailure } from "../../ui/api/failure.ts";
import { listedModelsQuery } from "../../ui/api/models.ts";
import { meQuery, signInWithLink, signInWithPassword } from "../../ui/api/session.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { openPage, type TestPage } from "./page.ts";

let page: TestPage;
let upstream: ScriptedUpstream;

beforeEach(async () => {
  page = await openPage();
  upstream = await startUpstream({ script: (call) => call.reply({ body: '{"choices":[{"message":{}}]}' }) });
  await signInWithPassword(page.app.adminPassword);
  await PROVIDERS.create.run({ name: "acme", base_url: upstream.baseUrl, api_key: "secret" });
});
afterEach(async () => {
  await page.close();
  await upstream.stop();
});

/** Asks without a cache in between. */
async function ask<Answer>(options: { queryKey: readonly unknown[]; queryFn?: unknown }): Promise<Answer> {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  return await client.fetchQuery(options as Parameters<typeof client.fetchQuery<Answer>>[0]);
}

async function failureOf(asked: Promise<unknown>): Promise<ApiFailure> {
  const failure: unknown = await asked.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (failure instanceof ApiFailure) return failure;
  throw new Error(`no ApiFailure but ${String(failure)}`);
}

/** A request under each of these tags, and the model that they ask for. */
async function askTagged(...allTags: readonly string[]): Promise<void> {
  await MODELS.create.run({ alias: "tagged", provider: "acme", capabilities: ["chat"], upstream_name: "m" });
  for (const tags of allTags) {
    const asked = await page.app.api(
      "POST",
      "/v1/chat/completions",
      { model: "tagged", messages: [] },
      { authorization: `Bearer ${page.app.adminKey}`, "x-proxy-tags": tags },
    );
    expect(asked.status).toBe(200);
    await asked.text();
  }
}

describe("what is sent", () => {
  test("an alias with slashes, colons and dots stands in the path as one part, and only that model changes", async () => {
    const aliases = ["org/model:v1.2", "org", "org/model", "a/../b"];
    for (const alias of aliases) {
      await MODELS.create.run({ alias, provider: "acme", upstream_name: `up-${aliases.indexOf(alias)}` });
    }
    const changed = await MODELS.update.run({ id: "org/model:v1.2", patch: { hidden: true } });
    expect(changed).toMatchObject({ alias: "org/model:v1.2", hidden: true });
    expect(page.sent.at(-1)).toBe("/admin/v1/models/org%2Fmodel%3Av1.2");
    const { rows } = await MODELS.page({ provider: "acme" });
    expect(rows.filter(({ hidden }) => hidden).map(({ alias }) => alias)).toEqual(["org/model:v1.2"]);
    for (const alias of aliases) expect(await MODELS.remove.run({ id: alias })).toEqual({ deleted: alias });
    expect((await MODELS.page({})).rows).toEqual([]);
  });

  test("each tag is a parameter of its own, and what is undefined is left out", async () => {
    await askTagged("app:wiki,team:search", "app:wiki", "app:a&b=c+d");
    const { requests } = await fetchRequests(
      { tag: ["app:wiki", "team:search"], principal: undefined },
      { limit: 5 },
    );
    expect(page.sent.at(-1)).toBe("/stats/requests?tag=app%3Awiki&tag=team%3Asearch&limit=5");
    expect(requests.map(({ tags }) => tags)).toEqual([["app:wiki", "team:search"]]);
    expect((await fetchRequests({ tag: ["app:wiki"] }, {})).requests).toHaveLength(2);
    expect((await fetchRequests({ tag: [] }, {})).requests).toHaveLength(3);
  });

  test("an empty patch and a body of one field are bodies, not parts of the path", async () => {
    expect(await PROVIDERS.update.run({ id: "acme", patch: { enabled: false } })).toMatchObject({
      enabled: false,
    });
    expect(await PROVIDERS.update.run({ id: "acme", patch: {} })).toMatchObject({ enabled: false });
    expect(await PROVIDERS.update.run({ id: "acme", patch: { enabled: true } })).toMatchObject({
      enabled: true,
    });
    expect(page.sent.at(-1)).toBe("/admin/v1/providers/acme");
  });

  test("a name that is also a method of HTTP is a name", async () => {
    await MODELS.create.run({ alias: "get", provider: "acme", upstream_name: "get" });
    expect(await MODELS.update.run({ id: "get", patch: { alias: "delete" } })).toMatchObject({
      alias: "delete",
    });
    expect(await MODELS.remove.run({ id: "delete" })).toEqual({ deleted: "delete" });
  });
});

describe("what comes back", () => {
  test("instants keep their microseconds, and texts that look like dates, numbers or truth stay texts", async () => {
    const labels = [
      "2026-03-11",
      "2026-03-11T10:00:00Z",
      "12.50",
      "true",
      "null",
      " ",
      "Tue Mar 11 2025 10:00:00 GMT+0000 (UTC)",
    ];
    const created = [];
    for (const label of labels) created.push(await MY_KEYS.create.run({ label }));
    const raw = (await (await page.app.api("GET", "/my/keys")).json()) as { keys: { label: string }[] };
    const keys = await ask<unknown>(MY_KEYS.list());
    expect(keys).toEqual({ rows: raw.keys, total: raw.keys.length });
    expect(created.map(({ label }) => label)).toEqual(labels);
    for (const { created_at: createdAt } of created)
      expect(createdAt).toMatch(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/);
    for (const { id } of created) await MY_KEYS.remove.run({ id });
  });

  test("a report comes with its notes, and as CSV with the same filters", async () => {
    await askTagged("app:wiki,team:search", "app:wiki");
    const report = await ask(teamSeriesQuery({ bucket: "day", since: "2026-01-01", until: "2026-01-03" }));
    expect(report).toMatchObject({ bucket: "day", notes: { countedWindow: null, isTruncated: false } });
    const csv = await fetchCsv("/stats/requests", { tag: ["app:wiki", "team:search"], model: undefined });
    expect(page.sent.at(-1)).toBe("/stats/requests?tag=app%3Awiki&tag=team%3Asearch");
    expect((await csv.text()).trim().split("\r\n")).toHaveLength(2);
  });

  test("models come with prices only when they are asked for", async () => {
    await MODELS.create.run({
      alias: "priced",
      provider: "acme",
      upstream_name: "p",
      pricing: { input_tokens: 2.5 },
    });
    expect(await ask(listedModelsQuery())).not.toContainEqual(
      expect.objectContaining({ pricing: expect.anything() }),
    );
    expect(await ask(listedModelsQuery({ includePricing: true }))).toContainEqual(
      expect.objectContaining({ id: "priced", pricing: { input_tokens: 2.5 } }),
    );
    await MODELS.remove.run({ id: "priced" });
  });

  test("a list longer than a page comes whole, and stops at the limit", async () => {
    const asked: number[] = [];
    const fetchPage = (total: number) => async (query: PageQuery) => {
      const { limit = 0, offset = 0 } = query;
      asked.push(offset);
      // The first row of a page was the last of the one before: somebody added one meanwhile.
      const rows = Array.from({ length: Math.min(limit, total - offset) }, (_, row) =>
        Math.max(0, offset + row - 1),
      );
      return { rows, total };
    };
    const three = await fetchWholeList(fetchPage(1200), String);
    expect(asked).toEqual([0, 500, 1000]);
    expect(new Set(three.rows).size).toBe(three.rows.length);
    const endless = await fetchWholeList(fetchPage(10 * ROWS_MAX), String);
    expect([asked.length - 3, endless.total]).toEqual([ROWS_MAX / 500, 10 * ROWS_MAX]);
    expect(endless.rows.length).toBeLessThanOrEqual(ROWS_MAX);
  });

  test("a filter by principal that matches nobody is an empty list", async () => {
    expect(await ALL_KEYS.page({ principal: "nobody" })).toEqual({ rows: [], total: 0 });
  });
});

describe("failures", () => {
  test("a refusal is the server's code, status, sentence and field", async () => {
    const failure = await failureOf(
      MODELS.create.run({ alias: "bad alias!", provider: "acme", upstream_name: "m" }),
    );
    expect(failure).toMatchObject({ code: "invalid_name", status: 400, param: "alias", source: "proxy" });
    expect(failure.message).toStartWith("An alias is ");
    const shape = await failureOf(
      PROVIDERS.create.run(JSON.parse('{"name":"x","base_url":"http://x/v1","nmae":1}')),
    );
    expect(shape).toMatchObject({ code: "invalid_request", status: 400, param: "nmae" });
    const missing = await failureOf(ask(providerQuery("nobody")));
    expect(missing).toMatchObject({ code: "provider_not_found", status: 404, param: null });
    const resolution = await failureOf(ask(resolutionQuery({ model: "2026-03-11" })));
    expect(resolution).toMatchObject({ code: "model_not_found", status: 404 });
  });

  test("without a server it is offline, which is no refusal", async () => {
    const gone = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    page.moveTo(`http://127.0.0.1:${gone.port}`);
    await gone.stop(true);
    const asked = [
      () => ask(meQuery()),
      () => fetchCsv("/my/usage", {}),
      () => MY_KEYS.remove.run({ id: "x" }),
    ];
    for (const question of asked) {
      const failure = await failureOf(question());
      expect(failure).toMatchObject({ code: "offline", status: 0, source: "page" });
      expect(failure.cause).toBeInstanceOf(Error);
    }
    page.moveTo(page.app.url);
  });

  test.each([
    ["a page of a proxy in between", 200, "text/html", "<title>Sign in</title>"],
    ["an error page", 502, "text/html", "<h1>Bad gateway</h1>"],
    ["a plain number", 200, "text/plain", "200"],
    ["JSON of somebody else", 403, "application/json", '{"message":"no"}'],
    ["JSON that is cut short", 200, "application/json", '{"authenticated":tr'],
    ["nothing", 200, "application/json", ""],
    ["null", 200, "application/json", "null"],
  ])("%s is unreadable_answer, not data", async (_, status, type, body) => {
    const other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response(body, { status, headers: { "content-type": type } }),
    });
    page.moveTo(`http://127.0.0.1:${other.port}`);
    expect(await failureOf(ask(meQuery()))).toMatchObject({ code: "unreadable_answer", source: "page" });
    page.moveTo(page.app.url);
    await other.stop(true);
  });

  test("a question that is given up ends as an abort, which is shown to nobody", async () => {
    const slow = Promise.withResolvers<Response>();
    const arrived = Promise.withResolvers<null>();
    const other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => {
        arrived.resolve(null);
        return slow.promise;
      },
    });
    page.moveTo(`http://127.0.0.1:${other.port}`);
    for (const question of [
      (signal: AbortSignal) => MODELS.page({}, signal),
      (signal: AbortSignal) => fetchCsv("/my/usage", {}, { signal }),
    ]) {
      const giveUp = new AbortController();
      const asked = question(giveUp.signal).catch((thrown: unknown) => thrown);
      await arrived.promise;
      giveUp.abort();
      const thrown = await asked;
      expect(thrown).not.toBeInstanceOf(ApiFailure);
      expect(thrown).toMatchObject({ name: "AbortError" });
    }
    slow.resolve(new Response());
    page.moveTo(page.app.url);
    await other.stop(true);
  });
});

describe("a change", () => {
  test("makes the views stale that it shows in, and no other", async () => {
    const client = new QueryClient();
    const fresh: readonly (readonly unknown[])[] = [
      MODELS.list().queryKey,
      listedModelsQuery({ includePricing: true }).queryKey,
      ["admin", "pricing"],
      ["admin", "events", {}],
      meQuery().queryKey,
      MY_KEYS.list().queryKey,
    ];
    for (const queryKey of fresh) client.setQueryData(queryKey, []);
    const run = client.getMutationCache().build(client, MODELS.create);
    await run.execute({ alias: "changed", provider: "acme", upstream_name: "c" });
    expect(fresh.map((queryKey) => client.getQueryState(queryKey)?.isInvalidated)).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
    ]);
    await MODELS.remove.run({ id: "changed" });
  });

  test("of people reaches keys, tokens and who one is oneself, also when it was refused", async () => {
    const client = new QueryClient();
    const { id } = await PRINCIPALS.create.run({ name: "grace" });
    for (const list of ["principals", "keys", "relay-tokens"]) client.setQueryData(["admin", list], []);
    client.setQueryData(meQuery().queryKey, await ask(meQuery()));
    const run = client.getMutationCache().build(client, PRINCIPALS.update);
    const patch = JSON.parse('{"role":"owner"}');
    expect(await failureOf(run.execute({ id, patch }))).toMatchObject({
      code: "invalid_request",
      param: "role",
    });
    for (const list of ["principals", "keys", "relay-tokens"]) {
      expect(client.getQueryState(["admin", list])?.isInvalidated).toBe(true);
    }
    // One's own role, too: who is no admin any more is not to go on among pages that refuse everything.
    expect(client.getQueryState(meQuery().queryKey)?.isInvalidated).toBe(true);
  });
});

describe("the session", () => {
  test("begins with the password or a link, is known by name, and ends at the server", async () => {
    expect(await ask(meQuery())).toMatchObject({ authenticated: true, name: "admin", role: "admin" });
    await fetch("/auth/logout", { redirect: "manual" });
    expect(await ask(meQuery())).toEqual({
      authenticated: false,
      sso_enabled: false,
      password_enabled: true,
    });
    expect(await failureOf(ask(MY_KEYS.list()))).toMatchObject({ code: "missing_api_key", status: 401 });
    expect(await failureOf(signInWithPassword("guess"))).toMatchObject({
      code: "wrong_password",
      status: 401,
    });
    const token = await page.app.makeLoginToken();
    expect(await signInWithLink(token)).toEqual({ name: "admin", role: "admin" });
    expect(await failureOf(signInWithLink(token))).toMatchObject({ code: "invalid_login_link" });
    expect(await ask(meQuery())).toMatchObject({ authenticated: true });
  });
});
