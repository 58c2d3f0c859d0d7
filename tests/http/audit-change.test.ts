import { afterEach, beforeEach, expect, test } from "bun:test";
import { CHANGE_BYTES_MAX, VALUE_BYTES_MAX } from "#audit/change.ts";
import { call, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness({ config: { maxBodyBytes: 16 * 1024 * 1024 } });
});
afterEach(() => harness.stop());

const send = async (method: string, path: string, body?: unknown) => {
  const answer = await call(harness, method, path, body === undefined ? {} : { body });
  const text = await answer.text();
  expect({ path, text, ok: answer.ok }).toMatchObject({ ok: true });
  return text === "" ? {} : JSON.parse(text);
};
const readText = async () => (await call(harness, "GET", "/admin/v1/events?limit=500")).text();
const readEvents = async (): Promise<readonly any[]> => JSON.parse(await readText()).events;
/** The newest event of an action: what it says of its target, without the target. */
const told = async (action: string) => (await readEvents()).find((event) => event.action === action)?.change;

const UPSTREAM = { name: "acme", base_url: "http://127.0.0.1:9/v1" };
const MODEL = { alias: "m", provider: "acme", upstream_name: "up", pricing: { input_tokens: 2.5 } };

test("a change of a principal tells each field that differs before and after, and none that stays", async () => {
  const ann = await send("POST", "/admin/v1/principals", { name: "ann" });
  expect(await told("principal.create")).toEqual({
    label: "ann",
    sentence: "kind user, role member, enabled yes",
    fields: [
      { field: "kind", before: null, after: "user" },
      { field: "role", before: null, after: "member" },
      { field: "enabled", before: null, after: true },
    ],
    omitted: 0,
  });
  await send("PATCH", `/admin/v1/principals/${ann.id}`, { role: "admin", enabled: true, tags: ["team:a"] });
  expect(await told("principal.update")).toEqual({
    label: "ann",
    sentence: "role member → admin, tags none → team:a",
    fields: [
      { field: "role", before: "member", after: "admin" },
      { field: "tags", before: [], after: ["team:a"] },
    ],
    omitted: 0,
  });
});

test("a target's label and what went with it are told after its deletion, though its id alone is its reference", async () => {
  const ann = await send("POST", "/admin/v1/principals", { name: "ann" });
  const key = await send("POST", "/admin/v1/keys", { principal: "ann", label: "laptop" });
  const limit = {
    name: "ann-month",
    subject: { principal: "ann" },
    measure: "cost",
    amount: 50,
    window: "month",
  };
  await send("POST", "/admin/v1/limits", limit);
  await send("POST", `/admin/v1/keys/${key.id}/rotate`, {});
  await send("DELETE", `/admin/v1/principals/${ann.id}`);

  const events = await readEvents();
  expect(events[0]).toMatchObject({
    action: "principal.delete",
    target_ref: ann.id,
    change: { label: "ann", sentence: expect.stringContaining("keys laptop, limits ann-month") },
  });
  expect(events.find(({ action }) => action === "key.rotate").change).toMatchObject({
    label: "laptop of ann",
    fields: [{ field: "suffix", before: key.key_suffix, after: expect.stringMatching(/^\w{4}$/) }],
  });
  expect(await told("key.create")).toMatchObject({ label: "laptop of ann" });
  expect(await told("limit.create")).toMatchObject({
    label: "ann-month",
    fields: expect.arrayContaining([{ field: "amount", before: null, after: 50 }]),
  });
  expect(await readText()).not.toContain(key.key);
});

test("a change of a limit tells its amount in the currency, and its deletion all that it was", async () => {
  const body = { name: "all", subject: {}, measure: "cost", amount: 50, window: "month" };
  const limit = await send("POST", "/admin/v1/limits", body);
  await send("PATCH", `/admin/v1/limits/${limit.id}`, { amount: 80, action: "warn" });
  expect(await told("limit.update")).toMatchObject({
    label: "all",
    sentence: "amount 50 → 80, action refuse → warn",
  });
  await send("DELETE", `/admin/v1/limits/${limit.id}`);
  expect(await told("limit.delete")).toMatchObject({
    fields: expect.arrayContaining([{ field: "amount", before: 80, after: null }]),
  });
});

test("a price is told per million before and after, whether a request, a file or a feed has set it", async () => {
  await send("POST", "/admin/v1/providers", UPSTREAM);
  await send("POST", "/admin/v1/models", MODEL);
  await send("PATCH", "/admin/v1/models/m", { pricing: { input_tokens: 3, output_tokens: 9 } });
  const pricing = {
    field: "pricing",
    before: { input_tokens: 2.5 },
    after: { input_tokens: 3, output_tokens: 9 },
  };
  expect(await told("model.update")).toEqual({
    label: null,
    sentence: "input tokens $2.50 → $3.00, output tokens none → $9.00",
    fields: [pricing],
    omitted: 0,
  });

  const { alias: _, pricing: __, ...route } = MODEL;
  const file = {
    lockport_catalog: 1,
    providers: { acme: { base_url: UPSTREAM.base_url } },
    models: { m: { ...route, prices: { input_tokens: 2.5 } } },
  };
  await send("POST", "/admin/v1/catalog?dry_run=1", file);
  expect((await told("model.update")).fields).toEqual([pricing]);
  await send("POST", "/admin/v1/catalog", file);
  expect((await told("model.update")).fields).toEqual([
    { field: "pricing", before: pricing.after, after: pricing.before },
  ]);

  await send("POST", "/admin/v1/pricing", {
    version: "2026-11",
    entries: [
      { model: "m", unit: "input_tokens", price_per_million: 4 },
      { model: "m", unit: "output_tokens", price_per_million: 8, effective_from: "2999-01-01" },
    ],
  });
  expect(await told("pricing.load")).toMatchObject({
    sentence:
      "m input tokens $2.50 → $4.00, m prices to come effective from 2999-01-01 00:00 UTC, pricing output tokens $8.00",
    fields: [
      { field: "pricing.m", before: { input_tokens: 2.5 }, after: { input_tokens: 4 } },
      { field: "prices_to_come.m", before: null },
    ],
  });
});

