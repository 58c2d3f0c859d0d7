import { describe, expect } from "bun:test";
import { type KeptResponse, ORPHANED_AT_US } from "#catalog/kept-response.ts";
import { START_US, type CatalogEngine } from "./support.ts";
import { toPromises } from "./promises.ts";

const kept = (idHash: string, changes: Partial<KeptResponse> = {}): KeptResponse => ({
  idHash,
  principalId: "principal-ann",
  modelId: "model-1",
  providerId: "provider-1",
  eventId: START_US,
  lane: 3,
  isSettled: true,
  expiresAtUs: START_US + 1_000,
  ...changes,
});

/** Where responses are that their providers keep. */
export function testResponsesContract(engineName: string, createEngine: () => CatalogEngine): void {
  const it = toPromises(createEngine, "ann", "bob");
  describe(`${engineName}: kept responses`, () => {
    it("are found by hash and principal on every connection, and by no other principal", async (left) => {
      const right = await left.open();
      await left.responses.keep([kept("one"), kept("two", { isSettled: false })]);
      expect(await right.responses.find(["one"], "principal-ann")).toEqual(kept("one"));
      expect(await right.responses.find(["two"], "principal-ann")).toEqual(kept("two", { isSettled: false }));
      expect(await right.responses.find(["other", "two"], "principal-ann")).not.toBeNull();
      expect(await right.responses.find(["one"], "principal-bob")).toBeNull();
      expect(await right.responses.find(["three"], "principal-ann")).toBeNull();
      expect(await right.responses.find([], "principal-ann")).toBeNull();
    });

    it("are two entries when one id was given to two people, and the later one when it was given to one twice", async (stores) => {
      const { responses } = stores;
      const ofBob = kept("one", { principalId: "principal-bob", modelId: "model-2" });
      const later = kept("one", {
        modelId: "model-3",
        providerId: "provider-3",
        eventId: START_US + 9,
        lane: 0,
        isSettled: false,
        expiresAtUs: START_US + 2_000,
      });
      await responses.keep([kept("one"), ofBob]);
      await responses.keep([later]);
      expect(await responses.find(["one"], "principal-ann")).toEqual(later);
      expect(await responses.find(["one"], "principal-bob")).toEqual(ofBob);
      await responses.remove(later);
      await responses.remove(later);
      expect(await responses.find(["one"], "principal-ann")).toBeNull();
      expect(await responses.find(["one"], "principal-bob")).toEqual(ofBob);
    });

    it("stay those of the first event as long as it is not settled, and the ones that come later are told", async (stores) => {
      const { responses } = stores;
      const first = kept("one", { isSettled: false });
      const second = kept("one", { modelId: "model-3", eventId: START_US + 9, isSettled: false });
      const third = kept("one", { eventId: START_US + 10, expiresAtUs: START_US + 2_000 });
      const ofBob = kept("one", { principalId: "principal-bob" });
      expect(await responses.keep([first])).toEqual([]);
      expect(await responses.keep([kept("two"), second, ofBob])).toEqual([second]);
      expect(await responses.keep([third])).toEqual([third]);
      expect(await responses.find(["one"], "principal-ann")).toEqual(first);
      expect(await responses.find(["two"], "principal-ann")).toEqual(kept("two"));
      expect(await responses.find(["one"], "principal-bob")).toEqual(ofBob);
      await responses.markSettled(first);
      expect(await responses.keep([third])).toEqual([]);
      expect(await responses.find(["one"], "principal-ann")).toEqual(third);
    });

    it("are marked as settled one by one", async (stores) => {
      const { responses } = stores;
      await responses.keep([kept("one", { isSettled: false }), kept("two", { isSettled: false })]);
      await responses.markSettled(kept("one"));
      await responses.markSettled(kept("none"));
      expect((await responses.find(["one"], "principal-ann"))?.isSettled).toBe(true);
      expect((await responses.find(["two"], "principal-ann"))?.isSettled).toBe(false);
    });

    it("are removed when they have expired, so many at once, but for those that are to be settled", async (stores) => {
      const { responses } = stores;
      const at = (idHash: string, expiresAtUs: number, isSettled = true) =>
        kept(idHash, { expiresAtUs, isSettled });
      await responses.keep([at("a", 10), at("b", 20), at("c", 30), at("d", 31), at("pending", 10, false)]);
      expect(await responses.removeExpired(9, 10)).toBe(0);
      expect(await responses.removeExpired(30, 2)).toBe(2);
      expect(await responses.removeExpired(30, 2)).toBe(1);
      expect(await responses.removeExpired(30, 2)).toBe(0);
      const left = await Promise.all(
        ["a", "b", "c", "d", "pending"].map((hash) => responses.find([hash], "principal-ann")),
      );
      expect(left.map((one) => one?.idHash)).toEqual([undefined, undefined, undefined, "d", "pending"]);
    });

    it("of a deleted principal that are not settled wait for it and are found expired, also ones that come later", async (stores) => {
      const { identity, responses } = stores;
      const pending = kept("pending", { isSettled: false });
      const ofBob = kept("pending", { isSettled: false, principalId: "principal-bob" });
      await responses.keep([pending, kept("settled"), ofBob]);
      expect(await responses.listOrphans(10)).toEqual([]);
      await identity.deletePrincipal("principal-ann", null);
      const orphan = { ...pending, expiresAtUs: ORPHANED_AT_US };
      expect(await responses.listOrphans(10)).toEqual([orphan]);
      const late = { ...orphan, idHash: "late" };
      await responses.keep([kept("late", { isSettled: false }), kept("late but settled")]);
      expect(
        (await responses.listOrphans(10)).toSorted((one, other) => (one.idHash < other.idHash ? -1 : 1)),
      ).toEqual([late, orphan]);
      expect(await responses.listOrphans(1)).toHaveLength(1);
      expect(await responses.removeExpired(START_US, 10)).toBe(0);
      await responses.remove(pending);
      await responses.remove(late);
      expect(await responses.listOrphans(10)).toEqual([]);
      expect(await responses.find(["pending"], "principal-bob")).toEqual(ofBob);
    });

    it("leave what is remembered of the catalog and the limits as it is", async (stores) => {
      const { catalog, limits, responses } = stores;
      const [set, snapshot] = [await limits.snapshot(), await catalog.snapshot()];
      await responses.keep([kept("one")]);
      await responses.markSettled(kept("one"));
      await responses.remove(kept("one"));
      expect(limits.peek()).toBe(set);
      expect(catalog.peek()).toBe(snapshot);
    });
  });
}
