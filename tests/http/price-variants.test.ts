import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { FEED_ENTRIES_MAX } from "#catalog/feed.ts";
import { PRICES_MAX } from "#catalog/pricing.ts";
import { VARIANTS_MAX } from "#catalog/variant-list.ts";
import { call, expectError, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness({ config: { maxBodyBytes: 16 * 1024 * 1024 } });
  await harness.deps.catalog.createProvider({ name: "acme", base_url: "http://127.0.0.1:9/v1" }, null);
});
afterEach(() => harness.stop());

const MODELS = "/admin/v1/models";
const FLEX = { when: { tier: "flex" }, pricing: { input_tokens: 0.5, output_tokens: 2 } };
const LONG = { when: { input_over: 200_000 }, pricing: { input_tokens: 4 } };
const PRICING = { input_tokens: 1, output_tokens: 4 };

const send = (method: string, path: string, body?: unknown) =>
  call(harness, method, path, body === undefined ? {} : { body });
const read = async (response: Response) => {
  const text = await response.text();
  expect([response.status, text]).toEqual([response.status < 300 ? response.status : 200, text]);
  return JSON.parse(text);
};
const create = async (alias: string, fields: object = {}) =>
  read(await send("POST", MODELS, { alias, provider: "acme", upstream_name: "up", ...fields }));
const name = async (alias: string, target: string, fields: object = {}) =>
  read(await send("POST", MODELS, { alias, target, ...fields }));
const patch = async (alias: string, body: unknown) => read(await send("PATCH", `${MODELS}/${alias}`, body));
const load = async (entries: unknown, version = "2026-03") =>
  read(await send("POST", "/admin/v1/pricing", { version, entries }));
const variantsOf = async (alias: string) => {
  const { models } = await read(await send("GET", MODELS));
  return models.find((model: { alias: string }) => model.alias === alias)?.price_variants;
};
const exported = async () => read(await send("GET", "/admin/v1/catalog"));