test("a renamed model is told as one that has changed its name, and one that goes with its provider as it was", async () => {
  await send("POST", "/admin/v1/providers", UPSTREAM);
  await send("POST", "/admin/v1/models", MODEL);
  await send("PATCH", "/admin/v1/models/m", { alias: "n", hidden: true });
  expect(await told("model.update")).toMatchObject({ sentence: "alias m → n, hidden no → yes" });
  await send("DELETE", "/admin/v1/providers/acme");
  expect(await told("model.delete")).toMatchObject({
    fields: expect.arrayContaining([
      { field: "provider", before: "acme", after: null },
      { field: "pricing", before: { input_tokens: 2.5 }, after: null },
    ]),
  });
});

test("a credential is told as set, replaced or removed, and no part of it is in any event", async () => {
  const secrets = ["sk-first-of-acme", "sk-second-of-acme"];
  const [first, second] = secrets;
  await send("POST", "/admin/v1/providers", { ...UPSTREAM, api_key: first });
  expect(await told("provider.create")).toMatchObject({
    sentence: expect.stringContaining("api key set"),
    fields: expect.arrayContaining([{ field: "api_key", before: null, after: "set", secret: true }]),
  });
  await send("PATCH", "/admin/v1/providers/acme", { api_key: second });
  expect(await told("provider.update")).toMatchObject({
    sentence: "api key replaced",
    fields: [{ field: "api_key", before: "set", after: "set", secret: true }],
  });
  const { credential_set_at: setAt } = await send("GET", "/admin/v1/providers/acme");
  expect(setAt).toMatch(/^\d{4}-\d\d-\d\dT/);
  // It is sealed anew for the new address, and is the same credential.
  const moved = await send("PATCH", "/admin/v1/providers/acme", { base_url: "http://127.0.0.1:8/v1" });
  expect(moved).toMatchObject({ has_credential: true, credential_set_at: setAt });
  expect((await told("provider.update")).fields.map(({ field }: any) => field)).toEqual(["base_url"]);
  await send("PATCH", "/admin/v1/providers/acme", { api_key: second });
  expect((await send("GET", "/admin/v1/providers/acme")).credential_set_at > setAt).toBe(true);
  const removed = await send("PATCH", "/admin/v1/providers/acme", { remove_credential: true });
  expect(removed).not.toHaveProperty("credential_set_at");
  expect(await told("provider.update")).toMatchObject({ sentence: "api key removed" });
  const text = await readText();
  for (const secret of secrets) expect(text).not.toContain(secret);
});

test("a change that is too long is cut, says so, and stays below its limit in bytes", async () => {
  const entries = Array.from({ length: 5_000 }, (_, index) => ({
    model: `vendor/model-${index}`,
    unit: "input_tokens",
    price_per_million: 1 + index,
  }));
  await send("POST", "/admin/v1/pricing", { version: "long", entries });
  const change = await told("pricing.load");
  expect(change.fields.length + change.omitted).toBe(5_000);
  expect(change.omitted).toBeGreaterThan(4_000);
  expect(JSON.stringify(change.fields).length).toBeLessThan(CHANGE_BYTES_MAX * 1.1);
  expect(change.sentence).toEndWith(`and ${5_000 - change.sentence.split(", ").length} more`);

  const models = Array.from({ length: 100 }, (_, index) => `a-model-of-a-rather-long-name-${index}`);
  await send("POST", "/admin/v1/keys", { principal: "admin", label: "many", models });
  const ofModels = (await told("key.create")).fields.find(({ field }: any) => field === "models");
  expect(ofModels).toMatchObject({ cut: true, before: null });
  expect(ofModels.after.length).toBeLessThan(100);
  expect(JSON.stringify(ofModels.after).length).toBeLessThanOrEqual(VALUE_BYTES_MAX);
});

test("people of a file are told as requests are, and their deletion with what went along", async () => {
  const file = {
    lockport_catalog: 1,
    principals: { admin: { role: "admin" }, ann: {} },
    limits: { all: { measure: "requests", amount: 10, window: "day" } },
  };
  await send("POST", "/admin/v1/catalog", file);
  expect(await told("limit.create")).toMatchObject({
    label: "all",
    fields: expect.arrayContaining([{ field: "amount", before: null, after: 10 }]),
  });
  const next = {
    ...file,
    principals: { admin: { role: "admin" }, ann: { role: "admin" } },
    limits: { all: { measure: "requests", amount: 20, window: "day" } },
  };
  await send("POST", "/admin/v1/catalog", next);
  expect(await told("principal.update")).toMatchObject({ label: "ann", sentence: "role member → admin" });
  expect(await told("limit.update")).toMatchObject({ label: "all", sentence: "amount 10 → 20" });
  await send("POST", "/admin/v1/keys", { principal: "ann", label: "laptop" });
  await send("POST", "/admin/v1/catalog?prune=1", {
    lockport_catalog: 1,
    principals: { admin: { role: "admin" } },
  });
  expect(await told("principal.delete")).toMatchObject({
    label: "ann",
    fields: expect.arrayContaining([{ field: "keys", before: ["laptop"], after: null }]),
  });
});
