import { describe, expect, test } from "bun:test";
import { planFormerRemoval } from "#catalog/provider-plan.ts";
import { NO_FORMER } from "#catalog/provider.ts";
import type { CatalogChange } from "#catalog/store.ts";
import { ProxyError } from "#kernel/errors.ts";
import {
  AUDIT,
  boundModel,
  codeOf,
  insist,
  nameFor,
  PAGE,
  provider,
  put,
  START_US,
  type CatalogEngine,
} from "./support.ts";
import { toPromises } from "./promises.ts";

/** Providers, models and prices. */
export function testCatalogContract(engineName: string, createEngine: () => CatalogEngine): void {
  const it = toPromises(createEngine);
  describe(`${engineName}: catalog`, () => {
    const writes = (...steps: CatalogChange<null>["writes"]) => ({
      writes: steps,
      audit: [{ ...AUDIT, action: "model.create", targetKind: "model" } as const],
      result: () => null,
    });

    it("an empty catalog is an empty snapshot", async (stores) => {
      const { catalog } = stores;
      const { providers, models, prices, feed } = await catalog.snapshot();
      expect({ providers, models, prices, feed }).toEqual({
        providers: [],
        models: [],
        prices: [],
        feed: null,
      });
    });

    it("a former credential whose day is over is removed by any process, and remembered by none", async ({
      catalog,
      engine,
    }) => {
      const former = { formerCredential: Buffer.from([2]), formerSetAtUs: null };
      const due = provider("due", { ...former, formerUntilUs: START_US });
      const kept = provider("kept", { ...former, formerUntilUs: START_US + 1 });
      const none = provider("none");
      for (const each of [due, kept, none]) await put({ catalog }, { kind: "put_provider", provider: each });
      const other = await engine.open();
      expect((await other.catalog.snapshot()).findProvider("due")).toEqual(due);
      const plan = planFormerRemoval(await other.catalog.snapshot(), START_US)!;
      await other.catalog.change(plan);
      for (const snapshot of [await catalog.snapshot(), await other.catalog.snapshot()]) {
        expect(snapshot.findProvider("due")).toEqual({ ...due, ...NO_FORMER });
        expect(snapshot.findProvider("kept")).toEqual(kept);
        expect(snapshot.findProvider("none")).toEqual(none);
        expect(planFormerRemoval(snapshot, START_US)).toBeNull();
      }
      // One that comes second finds nothing to do.
      await catalog.change(plan);
      expect((await other.catalog.snapshot()).findProvider("kept")).toEqual(kept);
    });

    it("every field of a provider, a model and a price comes back as it was written", async (stores) => {
      const { catalog, engine } = stores;
      const full = provider("full", {
        endpoints: { chat: "https://chat.example/x", embeddings: "http://127.0.0.1:8000/e" },
        sealedCredential: Buffer.from([0, 255, 1, 128, 0]),
        credentialSetAtUs: START_US + 1,
        formerCredential: Buffer.from([2, 0, 254]),
        formerSetAtUs: START_US,
        formerUntilUs: START_US + 2,
        authStyle: "x-api-key",
        verifyTls: false,
        caPem: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
        timeoutConnectSeconds: 0.25,
        timeoutReadSeconds: 12.5,
        maxConcurrency: 7,
        enabled: false,
      });
      const model = boundModel("org/model:1", full.id, {
        route: {
          kind: "binding",
          providerId: full.id,
          upstreamName: "größe 模型",
          capabilities: ["vision", "chat"],
        },
        origin: "discovered",
        hidden: true,
      });
      const price = {
        name: "org/model:1",
        unit: "input_tokens",
        pricePico: 1e15,
        feedVersion: null,
      } as const;
      const mark = {
        name: "org/model:1",
        unit: "output_tokens",
        pricePico: null,
        feedVersion: null,
      } as const;
      const fed = { name: "unbound", unit: "audio_seconds", pricePico: 0, feedVersion: "2025-06" } as const;
      await put(
        { catalog },
        { kind: "put_provider", provider: full },
        { kind: "put_model", model },
        { kind: "put_model", model: nameFor("fast", model.id) },
        { kind: "put_price", price },
        { kind: "put_price", price: mark },
        { kind: "put_price", price: fed },
        { kind: "put_feed", feed: { version: "2025-05", loadedAtUs: START_US } },
        { kind: "put_feed", feed: { version: "2025-06", loadedAtUs: START_US + 1 } },
      );
      const reopened = await engine.open();
      for (const snapshot of [await catalog.snapshot(), await reopened.catalog.snapshot()]) {
        expect(snapshot.providers).toEqual([full]);
        expect(snapshot.findModel("org/model:1")?.model).toEqual(model);
        expect(snapshot.findModel("fast")?.model).toEqual(nameFor("fast", model.id));
        expect(snapshot.prices).toEqual([price, mark, fed]);
        expect(snapshot.feed).toEqual({ version: "2025-06", loadedAtUs: START_US + 1 });
      }
    });

    it("any number of prices is written in its order, the last of one name and unit winning, and removals in between", async (stores) => {
      const { catalog } = stores;
      const priceOf = (name: string, pricePico: number | null, feedVersion: string | null) =>
        ({ name, unit: "input_tokens", pricePico, feedVersion }) as const;
      for (const count of [1, 49, 50, 51, 100, 249]) {
        const name = (index: number) => `n${String(index).padStart(4, "0")}`;
        const rows = Array.from({ length: count }, (_, index) => priceOf(name(index), index, "v"));
        await put(
          { catalog },
          ...rows.map((row) => ({ kind: "put_price", price: { ...row, pricePico: 7 } }) as const),
          { kind: "delete_price", name: name(0), unit: "input_tokens" },
          ...rows.map((price) => ({ kind: "put_price", price }) as const),
          { kind: "put_price", price: priceOf(name(0), null, null) },
        );
        const expected = [priceOf(name(0), null, null), ...rows.slice(1)];
        expect((await catalog.snapshot()).prices).toEqual(expected);
      }
    });

    it("a list of variants is kept by its name as it was written, an empty one too, and read by every connection until it is removed", async (left) => {
      const right = await left.open();
      const flex = { when: { tier: "flex" }, input_tokens: 1, output_tokens: 0 } as const;
      const whole = {
        when: { tier: "t", inputOver: 200_000, geo: "us", hours: "22:00-24:00" },
        requests: 1e15,
      } as const;
      const list = { name: "größe 模型", variants: [flex, whole], feedVersion: "2026-03" };
      const mark = { name: "a", variants: [], feedVersion: null };
      await put(
        left,
        { kind: "put_variants", list: { ...list, variants: [] } },
        { kind: "put_variants", list },
        { kind: "put_variants", list: mark },
      );
      for (const { catalog } of [left, right, await left.engine.open()]) {
        const snapshot = await catalog.snapshot();
        expect(snapshot.variantRows).toEqual([mark, list]);
        expect(snapshot.findVariants(list.name)).toEqual(list);
        expect(snapshot.findVariants("größe")).toBeNull();
        expect(snapshot.priceCount).toBe(3);
      }
      await put(right, { kind: "put_provider", provider: provider("a") });
      expect((await left.catalog.snapshot()).variantRows).toEqual([mark, list]);
      await put(right, { kind: "delete_variants", name: list.name });
      expect((await left.catalog.snapshot()).variantRows).toEqual([mark]);
      expect(await codeOf(put(left, { kind: "delete_variants", name: list.name }))).toBe("bug");
    });

    it("more prices than a statement binds values are written and removed by one change each; a text that is no Unicode is replaced", async (stores) => {
      const { catalog } = stores;
      const names = Array.from({ length: 66_000 }, (_, at) => `n${at}`);
      await put(
        { catalog },
        ...names.map((name, at) => {
          const feedVersion = at === 7 ? "lone \ud800" : null;
          return {
            kind: "put_price",
            price: { name, unit: "input_tokens", pricePico: at, feedVersion },
          } as const;
        }),
      );
      const written = await catalog.snapshot();
      expect(written.priceCount).toBe(names.length);
      expect(written.findPrice("n7", "input_tokens")?.feedVersion).toBe("lone \ufffd");
      expect(written.findPrice("n65999", "input_tokens")?.pricePico).toBe(65_999);
      await put(
        { catalog },
        ...names.map((name) => ({ kind: "delete_price", name, unit: "input_tokens" }) as const),
      );
      expect((await catalog.snapshot()).prices).toEqual([]);
    });

    it("a plan sees the catalog as it is, and its result the catalog after the commit", async (left) => {
      const right = await left.open();
      await left.catalog.snapshot();
      await put(right, { kind: "put_provider", provider: provider("a") });
      const seen = await left.catalog.change((current) => ({
        ...writes({ kind: "put_provider", provider: provider("b") }),
        result: (after) => [current.providers.map((row) => row.name), after.providers.map((row) => row.name)],
      }));
      expect(seen).toEqual([["a"], ["a", "b"]]);
    });

    it("what another connection commits is in the very next snapshot; without a change the snapshot is the same object", async (left) => {
      const right = await left.open();
      const before = await left.catalog.snapshot();
      expect(await left.catalog.snapshot()).toBe(before);
      await put(right, { kind: "put_provider", provider: provider("a") });
      const after = await left.catalog.snapshot();
      expect(after.findProvider("a")).not.toBeNull();
      expect(before.findProvider("a")).toBeNull();
      expect(await left.catalog.snapshot()).toBe(after);
    });

    it("the prices are carried over by a change that sets none, and never past one of another connection that does", async (left) => {
      const right = await left.open();
      const price = (pricePico: number) =>
        ({
          kind: "put_price",
          price: { name: "n", unit: "input_tokens", pricePico, feedVersion: null },
        }) as const;
      const add = (name: string) => put(left, { kind: "put_provider", provider: provider(name) });
      const prices = async () => (await left.catalog.snapshot()).prices.map(({ pricePico }) => pricePico);
      await put(left, price(1));
      const before = await left.catalog.snapshot();
      await add("a");
      expect((await left.catalog.snapshot()).prices).toBe(before.prices);
      await put(right, price(2));
      await add("b");
      expect(await prices()).toEqual([2]);
      await put(left, price(3));
      expect(await prices()).toEqual([3]);
      await put(left, { kind: "delete_price", name: "n", unit: "input_tokens" });
      expect(await prices()).toEqual([]);
      expect(before.prices.map(({ pricePico }) => pricePico)).toEqual([1]);
    });

    it("changes that start together are carried out one after the other, none on an old picture", async (left) => {
      const both = [left, await left.open()] as const;
      const add = (at: number) =>
        both[at % 2]!.catalog.change((current) =>
          writes({ kind: "put_provider", provider: provider(`p${current.providers.length}`) }),
        );
      await Promise.all(Array.from({ length: 12 }, (_, at) => insist(() => add(at))));
      expect((await left.catalog.snapshot()).providers).toHaveLength(12);
    });

    it("what a plan throws is thrown, and neither the catalog nor the audit trail changes", async (stores) => {
      const { catalog, audit } = stores;
      const refusal = new ProxyError("alias_exists", "used");
      const refused = catalog.change(() => {
        throw refusal;
      });
      expect(await refused.catch((cause: unknown) => cause)).toBe(refusal);
      expect((await catalog.snapshot()).providers).toEqual([]);
      expect((await audit.listEvents(PAGE)).total).toBe(0);
    });

    it("a model that is out of force holds its name against all but itself", async ({ catalog }) => {
      const a = provider("a");
      await put({ catalog }, { kind: "put_provider", provider: a });
      await put({ catalog }, { kind: "put_model", model: boundModel("m", a.id) });
      await put({ catalog }, { kind: "put_model", model: nameFor("n", "model-m") });
      // A name of a name.
      await put({ catalog }, { kind: "put_model", model: nameFor("o", "model-n") });
      expect((await catalog.snapshot()).findModel("o")).toBeNull();
      const other = boundModel("o", a.id, { id: "other" });
      expect(await codeOf(put({ catalog }, { kind: "put_model", model: other }))).toBe("alias_exists");
      const mended = boundModel("o", a.id);
      await put({ catalog }, { kind: "put_model", model: mended });
      expect((await catalog.snapshot()).findModel("o")?.model).toEqual(mended);
    });

    it("a change without audit entries writes none, and one with several writes all in order", async (stores) => {
      const { catalog, audit } = stores;
      await catalog.change(() => ({
        ...writes({ kind: "put_provider", provider: provider("a") }),
        audit: [],
      }));
      expect((await audit.listEvents(PAGE)).total).toBe(0);
      const entries = [
        { ...AUDIT, targetRef: "one" },
        { ...AUDIT, targetRef: "two" },
      ];
      await catalog.change(() => ({ writes: [], audit: entries, result: () => null }));
      expect((await audit.listEvents(PAGE)).rows.map((event) => event.targetRef)).toEqual(["two", "one"]);
    });

    const a = provider("a");
    const broken: readonly (readonly [string, CatalogChange<null>["writes"]])[] = [
      ["a provider with a used name", [{ kind: "put_provider", provider: provider("a", { id: "other" }) }]],
      ["a model with a used alias", [{ kind: "put_model", model: boundModel("m", a.id, { id: "other" }) }]],
      ["a model of an unknown provider", [{ kind: "put_model", model: boundModel("n", "nowhere") }]],
      ["a name for an unknown model", [{ kind: "put_model", model: nameFor("n", "nothing") }]],
      ["a name for itself", [{ kind: "put_model", model: nameFor("n", "model-n") }]],
      ["deleting a provider that models are bound to", [{ kind: "delete_provider", id: a.id }]],
      ["deleting a model that names point at", [{ kind: "delete_model", id: "model-m" }]],
      ["deleting a provider that is not there", [{ kind: "delete_provider", id: "nowhere" }]],
      ["deleting a model that is not there", [{ kind: "delete_model", id: "nothing" }]],
      ["deleting a price that is not there", [{ kind: "delete_price", name: "m", unit: "input_tokens" }]],
      [
        "a price below zero after many that are fine",
        [...Array.from({ length: 60 }, (_, index) => index), -1].map(
          (pricePico) =>
            ({
              kind: "put_price",
              price: { name: `n${pricePico}`, unit: "input_tokens", pricePico, feedVersion: null },
            }) as const,
        ),
      ],
      ["a feed without a version", [{ kind: "put_feed", feed: { version: "", loadedAtUs: 1 } }]],
      [
        "a provider that never times out",
        [{ kind: "put_provider", provider: provider("z", { timeoutReadSeconds: 0 }) }],
      ],
    ];
    test.each(broken)(
      "a mistaken plan (%s) fails whole: earlier steps and audit entries are undone",
      async (_, steps) => {
        await using engine = createEngine();
        const { catalog, audit } = await engine.open();
        await catalog.change(() => ({
          writes: [
            { kind: "put_provider", provider: a },
            { kind: "put_model", model: boundModel("m", a.id) },
            { kind: "put_model", model: nameFor("name", "model-m") },
          ],
          audit: [],
          result: () => null,
        }));
        const before = await catalog.snapshot();
        expect(
          await codeOf(
            catalog.change(() => writes({ kind: "put_provider", provider: provider("first") }, ...steps)),
          ),
        ).toBe("bug");
        expect((await catalog.snapshot()).providers).toEqual(before.providers);
        expect((await catalog.snapshot()).models).toEqual(before.models);
        expect((await catalog.snapshot()).prices).toEqual([]);
        expect((await catalog.snapshot()).feed).toBeNull();
        expect((await audit.listEvents(PAGE)).total).toBe(0);
        await put({ catalog }, { kind: "put_provider", provider: provider("later") });
        expect((await catalog.snapshot()).findProvider("later")).not.toBeNull();
      },
    );
  });
}