describe("price variants of a model", () => {
  test("are written when it is made, and stand wherever its pricing does, in their order", async () => {
    const made = await create("m", { pricing: PRICING, price_variants: [LONG, FLEX] });
    expect(made.price_variants).toEqual([LONG, FLEX]);
    expect(made.pricing).toEqual(PRICING);
    expect(await variantsOf("m")).toEqual([LONG, FLEX]);
    const listed = await read(await send("GET", "/v1/models?include_pricing=1"));
    expect(listed.data[0].price_variants).toEqual([LONG, FLEX]);
    expect("price_variants" in (await read(await send("GET", "/v1/models"))).data[0]).toBe(false);
    expect((await exported()).models.m.price_variants).toEqual([LONG, FLEX]);
    const { entries, variants } = await read(await send("GET", "/admin/v1/pricing"));
    expect(entries.map(({ price_per_million }: { price_per_million: number }) => price_per_million)).toEqual([
      1, 4,
    ]);
    expect(variants).toEqual([
      { model: "m", ...LONG, version: null },
      { model: "m", ...FLEX, version: null },
    ]);
  });

  test("are absent from every view where there are none, also where they were removed", async () => {
    await create("m", { pricing: PRICING, price_variants: [] });
    await create("n", { price_variants: [FLEX] });
    for (const none of [null, []]) {
      await patch("n", { price_variants: [FLEX] });
      expect("price_variants" in (await patch("n", { price_variants: none }))).toBe(false);
    }
    for (const alias of ["m", "n"]) expect(await variantsOf(alias)).toBeUndefined();
    const listed = await read(await send("GET", "/v1/models?include_pricing=1"));
    for (const entry of listed.data) expect("price_variants" in entry).toBe(false);
    expect("variants" in (await read(await send("GET", "/admin/v1/pricing")))).toBe(false);
  });

  test("and pricing leave one another when one is changed", async () => {
    await create("m", { pricing: PRICING, price_variants: [FLEX] });
    expect(await patch("m", { pricing: { input_tokens: 9 } })).toMatchObject({
      pricing: { input_tokens: 9 },
      price_variants: [FLEX],
    });
    expect(await patch("m", { hidden: true })).toMatchObject({ price_variants: [FLEX] });
    expect(await patch("m", { price_variants: [LONG] })).toMatchObject({
      pricing: { input_tokens: 9 },
      price_variants: [LONG],
    });
  });

  test("are inherited whole by a name for it, and replaced whole, never mixed", async () => {
    await create("m", { pricing: PRICING, price_variants: [FLEX, LONG] });
    expect((await name("n", "m")).price_variants).toEqual([FLEX, LONG]);
    const other = { when: { geo: "us" }, pricing: { input_tokens: 1.1 } };
    expect((await patch("n", { price_variants: [other] })).price_variants).toEqual([other]);
    expect(await variantsOf("m")).toEqual([FLEX, LONG]);
    // Without its own it inherits again.
    expect((await patch("n", { price_variants: null })).price_variants).toEqual([FLEX, LONG]);
    await patch("m", { price_variants: [LONG] });
    expect(await variantsOf("n")).toEqual([LONG]);
  });

  test("of its upstream name hold for a model without a list of its own, and not where an empty one was written", async () => {
    await load([{ model: "up", unit: "input_tokens", when: { tier: "flex" }, price_per_million: 0.5 }]);
    const fed = [{ when: { tier: "flex" }, pricing: { input_tokens: 0.5 } }];
    expect((await create("m", { pricing: PRICING })).price_variants).toEqual(fed);
    await name("n", "m");
    expect("price_variants" in (await patch("m", { price_variants: [] }))).toBe(false);
    expect(await variantsOf("n")).toBeUndefined();
    await create("other");
    expect(await variantsOf("other")).toEqual(fed);
    // An empty list of a name for a target is none: it inherits the target's.
    await patch("n", { price_variants: [] });
    await patch("m", { price_variants: [LONG] });
    expect(await variantsOf("n")).toEqual([LONG]);
  });

  test("follow a rename, win over those that a feed set by the new name, and go with the model", async () => {
    await create("m", { price_variants: [FLEX] });
    await load([{ model: "new", unit: "input_tokens", when: { geo: "us" }, price_per_million: 7 }]);
    expect((await patch("m", { alias: "new" })).price_variants).toEqual([FLEX]);
    expect((await create("m")).price_variants).toBeUndefined();
    const dry = await read(await send("DELETE", `${MODELS}/new?dry_run=1`));
    expect(dry.sentence).toContain("The prices that were set with it go with it.");
    expect(await variantsOf("new")).toEqual([FLEX]);
    await read(await send("DELETE", `${MODELS}/new`));
    expect((await create("new")).price_variants).toBeUndefined();
  });

  test("of a feed stay when the model of their name is deleted", async () => {
    await create("m");
    await load([{ model: "m", unit: "input_tokens", when: { tier: "flex" }, price_per_million: 7 }]);
    await read(await send("DELETE", `${MODELS}/m`));
    expect((await create("m")).price_variants).toEqual([
      { when: { tier: "flex" }, pricing: { input_tokens: 7 } },
    ]);
  });

  test("change the entity tag, and one that was read before them is refused", async () => {
    await create("m", { pricing: PRICING });
    const first = await send("PATCH", `${MODELS}/m`, { price_variants: [FLEX] });
    const tag = first.headers.get("etag") ?? "";
    const second = await call(harness, "PATCH", `${MODELS}/m`, {
      body: { price_variants: [LONG] },
      headers: { authorization: `Bearer ${harness.adminKey}`, "if-match": tag },
    });
    expect(second.status).toBe(200);
    expect(second.headers.get("etag")).not.toBe(tag);
    const late = {
      body: { price_variants: [] },
      headers: { authorization: `Bearer ${harness.adminKey}`, "if-match": tag },
    };
    await expectError(await call(harness, "PATCH", `${MODELS}/m`, late), "412 changed_meanwhile");
    expect(await variantsOf("m")).toEqual([LONG]);
  });
});

