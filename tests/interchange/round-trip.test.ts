import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { toPrintableLines } from "#cli/screen/printable.ts";
import { parseCatalog } from "#interchange/catalog-parse.ts";
import { toCatalogFile, type CatalogState } from "#interchange/catalog-state.ts";
import { formatCatalog, toCatalogJson } from "#interchange/catalog-text.ts";
import { life, live, openCatalog, type TestCatalog } from "./catalogs.ts";

const RUNS = 25;

const toText = (state: CatalogState) => toPrintableLines(formatCatalog(toCatalogFile(state)));

/** With the prices in force. */
const toModels = (state: CatalogState) =>
  [...state.models].map(([alias, { route, hidden, prices }]) => ({ alias, route, hidden, prices }));

function read(text: string) {
  const parsed = parseCatalog(text);
  expect(parsed).toMatchObject({ kind: "read" });
  if (parsed.kind !== "read") throw new Error("refused");
  return parsed.file;
}

async function withTwo(run: (one: TestCatalog, other: TestCatalog) => Promise<void>): Promise<void> {
  const [one, other] = [await openCatalog(), await openCatalog()];
  try {
    await run(one, other);
  } finally {
    await one.close();
    await other.close();
  }
}

describe("an exported catalog", () => {
  test("applied to an empty installation is exported as the same bytes, with nothing left to change", async () => {
    await fc.assert(
      fc.asyncProperty(life, (operations) =>
        withTwo(async (one, other) => {
          await live(one, operations);
          const text = toText(await one.read());
          const file = read(text);
          await other.apply(file);
          expect(toText(await other.read())).toBe(text);
          expect(toModels(await other.read())).toEqual(toModels(await one.read()));
          expect((await other.plan(file)).changes).toEqual([]);
          expect(read(JSON.stringify(toCatalogJson(file)))).toEqual(file);
        }),
      ),
      { numRuns: RUNS },
    );
  }, 120_000);

  test("changes nothing where it came from, with or without --prune", async () => {
    await fc.assert(
      fc.asyncProperty(life, async (operations) => {
        const catalog = await openCatalog();
        try {
          await live(catalog, operations);
          const file = read(toText(await catalog.read()));
          for (const prune of [false, true]) {
            const { changes, notes } = await catalog.plan(file, { prune, withKeys: false });
            expect({ changes, notes }).toEqual({ changes: [], notes: [] });
          }
        } finally {
          await catalog.close();
        }
      }),
      { numRuns: RUNS },
    );
  }, 120_000);

  test("brings any other installation with --prune to the same models at the same prices, and a second run changes nothing", async () => {
    await fc.assert(
      fc.asyncProperty(life, life, (operations, others) =>
        withTwo(async (one, other) => {
          await live(one, operations);
          await live(other, others);
          const wanted = await one.read();
          const file = read(toText(wanted));
          await other.apply(file, { prune: true });
          const got = await other.read();
          expect(toModels(got)).toEqual(toModels(wanted));
          expect([...got.providers.keys()]).toEqual([...wanted.providers.keys()]);
          for (const [name, { hasCredential, ...settings }] of wanted.providers) {
            const { hasCredential: keepsOrGets, ...theirs } = got.providers.get(name)!;
            expect(theirs).toEqual(settings);
            // A key that was there stays, also where the file has none.
            if (hasCredential) expect(keepsOrGets).toBe(true);
          }
          if (wanted.feedVersion !== null) expect(got.feedVersion).toBe(wanted.feedVersion);
          expect((await other.plan(file, { prune: true })).changes).toEqual([]);
        }),
      ),
      { numRuns: RUNS },
    );
  }, 240_000);

  test("without --prune removes nothing that the file does not have, and says what stays", async () => {
    await fc.assert(
      fc.asyncProperty(life, life, (operations, others) =>
        withTwo(async (one, other) => {
          await live(one, operations);
          await live(other, others);
          const before = await other.read();
          const file = read(toText(await one.read()));
          let plan;
          try {
            plan = await other.plan(file);
          } catch (cause) {
            expect(cause).toMatchObject({ code: "invalid_target" });
            return;
          }
          expect(plan.changes.filter(({ action }) => action === "remove")).toEqual([]);
          await other.apply(file);
          const after = await other.read();
          for (const [alias, { route }] of before.models)
            if (!file.models.has(alias)) expect(after.models.get(alias)?.route).toEqual(route);
          const rest = [...before.models.keys()].some((alias) => !file.models.has(alias));
          if (rest)
            expect(plan.notes.map(({ sentence }) => sentence).join()).toContain("--prune removes them");
          expect((await other.plan(file)).changes).toEqual([]);
        }),
      ),
      { numRuns: RUNS },
    );
  }, 240_000);

  test("keeps a model that was written without any price unpriced, though its upstream name has one", () =>
    withTwo(async (one, other) => {
      const { local } = one;
      await local.catalog.createProvider({ name: "up", baseUrl: "http://10.0.0.1/v1" }, null);
      await local.catalog.createModel({ alias: "a", provider: "up", upstreamName: "u", pricing: {} }, null);
      await local.catalog.createModel({ alias: "b", provider: "up", upstreamName: "u" }, null);
      const entry = { model: "u", unit: "input_tokens", price_per_million: 2 };
      await local.catalog.loadFeed({ version: "v1", entries: [entry] }, null);
      await other.apply(read(toText(await one.read())));
      const { models } = await other.read();
      expect(models.get("a")?.prices).toEqual({});
      expect(models.get("b")?.prices).toEqual({ input_tokens: 2 });
    }));
});
