import { expect, test } from "bun:test";
import { join } from "node:path";
import { createLog } from "#kernel/log.ts";
import { runLocal } from "../cli/terminal.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { isOnPostgres } from "../support/engine.ts";
import { makeFolder } from "../support/folder.ts";
import { changeStored } from "../support/stored.ts";
import { startUpstream } from "../support/upstream.ts";

const FAR = "9223372036854775807";
const PLANTED = "planted";

async function startWithModels() {
  const folder = makeFolder();
  const dataDir = join(folder.path, "data");
  const app: TestApp = await startApp({ dataDir });
  const change = async (method: string, path: string, body?: object) => {
    const response = await app.api(method, `/admin/v1/${path}`, body);
    const text = response.status === 204 ? "{}" : await response.text();
    const { error = {} } = JSON.parse(text);
    return [response.status, error.code ?? null, error.message ?? null];
  };
  const bind = (alias: string, provider: string) =>
    change("POST", "models", { alias, provider, upstream_name: "u", capabilities: ["chat"] });
  for (const name of ["up", "lost"])
    await change("POST", "providers", { name, base_url: "http://127.0.0.1:9/v1" });
  for (const [alias, provider] of [
    ["good", "up"],
    ["bad", "up"],
    ["orphan", "lost"],
  ] as const)
    expect((await bind(alias, provider))[0]).toBe(201);
  expect((await change("POST", "models", { alias: "name", target: "bad" }))[0]).toBe(201);
  return { folder, dataDir, app, change, bind };
}

test("a change that needs the name or the provider of a row that is out of force is a conflict that names the row, and changes nothing", async () => {
  const { folder, dataDir, app, change, bind } = await startWithModels();
  const path = join(dataDir, "catalog.db");
  try {
    await changeStored(path, [
      `UPDATE providers SET endpoints = '{"teleport":"http://${PLANTED}"}' WHERE name = 'lost'`,
      `UPDATE models SET capabilities = '["${PLANTED}"]' WHERE alias = 'bad'`,
    ]);
    // PostgreSQL's replicas follow the log of changes alone.
    expect((await change("POST", "models", { alias: "later", target: "good" }))[0]).toBe(201);
    const outOfForce = (noun: string) =>
      `${noun} is in the database and not in force, since its row or one that it needs cannot be read: correct or delete that row, as lockport doctor says.`;
    for (const alias of ["bad", "orphan", "name"]) {
      const taken = [409, "alias_exists", outOfForce(`A model "${alias}"`)];
      expect(await bind(alias, "up")).toEqual(taken);
      expect(await change("POST", "models", { alias, target: "good" })).toEqual(taken);
      expect(await change("PATCH", "models/good", { alias })).toEqual(taken);
    }
    const provider = { base_url: "http://127.0.0.1:9/v1" };
    const taken = [409, "provider_exists", outOfForce('A provider "lost"')];
    expect(await change("POST", "providers", { name: "lost", ...provider })).toEqual(taken);
    const file = { lockport_catalog: 1, providers: { lost: provider }, models: {} };
    expect(await change("POST", "catalog", file)).toEqual(taken);
    const kept = [409, "model_in_use", outOfForce('A model "bad" of this provider')];
    expect(await change("DELETE", "providers/up")).toEqual(kept);
    expect(await change("POST", "catalog?prune=1", { ...file, providers: { third: provider } })).toEqual(
      kept,
    );
    const listed: any = await (await app.api("GET", "/v1/models")).json();
    expect(listed.data).toMatchObject([{ id: "good" }, { id: "later" }]);

    await changeStored(path, ["DELETE FROM models WHERE alias IN ('name', 'bad', 'orphan')"]);
    expect((await bind("bad", "up"))[0]).toBe(201);
    expect((await change("DELETE", "providers/up"))[0]).toBeLessThan(300);
  } finally {
    await app.stop();
    folder.remove();
  }
});

test("a provider whose auth_style this version does not know is out of force: its credential goes in no header by guess", async () => {
  const { folder, dataDir, app, change } = await startWithModels();
  try {
    await changeStored(join(dataDir, "catalog.db"), [
      `UPDATE providers SET auth_style = '${PLANTED}' WHERE name = 'lost'`,
    ]);
    // PostgreSQL's replicas follow the log of changes alone.
    expect((await change("POST", "models", { alias: "later", target: "good" }))[0]).toBe(201);
    const { data }: { data: { id: string }[] } = JSON.parse(
      await (await app.api("GET", "/v1/models")).text(),
    );
    expect(data.map(({ id }) => id)).toEqual(["bad", "good", "later", "name"]);
    const asked = await app.api("POST", "/v1/chat/completions", { model: "orphan", messages: [] });
    expect([asked.status, await asked.text()]).toEqual([404, expect.not.stringContaining(PLANTED)]);
  } finally {
    await app.stop();
    folder.remove();
  }
});