describe("conditions", () => {
  test("are normalized as answers are: lower case, other characters replaced, cut at 32", async () => {
    const when = { tier: "Premium Tier/é", geo: `EU-${"x".repeat(40)}`, input_over: 1, hours: "23:30-24:00" };
    const {
      price_variants: [variant],
    } = await create("m", {
      price_variants: [{ when, pricing: { requests: 1 } }],
    });
    expect(variant.when).toEqual({
      tier: "premium_tier__",
      input_over: 1,
      geo: `eu-${"x".repeat(29)}`,
      hours: "23:30-24:00",
    });
  });

  test("name the speed fast beside another tier as rows do", async () => {
    const made = await create("m", {
      price_variants: [{ when: { tier: "Priority+fast" }, pricing: { requests: 1 } }],
    });
    expect(made.price_variants[0].when).toEqual({ tier: "priority+fast" });
  });

  test("may pass midnight, and 24:00 may be an end", async () => {
    const hours = ["22:00-04:00", "00:00-24:00", "23:59-00:00", "00:00-00:01"];
    const list = hours.map((each) => ({ when: { hours: each }, pricing: { requests: 1 } }));
    expect((await create("m", { price_variants: list })).price_variants).toEqual(list);
  });

  const one = (when: unknown, pricing: unknown = { input_tokens: 1 }) => [FLEX, { when, pricing }];
  const CASES: readonly (readonly [list: unknown, param: string, code?: string])[] = [
    [one({}), "price_variants[1].when"],
    [one(null), "price_variants[1].when"],
    [one([]), "price_variants[1].when"],
    [one("flex"), "price_variants[1].when"],
    [one({ tier: "" }), "price_variants[1].when.tier"],
    [one({ tier: null }), "price_variants[1].when.tier"],
    [one({ tier: "Default" }), "price_variants[1].when.tier"],
    [one({ tier: "standard" }), "price_variants[1].when.tier"],
    [one({ tier: "AUTO" }), "price_variants[1].when.tier"],
    [one({ tier: "on_demand" }), "price_variants[1].when.tier"],
    [one({ geo: "global" }), "price_variants[1].when.geo"],
    [one({ geo: "Not_Available" }), "price_variants[1].when.geo"],
    [one({ geo: 5 }), "price_variants[1].when.geo"],
    [one({ input_over: 0 }), "price_variants[1].when.input_over"],
    [one({ input_over: -1 }), "price_variants[1].when.input_over"],
    [one({ input_over: 1.5 }), "price_variants[1].when.input_over"],
    [one({ input_over: "200000" }), "price_variants[1].when.input_over"],
    [one({ input_over: 1e300 }), "price_variants[1].when.input_over"],
    [one({ hours: "04:00-04:00" }), "price_variants[1].when.hours"],
    [one({ hours: "24:00-04:00" }), "price_variants[1].when.hours"],
    [one({ hours: "4:00-05:00" }), "price_variants[1].when.hours"],
    [one({ hours: "04:60-05:00" }), "price_variants[1].when.hours"],
    [one({ hours: "04:00-24:01" }), "price_variants[1].when.hours"],
    [one({ hours: "04:00-25:00" }), "price_variants[1].when.hours"],
    [one({ hours: "04:00 - 05:00" }), "price_variants[1].when.hours"],
    [one({ hours: "04:00-05:00\n" }), "price_variants[1].when.hours"],
    [one({ hours: 4 }), "price_variants[1].when.hours"],
    [one({ tier: "priority", region: "us" }), "price_variants[1].when.region"],
    [one({ tier: "FLEX" }), "price_variants[1].when"],
    [one({ tier: "priority" }, {}), "price_variants[1].pricing"],
    [one({ tier: "priority" }, { input_tokens: null }), "price_variants[1].pricing"],
    [one({ tier: "priority" }, null), "price_variants[1].pricing"],
    [one({ tier: "priority" }, [1]), "price_variants[1].pricing"],
    [[FLEX, { when: { tier: "priority" } }], "price_variants[1].pricing"],
    [[FLEX, { pricing: { input_tokens: 1 } }], "price_variants[1].when"],
    [[{ ...FLEX, currency: "EUR" }], "price_variants[0].currency"],
    [[5], "price_variants[0]"],
    [[null], "price_variants[0]"],
    [
      Array.from({ length: VARIANTS_MAX + 1 }, (_, at) => ({ ...LONG, when: { input_over: at + 1 } })),
      "price_variants",
    ],
    [
      one({ tier: "priority" }, { input_tokens: -1 }),
      "price_variants[1].pricing.input_tokens",
      "invalid_pricing",
    ],
    [
      one({ tier: "priority" }, { input_tokens: "1" }),
      "price_variants[1].pricing.input_tokens",
      "invalid_pricing",
    ],
    [
      one({ tier: "priority" }, { output_tokens: 1e-7 }),
      "price_variants[1].pricing.output_tokens",
      "invalid_pricing",
    ],
    [one({ tier: "priority" }, { tokens: 1 }), "price_variants[1].pricing.tokens", "invalid_pricing"],
    ["flex", "price_variants", "invalid_request"],
    [{ flex: 1 }, "price_variants", "invalid_request"],
  ];
  test.each(CASES)(
    "%j is refused, param %s, and nothing is changed",
    async (list, param, code = "invalid_price_variants") => {
      await create("m", { pricing: PRICING, price_variants: [LONG] });
      const before = await exported();
      await expectError(await send("PATCH", `${MODELS}/m`, { price_variants: list }), `400 ${code}`, param);
      const body = { alias: "other", provider: "acme", upstream_name: "up", price_variants: list };
      await expectError(await send("POST", MODELS, body), `400 ${code}`, param);
      const preview = { model: "m", price_variants: list };
      await expectError(await send("POST", "/admin/v1/pricing/preview", preview), `400 ${code}`, param);
      expect(await exported()).toEqual(before);
    },
  );

  test("hours are alike by the minutes of the day, and variants that differ in one condition are not", async () => {
    const at = (when: object) => ({ when, pricing: { requests: 1 } });
    const alike = [at({ hours: "22:00-24:00" }), at({ hours: "22:00-00:00" })];
    await expectError(
      await send("POST", MODELS, {
        alias: "m",
        provider: "acme",
        upstream_name: "up",
        price_variants: alike,
      }),
      "400 invalid_price_variants",
      "price_variants[1].when",
    );
    const whole = Array.from({ length: VARIANTS_MAX }, (_, index) =>
      at({ tier: "flex", input_over: index + 1 }),
    );
    expect((await create("m", { price_variants: whole })).price_variants).toEqual(whole);
  });
});

