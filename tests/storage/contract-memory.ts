import { describe, expect, spyOn } from "bun:test";
import { StoreMemory } from "#storage/catalog/memory.ts";
import { toPromises } from "./promises.ts";
import {
  apiKey,
  boundModel,
  codeOf,
  newLimit,
  type OpenedCatalog,
  provider,
  principal,
  put,
  relayToken,
  START_US,
  type CatalogEngine,
} from "./support.ts";

/** Returns what memory reads while `act` runs, on whichever connection: the rows by kind and id, `null` for everything. */
export async function readsOf(act: () => Promise<unknown>): Promise<readonly string[]> {
  const read = spyOn(StoreMemory.prototype, "read");
  try {
    await act();
    const told = read.mock.calls.flatMap(
      ([changes]) => changes?.map(({ kind, id }) => `${kind} ${id}`) ?? ["everything"],
    );
    return [...new Set(told)].toSorted();
  } finally {
    read.mockRestore();
  }
}

/** Asks what each request asks. */
export async function serve({ identity, limits, catalog }: OpenedCatalog): Promise<void> {
  await identity.keys.findByHash("hash-one");
  await limits.snapshot();
  await catalog.snapshot();
}

export async function fill(stores: OpenedCatalog): Promise<void> {
  await stores.identity.createPrincipal(principal("ann"), null);
  await stores.identity.keys.create(apiKey("one", "principal-ann"), null);
  await stores.limits.create(newLimit("daily"), null);
  await stores.limits.create(newLimit("weekly"), null);
  await put(
    stores,
    { kind: "put_provider", provider: provider("p") },
    { kind: "put_model", model: boundModel("m", "provider-p") },
    { kind: "put_price", price: { name: "m", unit: "input_tokens", pricePico: 1, feedVersion: null } },
  );
}

export const SESSION = {
  tokenHash: "s",
  principalId: "principal-ann",
  cookieIssuedAtUs: START_US,
  expiresAtUs: START_US + 10,
};

/** Calls that sign somebody in, that make principals and secrets, and what changes one row: with what memory reads of it. */
const WRITES: readonly (readonly [write: (stores: OpenedCatalog) => Promise<unknown>, reads: string[]])[] = [
  [({ identity }) => identity.createSession(SESSION, START_US), []],
  [({ identity }) => identity.advanceSession("s", START_US + 1), []],
  [
    ({ identity }) =>
      identity.createPrincipalForSubject(principal("bob"), { issuer: "https://idp.example", subject: "1" }),
    ["principal principal-bob"],
  ],
  [({ identity }) => identity.keys.create(apiKey("two", "principal-ann"), null), ["key key-two"]],
  [
    ({ identity }) => identity.relayTokens.create(relayToken("three", "principal-ann"), null),
    ["relay_token token-three"],
  ],
  [({ identity }) => identity.deleteSession("s"), []],
  [({ identity }) => identity.revokeSessions("principal-ann", null), []],
  [
    ({ identity }) => identity.keys.change({ id: "key-one" }, () => ({ label: "other" }), null),
    ["key key-one"],
  ],
  [({ limits }) => limits.update("limit-daily", { amount: 7n }, null), ["limit limit-daily"]],
  [(stores) => put(stores, { kind: "put_model", model: boundModel("n", "provider-p") }), ["catalog null"]],
];

/** The promises of what a process remembers of the catalog. */
export function testMemoryContract(engineName: string, createEngine: () => CatalogEngine): void {
  const it = toPromises(createEngine);

  describe(`${engineName}: memory`, () => {
    it("reads of a change the rows that were changed, on every connection, and nothing of a sign-in", async (left) => {
      const right = await left.open();
      await fill(left);
      for (const stores of [left, right]) await serve(stores);
      for (const [write, reads] of WRITES) {
        const act = async () => {
          await write(left);
          for (const stores of [left, right]) await serve(stores);
        };
        expect(await readsOf(act)).toEqual(reads);
      }
      for (const { identity, limits, catalog } of [left, right]) {
        expect(identity.keys.peekByHash("hash-one")?.secret.label).toBe("other");
        expect(limits.peek()?.limits.map(({ amount }) => amount)).toEqual([7n, 5n]);
        expect(catalog.peek()?.findModel("m")?.prices).toEqual({ input_tokens: 1 });
      }
    });

    it("has the catalog that a change is answered with, keeps prices that did not change, and nothing of what is rolled back", async (left) => {
      const right = await left.open();
      await fill(left);
      const { prices } = await right.catalog.snapshot();
      const after = await put(left, { kind: "put_model", model: boundModel("n", "provider-p") });
      expect(left.catalog.peek() === after).toBe(true);
      const followed = await right.catalog.snapshot();
      expect(followed.findModel("n")).not.toBeNull();
      expect(followed.prices).toBe(prices);
      const failing = put(
        left,
        { kind: "put_model", model: boundModel("o", "provider-p") },
        { kind: "delete_provider", id: "provider-p" },
      );
      expect(await codeOf(failing)).toBe("bug");
      expect(left.catalog.peek() === after).toBe(true);
    });
  });
}
