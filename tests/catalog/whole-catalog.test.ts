import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { CatalogMode } from "#catalog/catalog-draft.ts";
import { toCatalogDraft, toCatalogFileView } from "#views/catalog-file.ts";
import { toCatalogOutcomeView } from "#views/catalog-outcome.ts";
import { scale } from "../support/scale.ts";
import { life, live } from "./lives.ts";
import { ADMIN, expectRefused, openTestCatalog, type TestCatalog } from "./support.ts";

const RUNS = 14 * scale;
/** All prices to come have taken force. */
const AFTER_ALL_US = Date.UTC(3000, 0) * 1000;

type CatalogFile = ReturnType<typeof toCatalogFileView>;
type CatalogJson = Parameters<typeof toCatalogDraft>[0];

const exportOf = async ({ catalog }: TestCatalog): Promise<CatalogFile> =>
  toCatalogFileView(await catalog.snapshot());

/** The file as a client sends it: with a key for each provider that has one. */
function withKeys(file: CatalogFile): CatalogJson {
  const providers = Object.entries(file.providers).map(([name, provider]) => [
    name,
    { ...provider, ...("api_key_env" in provider && { api_key: `sk-${name}` }) },
  ]);
  return { ...file, lockport_catalog: 1, providers: Object.fromEntries(providers) };
}

interface Applying {
  readonly mode?: CatalogMode;
  readonly isDryRun?: boolean;
}

async function apply(
  { catalog }: TestCatalog,
  file: CatalogJson,
  { mode = "keep", isDryRun = false }: Applying = {},
) {
  const outcome = await catalog.apply(toCatalogDraft(file), { mode, isDryRun, actor: ADMIN });
  return toCatalogOutcomeView(outcome, !isDryRun);
}

/** What a change is told of in the audit log; prices to come are those of a model or a feed, by what they become. */
function toTarget({ kind, name, before, after }: ReturnType<typeof toCatalogOutcomeView>["changes"][number]) {
  if (kind !== "prices_to_come") return `${kind} ${name}`;
  const { feed } = { feed: undefined, ...(after ?? before) };
  return feed === undefined ? `model ${name}` : `feed ${feed}`;
}

async function withCatalogs(run: (one: TestCatalog, other: TestCatalog) => Promise<void>): Promise<void> {
  const [one, other] = [await openTestCatalog(), await openTestCatalog()];
  try {
    await run(one, other);
  } finally {
    await one.close();
    await other.close();
  }
}

/** Routes and the prices in force, which a file does not tell directly. */
const inForce = async ({ catalog }: TestCatalog) =>
  (await catalog.snapshot()).models.map(({ model, bound, provider, upstreamName, prices, variants }) => ({
    alias: model.alias,
    hidden: model.hidden,
    bound: bound.alias,
    provider: provider.name,
    upstreamName,
    prices,
    variants,
  }));