describe("feed lines with when", () => {
  const line = (model: string, unit: string, when: object, price: number) => ({
    model,
    unit,
    when,
    price_per_million: price,
  });

  test("go into the variant of that name with equal conditions, and make a new one behind the others", async () => {
    await create("m", { pricing: PRICING, price_variants: [FLEX, LONG] });
    await load([
      line("m", "cached_input_tokens", { tier: "FLEX" }, 0.1),
      line("m", "input_tokens", { geo: "us" }, 1.1),
      { model: "m", unit: "input_tokens", price_per_million: 9 },
      line("m", "output_tokens", { geo: "us" }, 4.4),
    ]);
    expect(await variantsOf("m")).toEqual([
      { when: { tier: "flex" }, pricing: { ...FLEX.pricing, cached_input_tokens: 0.1 } },
      LONG,
      { when: { geo: "us" }, pricing: { input_tokens: 1.1, output_tokens: 4.4 } },
    ]);
    const { variants, entries } = await read(await send("GET", "/admin/v1/pricing"));
    expect(variants.map(({ version }: { version: string }) => version)).toEqual([
      "2026-03",
      "2026-03",
      "2026-03",
    ]);
    expect(entries.find(({ unit }: { unit: string }) => unit === "input_tokens").price_per_million).toBe(9);
  });

  test("may price one unit of one model by several conditions, and by equal ones once", async () => {
    expect(
      await load([
        line("m", "input_tokens", { tier: "flex" }, 1),
        line("m", "input_tokens", { tier: "flex", geo: "us" }, 2),
        { model: "m", unit: "input_tokens", price_per_million: 3 },
      ]),
    ).toMatchObject({ entries: 3 });
    const twice = [
      line("m", "input_tokens", { tier: "flex" }, 1),
      line("m", "input_tokens", { tier: "Flex" }, 2),
    ];
    await expectError(
      await send("POST", "/admin/v1/pricing", { version: "v", entries: twice }),
      "400 invalid_pricing",
      "entries[1]",
    );
  });

  test.each([
    [{}, "entries[1].when"],
    [null, "entries[1].when"],
    [{ tier: "standard" }, "entries[1].when.tier"],
    [{ hours: "01:00-01:00" }, "entries[1].when.hours"],
    [{ region: "us" }, "entries[1].when.region"],
  ])("that say %j are refused, param %s, and nothing of the feed is loaded", async (when, param) => {
    const good = { model: "m", unit: "input_tokens", price_per_million: 1 };
    const entries = [good, { ...good, when }];
    await expectError(
      await send("POST", "/admin/v1/pricing", { version: "v", entries }),
      "400 invalid_price_variants",
      param,
    );
    expect((await read(await send("GET", "/admin/v1/pricing"))).entries).toEqual([]);
  });

  test("leave a name at most as many variants as a model may have, and the book at most as many prices", async () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, at) => line("m", "input_tokens", { input_over: at + 1 }, 1));
    await load(many(VARIANTS_MAX));
    await expectError(
      await send("POST", "/admin/v1/pricing", { version: "v", entries: many(VARIANTS_MAX + 1).slice(-1) }),
      "400 invalid_price_variants",
      "entries[0].when",
    );
    const others = (from: number) =>
      Array.from({ length: FEED_ENTRIES_MAX }, (_, at) =>
        line(`x${from + at}`, "input_tokens", { tier: "flex" }, 1),
      );
    await load(others(0));
    await expectError(
      await send("POST", "/admin/v1/pricing", {
        version: "v",
        entries: others(PRICES_MAX - FEED_ENTRIES_MAX),
      }),
      "400 invalid_pricing",
      "entries",
    );
    // Those that are there may be changed.
    await load(others(0).map((entry) => Object.assign(entry, { price_per_million: 2 })));
  });
});