test("rows that were written by hand put themselves out of force and nothing else, open nothing, and are named in the log and by doctor", async () => {
  const folder = makeFolder();
  const dataDir = join(folder.path, "data");
  const upstream = await startUpstream();
  let app: TestApp = await startApp({ dataDir });
  const make = async (path: string, body: object): Promise<any> => {
    const response = await app.api("POST", path, body);
    expect({ path, ok: response.ok }).toEqual({ path, ok: true });
    return await response.json();
  };
  const by = (key: string) => ({ authorization: `Bearer ${key}` });
  const statusOf = async (key: string, model = "good") => {
    const asked = app.api("POST", "/v1/chat/completions", { model, messages: [] }, by(key));
    const call = await Promise.race([upstream.nextCall(), asked.then(() => null)]);
    if (call !== null) await call.reply({ body: "{}" });
    return (await asked).status;
  };
  for (const name of ["up", "lost"]) await make("/admin/v1/providers", { name, base_url: upstream.baseUrl });
  for (const [alias, provider] of [
    ["good", "up"],
    ["bad", "up"],
    ["orphan", "lost"],
  ])
    await make("/admin/v1/models", { alias, provider, upstream_name: "u", capabilities: ["chat"] });
  await make("/admin/v1/models", { alias: "name", target: "bad" });
  const keys: { id: string; key: string }[] = [];
  for (const label of ["free", "listed", "limited", "far", "word", "tagged"])
    keys.push(await make("/admin/v1/keys", { principal: "admin", label, models: ["good"] }));
  const [free, listed, limited, far, word, tagged] = keys;
  const ann = await make("/admin/v1/principals", { name: "ann" });
  const annKey = await make("/admin/v1/keys", { principal: "ann" });
  await make("/admin/v1/limits", {
    name: "budget",
    subject: { key: limited!.id },
    measure: "requests",
    amount: 1000,
    window: "day",
  });
  await app.stop();
  await changeStored(join(dataDir, "catalog.db"), [
    `UPDATE providers SET endpoints = '{"teleport":"http://${PLANTED}"}' WHERE name = 'lost'`,
    `UPDATE models SET capabilities = '["${PLANTED}"]' WHERE alias = 'bad'`,
    `UPDATE api_keys SET models = '${PLANTED}' WHERE id = '${listed!.id}'`,
    `UPDATE api_keys SET expires_at_us = ${FAR}, created_at_us = ${FAR} WHERE id = '${far!.id}'`,
    // PostgreSQL takes no word for a number.
    `UPDATE api_keys SET expires_at_us = ${isOnPostgres ? "0" : `'${PLANTED}'`} WHERE id = '${word!.id}'`,
    `UPDATE limits SET amount = '${PLANTED}' WHERE name = 'budget'`,
    `UPDATE api_keys SET tags = '["${PLANTED}"]' WHERE id = '${tagged!.id}'`,
    `UPDATE principals SET tags = '${PLANTED}' WHERE id = '${ann.id}'`,
    `UPDATE principals SET created_at_us = -${FAR}`,
  ]);
  const lines: string[] = [];
  const log = createLog({
    level: "warn",
    json: true,
    write: (line) => lines.push(line),
    timestamp: () => "",
  });
  app = await startApp({ dataDir }, { log });

  expect((await app.api("GET", "/healthz")).status).toBe(200);
  const { data }: any = await (await app.api("GET", "/v1/models")).json();
  expect(data.map(({ id }: { id: string }) => id)).toEqual(["good"]);
  expect(await statusOf(free!.key)).toBe(200);
  expect(await statusOf(far!.key)).toBe(200);
  for (const model of ["bad", "orphan", "name"]) expect(await statusOf(app.adminKey, model)).toBe(404);
  expect(await statusOf(listed!.key)).toBe(404);
  for (const { key } of [word!, tagged!, annKey]) expect(await statusOf(key)).toBe(401);
  expect(await statusOf(limited!.key)).toBe(429);
  expect(upstream.requests).toHaveLength(2);
  for (const list of ["keys", "principals", "providers", "models", "limits"]) {
    const response = await app.api("GET", `/admin/v1/${list}`);
    expect({ list, status: response.status }).toEqual({ list, status: 200 });
    expect(await response.text()).not.toContain(PLANTED);
  }
  await make("/admin/v1/models", { alias: "later", target: "good" });
  const told = lines.map((line) => JSON.parse(line)).map(({ table, column }) => `${table}.${column}`);
  expect(told.toSorted()).toEqual([
    "api_keys.models",
    "api_keys.tags",
    "limits.amount",
    "models.capabilities",
    "principals.tags",
    "providers.endpoints",
  ]);
  expect(JSON.parse(lines.find((line) => line.includes(listed!.id))!)).toMatchObject({
    level: "error",
    id: listed!.id,
  });
  await app.stop();
  await upstream.stop();

  const { code, data: printed } = await runLocal(dataDir, ["doctor", "--json"], { env: { PROXY_PORT: "0" } });
  const { checks }: { checks: { name: string; finding: string }[] } = JSON.parse(printed);
  const rows = checks.find(({ name }) => name === "catalog rows");
  expect({ code, rows }).toMatchObject({ code: 1, rows: { status: "fail" } });
  expect(rows!.finding).toStartWith("6 rows cannot be read: providers ");
  expect(rows!.finding).toContain(`api_keys ${listed!.id} (models)`);
  expect(printed + lines.join("")).not.toContain(PLANTED);
  folder.remove();
});