describe("a catalog that is exported", () => {
  test(
    "makes an empty one the same, at the same prices, and is exported from there as the same file",
    () =>
      fc.assert(
        fc.asyncProperty(life, (operations) =>
          withCatalogs(async (one, other) => {
            await live(one.catalog, operations);
            const file = await exportOf(one);
            await apply(other, withKeys(file));
            expect(JSON.stringify(await exportOf(other))).toBe(JSON.stringify(file));
            expect(await inForce(other)).toEqual(await inForce(one));
            for (const catalog of [one, other]) catalog.goTo(AFTER_ALL_US);
            expect((await exportOf(one)).prices_to_come).toBeUndefined();
            expect(await inForce(other)).toEqual(await inForce(one));
          }),
        ),
        { numRuns: RUNS },
      ),
    120_000,
  );

  test(
    "changes nothing where it came from, and writes no audit event there",
    () =>
      fc.assert(
        fc.asyncProperty(life, async (operations) => {
          const one = await openTestCatalog();
          try {
            await live(one.catalog, operations);
            const before = await one.state();
            for (const mode of ["keep", "prune", "add"] as const) {
              const { changes, kept, missing } = await apply(
                one,
                { ...(await exportOf(one)), lockport_catalog: 1 },
                { mode },
              );
              expect({ changes, missing }).toEqual({ changes: [], missing: [] });
              expect(kept).toEqual({ providers: 0, models: 0, prices: 0 });
            }
            expect(await one.state()).toEqual(before);
          } finally {
            await one.close();
          }
        }),
        { numRuns: RUNS },
      ),
    120_000,
  );

  test(
    "brings any other one with prune to the same file at the same prices, and a second time changes nothing",
    () =>
      fc.assert(
        fc.asyncProperty(life, life, (operations, others) =>
          withCatalogs(async (one, other) => {
            await live(one.catalog, operations);
            await live(other.catalog, others);
            const file = await exportOf(one);
            const keyed = new Set(
              (await other.catalog.snapshot()).providers.flatMap(({ name, sealedCredential }) =>
                sealedCredential === null ? [] : [name],
              ),
            );
            await apply(other, withKeys(file), { mode: "prune" });
            expect(await inForce(other)).toEqual(await inForce(one));
            const { providers, models, feeds, prices_to_come: toCome } = await exportOf(other);
            expect(toCome).toEqual(file.prices_to_come);
            const { providers: wanted } = file;
            // Where a model came from stays as it is.
            const withoutOrigin = (all: typeof models) =>
              Object.entries(all).map(([alias, fields]) => [alias, { ...fields, origin: null }]);
            expect(withoutOrigin(models)).toEqual(withoutOrigin(file.models));
            expect(feeds).toEqual(file.feeds);
            const withoutKeys = (all: typeof providers) =>
              Object.entries(all).map(([name, fields]) => [name, { ...fields, api_key_env: null }]);
            expect(withoutKeys(providers)).toEqual(withoutKeys(wanted));
            for (const name of keyed)
              if (name in providers) expect(providers[name]).toHaveProperty("api_key_env");
            expect((await apply(other, withKeys(file), { mode: "prune" })).changes).toEqual([]);
          }),
        ),
        { numRuns: RUNS },
      ),
    240_000,
  );

  test(
    "is told in a dry run with the very changes that applying makes, and a dry run changes nothing",
    () =>
      fc.assert(
        fc.asyncProperty(life, life, fc.constantFrom("keep", "prune", "add"), (operations, others, mode) =>
          withCatalogs(async (one, other) => {
            await live(one.catalog, operations);
            await live(other.catalog, others);
            const file = withKeys(await exportOf(one));
            const before = await other.state();
            const attempt = (isDryRun: boolean) =>
              apply(other, file, { mode, isDryRun }).then(
                ({ changes, kept, missing }) => ({ changes, kept, missing }),
                ({ code, param }) => ({ code, param }),
              );
            const told = await attempt(true);
            expect(await other.state()).toEqual(before);
            const audited = (await other.audited()).length;
            const done = await attempt(false);
            expect(done).toEqual(told);
            if ("code" in done) expect(await other.state()).toEqual(before);
            else
              expect((await other.audited()).length - audited).toBe(new Set(done.changes.map(toTarget)).size);
            expect(JSON.stringify(told)).not.toContain("sk-");
          }),
        ),
        { numRuns: RUNS },
      ),
    240_000,
  );

  test(
    "without prune takes nothing away that it does not have",
    () =>
      fc.assert(
        fc.asyncProperty(life, life, (operations, others) =>
          withCatalogs(async (one, other) => {
            await live(one.catalog, operations);
            await live(other.catalog, others);
            const file = await exportOf(one);
            const before = await exportOf(other);
            const models = await inForce(other);
            const outcome = await apply(other, withKeys(file)).catch(({ code }) => {
              expect(code).toBe("invalid_target");
              return null;
            });
            if (outcome === null) return;
            // What the file has of a name and a moment takes the place of all that is there of both.
            const isReplaced = ({ kind, name, before: was }: (typeof outcome.changes)[number]) =>
              kind === "prices_to_come" &&
              file.prices_to_come?.some(
                ({ model, effective_from: from }) =>
                  model === name &&
                  from === Object.entries(was ?? {}).find(([field]) => field === "effective_from")?.[1],
              ) === true;
            expect(outcome.changes.filter((each) => each.action === "delete" && !isReplaced(each))).toEqual(
              [],
            );
            const kept = models.filter(({ alias }) => !(alias in file.models));
            expect(outcome.kept.models).toBe(kept.length);
            const after = await inForce(other);
            for (const { alias, upstreamName } of kept)
              if (!("target" in (before.models[alias] ?? {})))
                expect(after.find((each) => each.alias === alias)?.upstreamName).toBe(upstreamName);
            expect((await apply(other, withKeys(file))).changes).toEqual([]);
          }),
        ),
        { numRuns: RUNS },
      ),
    240_000,
  );
});