describe("the catalog file", () => {
  const apply = async (file: unknown, query = "") =>
    read(await send("POST", `/admin/v1/catalog${query}`, file));

  test("has them with their model or their feed, and applied where it came from it changes nothing", async () => {
    await create("m", { pricing: PRICING, price_variants: [FLEX, LONG] });
    await create("none", { price_variants: [] });
    await name("n", "m", { price_variants: [LONG] });
    await load([{ model: "up", unit: "input_tokens", when: { tier: "flex" }, price_per_million: 0.5 }]);
    const file = await exported();
    expect(file.models.m.price_variants).toEqual([FLEX, LONG]);
    expect(file.models.none.price_variants).toEqual([]);
    expect(file.feeds).toEqual([
      {
        version: "2026-03",
        prices: {},
        variants: { up: [{ when: { tier: "flex" }, pricing: { input_tokens: 0.5 } }] },
      },
    ]);
    for (const query of ["", "?prune=1", "?add_only=1"])
      expect(await apply(file, query)).toMatchObject({ changes: [], kept: { prices: 0 } });
  });

  test("tells which lists change, brings them about, and with prune takes away those of feeds that it has not", async () => {
    await create("m", { price_variants: [FLEX] });
    await load([{ model: "x", unit: "input_tokens", when: { tier: "flex" }, price_per_million: 0.5 }]);
    const file = await exported();
    const changed = {
      ...file,
      models: { m: { ...file.models.m, price_variants: [LONG] } },
      feeds: [],
    };
    const dry = await apply(changed, "?dry_run=1&prune=1");
    expect(dry.changes).toEqual([
      {
        action: "update",
        kind: "model",
        name: "m",
        before: { price_variants: [FLEX] },
        after: { price_variants: [LONG] },
      },
      {
        action: "delete",
        kind: "feed",
        name: "2026-03",
        before: {
          prices: {},
          variants: { x: [{ when: { tier: "flex" }, pricing: { input_tokens: 0.5 } }] },
        },
        after: null,
      },
    ]);
    expect(await variantsOf("m")).toEqual([FLEX]);
    expect((await apply(changed)).kept).toMatchObject({ prices: 1 });
    expect(await variantsOf("m")).toEqual([LONG]);
    await apply(changed, "?prune=1");
    expect("variants" in (await exported())).toBe(false);
    const { price_variants: _, ...without } = changed.models.m;
    await apply({ ...changed, models: { m: without } });
    expect(await variantsOf("m")).toBeUndefined();
  });

  const REFUSED: readonly (readonly [
    { models?: Record<string, object>; feeds?: object[] },
    string,
    string,
  ])[] = [
    [
      { models: { m: { price_variants: [{ ...FLEX, when: { hours: "x" } }] } } },
      "models.m.price_variants[0].when.hours",
      "invalid_price_variants",
    ],
    [
      { models: { m: { price_variants: [{ ...FLEX, pricing: { input_tokens: -1 } }] } } },
      "models.m.price_variants[0].pricing.input_tokens",
      "invalid_pricing",
    ],
    [
      { feeds: [{ version: "v", prices: {}, variants: { up: [FLEX, FLEX] } }] },
      "feeds[0].variants.up[1].when",
      "invalid_price_variants",
    ],
    [
      {
        feeds: [
          { version: "v", prices: {}, variants: { up: [FLEX] } },
          { version: "w", prices: {}, variants: { up: [LONG] } },
        ],
      },
      "feeds[1].variants.up",
      "invalid_price_variants",
    ],
  ];
  test.each(REFUSED)(
    "is refused where a list is none: %j, param %s",
    async ({ models = {}, feeds = [] }, param, code) => {
      const file = {
        lockport_catalog: 1,
        providers: { acme: { base_url: "http://127.0.0.1:9/v1" } },
        models: Object.fromEntries(
          Object.entries(models).map(([alias, model]) => [
            alias,
            { provider: "acme", upstream_name: "up", ...model },
          ]),
        ),
        feeds,
      };
      await expectError(await send("POST", "/admin/v1/catalog", file), `400 ${code}`, param);
      expect((await exported()).models).toEqual({});
    },
  );
});

describe("POST /admin/v1/pricing/preview", () => {
  test("names who would have other variants, those that inherit them included, and changes nothing", async () => {
    await create("m", { pricing: PRICING, price_variants: [FLEX] });
    await name("n", "m");
    await name("own", "m", { price_variants: [LONG] });
    const { names } = await read(
      await send("POST", "/admin/v1/pricing/preview", { model: "m", price_variants: [LONG] }),
    );
    const changed = { price_variants_before: [FLEX], price_variants_after: [LONG], pricing_before: PRICING };
    expect(names).toMatchObject([
      { name: "m", ...changed },
      { name: "n", ...changed },
    ]);
    expect(names).toHaveLength(2);
    expect(await variantsOf("m")).toEqual([FLEX]);
    const entries = [{ model: "m", unit: "input_tokens", when: { tier: "flex" }, price_per_million: 9 }];
    const fed = await read(await send("POST", "/admin/v1/pricing/preview", { entries }));
    expect(fed.names[0].price_variants_after).toEqual([
      { when: { tier: "flex" }, pricing: { input_tokens: 9, output_tokens: 2 } },
    ]);
  });
});
