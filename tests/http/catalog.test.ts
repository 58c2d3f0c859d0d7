import { afterEach, beforeEach, expect, test } from "bun:test";
import { call, expectError, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

const CATALOG = "/admin/v1/catalog";
const FILE = {
  lockport_catalog: 1,
  providers: { up: { base_url: "http://127.0.0.1:9/v1", api_key: "sk-catalog-secret" } },
  models: { "org/a:1": { provider: "up", upstream_name: "u", prices: { input_tokens: 1.25 } } },
};
const post = (body: unknown, query = "") => call(harness, "POST", `${CATALOG}${query}`, { body });
const readFile = async () => (await call(harness, "GET", CATALOG)).json();
const readEvents = async () => (await call(harness, "GET", "/admin/v1/events")).text();

test("a catalog that is posted is what is read afterwards, audited without its secrets", async () => {
  const before = await readFile();
  for (const dryRun of ["1", "true"]) {
    const told = await (await post(FILE, `?dry_run=${dryRun}`)).json();
    expect(told).toMatchObject({ applied: false, changes: [{ kind: "provider" }, { kind: "model" }] });
    expect(await readFile()).toEqual(before);
  }
  const answer = await (await post(FILE)).text();
  expect(JSON.parse(answer)).toMatchObject({
    applied: true,
    changes: [
      { action: "create", kind: "provider", name: "up", before: null, credential: "set" },
      { action: "create", kind: "model", name: "org/a:1", after: { pricing: { input_tokens: 1.25 } } },
    ],
  });
  const file = await readFile();
  expect(file.models).toEqual({
    "org/a:1": { ...FILE.models["org/a:1"], capabilities: ["chat", "chat_stream"] },
  });
  const events = await readEvents();
  expect(JSON.parse(events).events.map(({ action }: { action: string }) => action)).toEqual([
    "model.create",
    "provider.create",
  ]);
  expect((await (await post(file)).json()).changes).toEqual([]);
  expect(await readEvents()).toBe(events);
  for (const text of [answer, events, JSON.stringify(file)]) expect(text).not.toContain("sk-catalog-secret");
});

test("a catalog that is read can be posted whatever characters an upstream name has, and changes nothing", async () => {
  const name = "a\u2028b";
  const feed = { version: "v", prices: { [name]: { input_tokens: 1 } } };
  const model = { provider: "up", upstream_name: name };
  expect((await post({ ...FILE, models: { m: model }, feeds: [feed] })).status).toBe(200);
  const file = await readFile();
  expect(file.feeds).toEqual([feed]);
  const again = await post(file);
  expect(again.status).toBe(200);
  expect((await again.json()).changes).toEqual([]);
});

test("prices to come are read and posted, and one that has begun is refused with its place", async () => {
  const prices_to_come = [
    { effective_from: "2999-01-01T00:00:00.000000Z", model: "org/a:1", prices: { input_tokens: 2 } },
    {
      effective_from: "2999-01-01T00:00:00.000000Z",
      model: "u",
      feed: "v",
      price_variants: [{ when: { tier: "flex" }, pricing: { input_tokens: 1 } }],
    },
  ];
  expect((await post({ ...FILE, prices_to_come })).status).toBe(200);
  const file = await readFile();
  expect(file.prices_to_come).toEqual(prices_to_come);
  expect((await (await post(file, "?prune=1")).json()).changes).toEqual([]);
  const { schedule } = await (await call(harness, "GET", "/admin/v1/pricing/schedule")).json();
  expect(schedule).toMatchObject([
    { model: "org/a:1", source: "model", pricing: { input_tokens: 2 } },
    { model: "u", source: "feed", version: "v", price_variants: prices_to_come[1]?.price_variants },
  ]);
  const begun = [{ ...prices_to_come[0], effective_from: "2020-01-01" }];
  const param = "prices_to_come[0].effective_from";
  await expectError(await post({ ...FILE, prices_to_come: begun }), "400 invalid_date", param);
  expect((await (await post({ lockport_catalog: 1, prices_to_come: [] }, "?dry_run=1")).json()).kept).toEqual(
    {
      providers: 1,
      models: 1,
      prices: 0,
      prices_to_come: 2,
    },
  );
});

test("a provider's name with a line end is refused as a name, not as a field", async () => {
  const providers = { "a\nb": FILE.providers.up };
  await expectError(await post({ ...FILE, providers, models: {} }), "400 invalid_name", "providers");
});

const REFUSED: readonly (readonly [what: string, body: unknown, query: string, param: string | null])[] = [
  ["a dry run that is spelled wrong", FILE, "?dry_run=yes", "dry_run"],
  ["a dry run that is said twice", FILE, "?dry_run=1&dry_run=0", "dry_run"],
  ["prune beside add_only", FILE, "?prune=1&add_only=1", "add_only"],
  ["another format", { ...FILE, lockport_catalog: 2 }, "", "lockport_catalog"],
  [
    "a field of the wrong type",
    { ...FILE, models: { "org/a:1": { hidden: 3 } } },
    "",
    "models.org/a:1.hidden",
  ],
  [
    "a field that a provider does not have",
    { ...FILE, providers: { up: { base_url: "x", key: "y" } } },
    "",
    "providers.up.key",
  ],
];
for (const [what, body, query, param] of REFUSED) {
  test(`a catalog with ${what} is refused, and nothing is changed`, async () => {
    const before = await readFile();
    await expectError(await post(body, query), "400 invalid_request", param);
    expect(await readFile()).toEqual(before);
    expect(await readEvents()).not.toContain("create");
  });
}