const FILE = {
  lockport_catalog: 1,
  providers: { up: { base_url: "http://10.0.0.1/v1", api_key: "sk-up" } },
  models: {
    a: { provider: "up", upstream_name: "u", prices: { input_tokens: 1.25 } },
    fast: { target: "a" },
  },
  feeds: [{ version: "v1", prices: { u: { output_tokens: 3 } } }],
} as const satisfies CatalogJson;

async function withOne(run: (one: TestCatalog) => Promise<void>): Promise<void> {
  const one = await openTestCatalog();
  try {
    await run(one);
  } finally {
    await one.close();
  }
}

describe("applying a catalog", () => {
  test("answers what changes with its prices in force, before and after, and writes one audit event for each", () =>
    withOne(async (one) => {
      const { changes } = await apply(one, FILE);
      expect(changes.map(({ action, kind, name }) => `${action} ${kind} ${name}`)).toEqual([
        "create provider up",
        "create model a",
        "create model fast",
        "create feed v1",
      ]);
      expect(changes[1]?.after).toMatchObject({
        pricing: { input_tokens: 1.25 },
        route: { provider: "up", upstream_name: "u" },
      });
      expect(await one.audited()).toEqual([
        "provider.create up",
        "model.create a",
        "model.create fast",
        "pricing.load v1",
      ]);
      const models = { ...FILE.models, a: { ...FILE.models.a, prices: { input_tokens: 2 }, hidden: true } };
      expect((await apply(one, { ...FILE, models })).changes).toEqual([
        {
          action: "update",
          kind: "model",
          name: "a",
          before: { pricing: { input_tokens: 1.25 }, hidden: false },
          after: { pricing: { input_tokens: 2 }, hidden: true },
        },
      ]);
      expect((await one.audited()).slice(4)).toEqual(["model.update a"]);
    }));

  test("never answers a key, sets one only where there was none, and says which are missing", () =>
    withOne(async (one) => {
      const { up } = FILE.providers;
      const keyless = { up: { base_url: up.base_url, api_key_env: "UP_API_KEY", ca_pem_file: "up.pem" } };
      expect((await apply(one, { ...FILE, providers: keyless })).missing).toEqual([
        { provider: "up", secret: "api_key" },
        { provider: "up", secret: "ca_pem" },
      ]);
      const given = await apply(one, FILE);
      expect(given.changes).toEqual([
        { action: "update", kind: "provider", name: "up", before: {}, after: {}, credential: "set" },
      ]);
      const other = { up: { ...up, api_key: "sk-other" } };
      expect((await apply(one, { ...FILE, providers: other })).changes).toEqual([]);
      const moved = { up: { base_url: "http://10.0.0.2/v1" } };
      expect((await apply(one, { ...FILE, providers: moved })).changes).toMatchObject([
        { after: { base_url: "http://10.0.0.2/v1" }, credential: "kept" },
      ]);
      const removed = await apply(one, { lockport_catalog: 1 }, { mode: "prune" });
      expect(removed.changes.map(({ action, name }) => `${action} ${name}`)).toEqual([
        "delete a",
        "delete fast",
        "delete v1",
        "delete up",
      ]);
      expect(JSON.stringify([given, removed])).not.toContain("sk-");
    }));

  const refused: readonly (readonly [what: string, file: CatalogJson, code: string, param: string])[] = [
    [
      "a price below zero",
      {
        ...FILE,
        models: { ...FILE.models, b: { provider: "up", upstream_name: "b", prices: { input_tokens: -1 } } },
      },
      "invalid_pricing",
      "models.b.prices.input_tokens",
    ],
    [
      "a capability that does not exist",
      {
        ...FILE,
        models: { "org/a:1": { provider: "up", upstream_name: "b", capabilities: ["chat", "fly"] } },
      },
      "invalid_request",
      "models.org/a:1.capabilities[1]",
    ],
    [
      "a provider that the file does not have, though the catalog does",
      { ...FILE, models: { b: { provider: "old", upstream_name: "b" } } },
      "provider_not_found",
      "models.b.provider",
    ],
    [
      "a target that the file does not have",
      { ...FILE, models: { b: { target: "x" } } },
      "invalid_target",
      "models.b.target",
    ],
    [
      "a target that is a name",
      { ...FILE, models: { ...FILE.models, faster: { target: "fast" } } },
      "invalid_target",
      "models.faster.target",
    ],
    [
      "a key that no header can hold",
      { ...FILE, providers: { up: { base_url: "http://10.0.0.1/v1", api_key: "sk\nx" } } },
      "invalid_request",
      "providers.up.api_key",
    ],
    [
      "a name that is none, which is not repeated",
      { ...FILE, providers: { "Sk Secret": { base_url: "http://x/v1" } } },
      "invalid_name",
      "providers",
    ],
    [
      "a base URL that is none",
      { ...FILE, providers: { up: { base_url: "10.0.0.1" } } },
      "invalid_base_url",
      "providers.up.base_url",
    ],
    [
      "a feed without a version",
      { ...FILE, feeds: [{ version: " ", prices: {} }] },
      "invalid_pricing",
      "feeds[0].version",
    ],
    [
      "a price of a feed that is too fine",
      { ...FILE, feeds: [{ version: "v", prices: { u: { input_tokens: 1e-9 } } }] },
      "invalid_pricing",
      "feeds[0].prices.u.input_tokens",
    ],
    [
      "a price that two feeds set",
      { ...FILE, feeds: [...FILE.feeds, { version: "v2", prices: { u: { output_tokens: 1 } } }] },
      "invalid_pricing",
      "feeds[1].prices.u.output_tokens",
    ],
    [
      "a binding that becomes a name while a name that stays points at it",
      { ...FILE, models: { ...FILE.models, pinned: { target: "a" } } },
      "invalid_target",
      "models.pinned.target",
    ],
  ];
  for (const [what, file, code, param] of refused) {
    test(`with ${what} is refused, and nothing of the rest is done`, () =>
      withOne(async (one) => {
        await apply(one, {
          lockport_catalog: 1,
          providers: { old: { base_url: "http://10.0.0.9/v1" } },
          models: { pinned: { provider: "old", upstream_name: "p" }, stays: { target: "pinned" } },
        });
        for (const isDryRun of [true, false])
          await expectRefused(one, () => apply(one, file, { isDryRun }), { code, param });
      }));
  }

  test("removes with prune the prices of feeds that it does not have, and keeps them otherwise", () =>
    withOne(async (one) => {
      await apply(one, FILE);
      const other = { ...FILE, feeds: [{ version: "v2", prices: { u: { input_tokens: 4 } } }] };
      expect((await apply(one, other)).kept).toEqual({ providers: 0, models: 0, prices: 1 });
      expect((await exportOf(one)).feeds.map(({ version }) => version)).toEqual(["v1", "v2"]);
      const { changes } = await apply(one, other, { mode: "prune" });
      expect(changes).toEqual([
        {
          action: "delete",
          kind: "feed",
          name: "v1",
          before: { prices: { u: { output_tokens: 3 } } },
          after: null,
        },
      ]);
      expect((await exportOf(one)).feeds).toEqual(other.feeds);
    }));

  const PAST = "2020-01-01T00:00:00.000000Z";
  const SOON = "2999-01-01T00:00:00.000000Z";
  const LATER = "2999-02-01T00:00:00.000000Z";
  const TO_COME = [
    { effective_from: SOON, model: "a", prices: { input_tokens: 3 } },
    { effective_from: SOON, model: "u", feed: "v2", prices: { output_tokens: 4 } },
  ] as const;
  const named = (changes: Awaited<ReturnType<typeof apply>>["changes"]) =>
    changes.map(({ action, kind, name }) => `${action} ${kind} ${name}`);

  test("sets prices to come, names each that is made, changed or removed, and keeps those that the file does not have", () =>
    withOne(async (one) => {
      const made = await apply(one, { ...FILE, prices_to_come: TO_COME });
      expect(named(made.changes).slice(4)).toEqual(["create prices_to_come a", "create prices_to_come u"]);
      expect((await one.audited()).slice(4)).toEqual(["pricing.load v2"]);
      expect((await exportOf(one)).prices_to_come).toEqual([...TO_COME]);
      // A file of before prices to come were in it leaves them alone.
      const { changes, kept } = await apply(one, FILE);
      expect({ changes, count: kept.prices_to_come }).toEqual({ changes: [], count: 2 });
      const moved = { ...TO_COME[1], effective_from: LATER };
      const dearer = { ...TO_COME[0], prices: { input_tokens: 5 }, price_variants: [] };
      expect((await apply(one, { ...FILE, prices_to_come: [dearer] }, { mode: "add" })).changes).toEqual([]);
      expect(
        (await apply(one, { ...FILE, prices_to_come: [dearer, moved] }, { mode: "prune" })).changes,
      ).toEqual([
        {
          action: "update",
          kind: "prices_to_come",
          name: "a",
          before: { effective_from: SOON, pricing: { input_tokens: 3 } },
          after: { effective_from: SOON, pricing: { input_tokens: 5 }, price_variants: [] },
        },
        {
          action: "delete",
          kind: "prices_to_come",
          name: "u",
          before: { effective_from: SOON, feed: "v2", pricing: { output_tokens: 4 } },
          after: null,
        },
        {
          action: "create",
          kind: "prices_to_come",
          name: "u",
          before: null,
          after: { effective_from: LATER, feed: "v2", pricing: { output_tokens: 4 } },
        },
      ]);
      expect((await one.audited()).slice(5)).toEqual(["model.update a", "pricing.unschedule v2"]);
      expect((await exportOf(one)).prices_to_come).toEqual([dearer, moved]);
      const gone = await apply(one, { lockport_catalog: 1 }, { mode: "prune" });
      expect(named(gone.changes).slice(-2)).toEqual(["delete prices_to_come a", "delete prices_to_come u"]);
      expect((await exportOf(one)).prices_to_come).toBeUndefined();
    }));

  const wrongToCome: readonly (readonly [what: string, entry: object, code: string, param: string])[] = [
    ["whose moment has passed", { effective_from: PAST }, "invalid_date", "prices_to_come[1].effective_from"],
    [
      "at a moment that is none",
      { effective_from: "soon" },
      "invalid_date",
      "prices_to_come[1].effective_from",
    ],
    ["of a model that is not there", { model: "b" }, "model_not_found", "prices_to_come[1].model"],
    ["that are none", { prices: undefined }, "invalid_pricing", "prices_to_come[1]"],
    [
      "below zero",
      { prices: { input_tokens: -1 } },
      "invalid_pricing",
      "prices_to_come[1].prices.input_tokens",
    ],
    ["of a feed without a version", { feed: " " }, "invalid_pricing", "prices_to_come[1].feed"],
  ];
  for (const [what, entry, code, param] of wrongToCome) {
    test(`with prices to come ${what} is refused, and nothing of the rest is done`, () =>
      withOne(async (one) => {
        const file = { ...FILE, prices_to_come: [TO_COME[1], { ...TO_COME[0], ...entry }] };
        for (const isDryRun of [true, false])
          await expectRefused(one, () => apply(one, file, { isDryRun }), { code, param });
      }));
  }

  test("leaves the other names of a feed to come of before prices were kept by name", () =>
    withOne(async (one) => {
      await apply(one, { ...FILE, prices_to_come: [TO_COME[1]] });
      const entries = ["u", "x"].map((name) => ({ name, unit: "output_tokens", price: 4_000_000 }));
      one.tamper(`UPDATE price_schedule SET change = '${JSON.stringify({ feed: "v2", entries })}'`);
      const former = { ...TO_COME[1], model: "x" };
      expect((await exportOf(one)).prices_to_come).toEqual([TO_COME[1], former]);
      const dearer = { ...TO_COME[1], prices: { output_tokens: 5 } };
      const { changes } = await apply(one, { ...FILE, prices_to_come: [dearer] });
      expect(named(changes)).toEqual(["update prices_to_come u"]);
      expect((await exportOf(one)).prices_to_come).toEqual([former, dearer]);
    }));

  test("takes away the prices of a model that has none in the file, so that it inherits again", () =>
    withOne(async (one) => {
      await apply(one, FILE);
      const { prices: _, ...unpriced } = FILE.models.a;
      const { changes } = await apply(one, { ...FILE, models: { ...FILE.models, a: unpriced } });
      expect(changes).toMatchObject([
        { name: "a", before: { pricing: { input_tokens: 1.25 } }, after: { pricing: { output_tokens: 3 } } },
      ]);
      expect((await exportOf(one)).models["a"]).not.toHaveProperty("prices");
    }));

  test("that only adds leaves what is there as it is but for a missing key, and refuses what leads elsewhere", () =>
    withOne(async (one) => {
      const { api_key: _, ...keyless } = FILE.providers.up;
      await apply(one, { ...FILE, providers: { up: keyless } });
      const added = {
        lockport_catalog: 1 as const,
        providers: { up: { ...FILE.providers.up, enabled: false } },
        models: { a: { provider: "up", upstream_name: "u", hidden: true }, b: { target: "a" } },
      };
      const { changes } = await apply(one, added, { mode: "add" });
      expect(changes.map(({ action, name }) => `${action} ${name}`)).toEqual(["update up", "create b"]);
      expect((await apply(one, added, { mode: "add" })).changes).toEqual([]);
      const elsewhere = { up: { base_url: "http://10.0.0.2/v1", api_key: "sk-x" } };
      await expectRefused(one, () => apply(one, { ...added, providers: elsewhere }, { mode: "add" }), {
        code: "provider_exists",
        param: "providers.up",
      });
      const models = { a: { provider: "up", upstream_name: "other" } };
      await expectRefused(one, () => apply(one, { ...added, models }, { mode: "add" }), {
        code: "alias_exists",
        param: "models.a",
      });
    }));

  test("is one step for every other change: none of many at once is lost or mixed", () =>
    withOne(async (one) => {
      await apply(one, FILE);
      const toFile = (price: number) => {
        const model = { provider: "up", upstream_name: "u", prices: { input_tokens: price } };
        return { ...FILE, models: { a: model, b: model } };
      };
      const files = [1, 2, 3, 4].map(toFile);
      await Promise.all([
        ...files.map((file) => apply(one, file, { mode: "prune" })),
        one.catalog.updateProvider("up", { max_concurrency: 7 }, ADMIN),
        ...[5, 6].map((price) => one.catalog.updateModel("a", { pricing: { input_tokens: price } }, ADMIN)),
      ]);
      const { models } = await exportOf(one);
      expect(Object.keys(models)).toEqual(["a", "b"]);
      expect((await one.audited()).filter((line) => line.startsWith("model.update b"))).toHaveLength(3);
    }));
});

test("a catalog of 1,000 models and 20,000 prices is planned and written within seconds", () =>
  withOne(async (one) => {
    const models = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [
        `m-${index}`,
        index % 2 === 1
          ? { target: `m-${index - 1}` }
          : { provider: "up", upstream_name: `u-${index}`, prices: { input_tokens: 1 } },
      ]),
    );
    const prices = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, index) => [`p-${index}`, { input_tokens: 1.25 }]),
    );
    const started = process.cpuUsage();
    await apply(one, { ...FILE, models, feeds: [{ version: "v1", prices }] });
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(4);
    expect((await apply(one, { ...FILE, models, feeds: [{ version: "v1", prices }] })).changes).toEqual([]);
  }));
