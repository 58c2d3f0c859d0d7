import { describe, expect } from "bun:test";
import type { NamedSubject } from "#limits/store.ts";
import {
  apiKey,
  AUDIT,
  boundModel,
  nameFor,
  codeOf,
  newLimit,
  PAGE,
  principal,
  provider,
  put,
  relayToken,
  START_US,
  type CatalogEngine,
} from "./support.ts";
import { toPromises } from "./promises.ts";

/** Limits as they are kept; what they refuse is `tests/limits`. */
export function testLimitsContract(engineName: string, createEngine: () => CatalogEngine): void {
  const it = toPromises(createEngine);
  describe(`${engineName}: limits`, () => {
    it("every field of a limit comes back as it was written, on every connection, the oldest first", async (left) => {
      const right = await left.open();
      await left.identity.createPrincipal(principal("ann"), null);
      await left.identity.keys.create(apiKey("one", "principal-ann"), null);
      await left.identity.relayTokens.create(relayToken("two", "principal-ann"), null);
      const subjects: readonly NamedSubject[] = [
        { kind: "everybody" },
        { kind: "principal", name: "ann" },
        { kind: "key", id: "key-one" },
        { kind: "relay_token", id: "token-two" },
        { kind: "tag", pair: "team:a" },
      ];
      const eachs = [
        null,
        { kind: "principal" },
        { kind: "key" },
        null,
        { kind: "tag", key: "team" },
      ] as const;
      const made = [];
      for (const [at, subject] of subjects.entries()) {
        const amount = 10n ** 24n + BigInt(at);
        const each = eachs[at]!;
        const limit = newLimit(`l${at}`, { subject, each, amount, createdAtUs: START_US - at, model: "m" });
        made.unshift(await left.limits.create(limit, AUDIT));
      }
      const concurrent = newLimit("c", {
        measure: "concurrent",
        window: null,
        enabled: false,
        action: "warn",
        unpriced: "refuse",
        unknownMax: 20,
        fixed: true,
        createdAtUs: START_US + 1,
      });
      made.push(await right.limits.create(concurrent, null));
      expect(made.map(({ subject }) => subject)).toEqual([
        { kind: "tag", pair: "team:a" },
        { kind: "relay_token", id: "token-two" },
        { kind: "key", id: "key-one" },
        { kind: "principal", id: "principal-ann", name: "ann" },
        { kind: "everybody" },
        { kind: "everybody" },
      ]);
      expect(made[5]).toEqual({ ...concurrent, subject: { kind: "everybody" }, formerModels: [] });
      for (const { limits } of [left, right, await left.open()])
        expect((await limits.snapshot()).limits).toEqual(made);
      expect((await left.audit.listEvents(PAGE)).total).toBe(5);
    });

    it("a used name, a missing subject and a missing limit are refused, and nothing is written", async (stores) => {
      const { limits, audit } = stores;
      await limits.create(newLimit("one"), null);
      await limits.create(newLimit("two"), null);
      const before = await limits.snapshot();
      const create = (changes: object) => codeOf(limits.create(newLimit("new", changes), AUDIT));
      expect(await create({ name: "one" })).toBe("limit_exists");
      expect(await create({ subject: { kind: "principal", name: "ann" } })).toBe("principal_not_found");
      expect(await create({ subject: { kind: "key", id: "k" } })).toBe("key_not_found");
      expect(await create({ subject: { kind: "relay_token", id: "k" } })).toBe("relay_token_not_found");
      expect(await create({ window: null })).toBe("bug");
      expect(await codeOf(limits.update("limit-one", { name: "two" }, AUDIT))).toBe("limit_exists");
      expect(await codeOf(limits.update("limit-none", { amount: 1n }, AUDIT))).toBe("limit_not_found");
      expect(await codeOf(limits.delete("limit-none", AUDIT))).toBe("limit_not_found");
      expect(await limits.snapshot()).toEqual(before);
      expect((await audit.listEvents(PAGE)).total).toBe(0);
    });

    it("a change is in the very next snapshot on every connection; without one the set is the same object", async (left) => {
      const right = await left.open();
      await left.limits.create(newLimit("one"), null);
      const before = await right.limits.snapshot();
      expect(await right.limits.snapshot()).toBe(before);
      await left.identity.createPrincipal(principal("ann"), null);
      expect(await right.limits.snapshot()).toBe(before);
      const change = { name: "uno", amount: 7n, window: "month", unknownMax: 3, enabled: false } as const;
      const changed = await right.limits.update("limit-one", change, AUDIT);
      expect(changed).toEqual({ ...before.limits[0]!, ...change });
      expect((await left.limits.snapshot()).limits).toEqual([changed]);
      // Its own name is no other limit's.
      await left.limits.update("limit-one", { name: "uno" }, AUDIT);
      await left.limits.delete("limit-one", AUDIT);
      expect((await right.limits.snapshot()).limits).toEqual([]);
      expect(before.limits).toHaveLength(1);
      expect((await left.audit.listEvents(PAGE)).total).toBe(3);
    });

    it("a limit goes with its principal, its key or its relay token, and no other does", async (left) => {
      const right = await left.open();
      for (const name of ["ann", "bob"]) {
        const owner = `principal-${name}`;
        await left.identity.createPrincipal(principal(name), null);
        await left.identity.keys.create(apiKey(name, owner), null);
        await left.identity.relayTokens.create(relayToken(name, owner, { hash: `t-${name}` }), null);
        const subjects = [
          { kind: "principal", name },
          { kind: "key", id: `key-${name}` },
          { kind: "relay_token", id: `token-${name}` },
        ] as const;
        for (const subject of subjects)
          await left.limits.create(newLimit(`${name} ${subject.kind}`, { subject }), null);
      }
      const names = async () => (await right.limits.snapshot()).limits.map(({ name }) => name).toSorted();
      await left.identity.keys.delete({ id: "key-bob" }, null);
      expect(await names()).toEqual([
        "ann key",
        "ann principal",
        "ann relay_token",
        "bob principal",
        "bob relay_token",
      ]);
      await left.identity.relayTokens.delete({ id: "token-bob" }, null);
      await left.identity.deletePrincipal("principal-ann", null);
      expect(await names()).toEqual(["bob principal"]);
    });

    it("a limit follows its model's name, and remembers where another model goes that takes a former one", async (left) => {
      const right = await left.open();
      const write = (...aliases: readonly (readonly [string, string])[]) =>
        put(
          left,
          { kind: "put_provider", provider: provider("p") },
          ...aliases.map(([id, alias]) => {
            return { kind: "put_model", model: boundModel(alias, "provider-p", { id }) } as const;
          }),
        );
      await write(["m", "a"]);
      await left.limits.create(newLimit("one", { model: "a" }), null);
      await left.limits.create(newLimit("all"), null);
      const followed = async () => {
        const found = (await right.limits.snapshot()).limits.find(({ name }) => name === "one");
        return [found?.model, found?.formerModels, found?.otherTargets];
      };
      await write(["m", "b"]);
      expect(await followed()).toEqual(["b", ["a"], undefined]);
      // One change that moves a name on and gives it away.
      await write(["m", "c"], ["n", "b"]);
      const toOther = (name: string) => ({
        name,
        providerId: "provider-p",
        upstreamName: `upstream-${name}`,
      });
      expect(await followed()).toEqual(["c", ["a", "b"], [toOther("b")]]);
      await write(["x", "a"]);
      expect(await followed()).toEqual(["c", ["a", "b"], [toOther("b"), toOther("a")]]);
      // A name that leads to the limit's own model is the same model.
      await put(left, { kind: "put_model", model: { ...nameFor("b", "m"), id: "n" } });
      expect(await followed()).toEqual(["c", ["a", "b"], [toOther("b"), toOther("a")]]);
      const before = await right.limits.snapshot();
      await write(["y", "z"]);
      expect(await right.limits.snapshot()).toBe(before);
      for (let at = 0; at < 25; at += 1) await write(["m", `name-${at}`]);
      const [model, former] = await followed();
      expect(model).toBe("name-24");
      expect(former).toEqual(Array.from({ length: 20 }, (_, at) => `name-${at + 4}`));
      expect((await followed())[2]).toBeUndefined();
      // A model that goes in the same change is no longer where the limit's requests go.
      await put(
        left,
        { kind: "delete_model", id: "n" },
        { kind: "delete_model", id: "m" },
        { kind: "put_model", model: boundModel("name-24", "provider-p", { id: "k", alias: "name-23" }) },
      );
      expect((await followed())[2]).toMatchObject([{ name: "name-23", upstreamName: "upstream-name-24" }]);
    });
  });
}
