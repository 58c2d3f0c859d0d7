import { describe, expect, test } from "bun:test";
import type { Change } from "#storage/catalog/change.ts";
import type { StoreMemory } from "#storage/catalog/memory.ts";
import { DatabaseUnreachableError, StatementError } from "#storage/postgres/connection/errors.ts";
import { drive } from "#storage/postgres/connection/drive.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { postgresMissing } from "../../support/postgres.ts";
import { apiKey, principal } from "../support.ts";
import { createCatalogStores } from "#storage/catalog/stores.ts";
import { createPostgresDriver, toReadingDriver } from "#storage/postgres/catalog-driver.ts";
import { createPostgresCatalog } from "./catalog-engine.ts";
import { failureOf } from "./support.ts";

/** Reads what has changed, and takes it over. */
async function apply(tx: Transaction, memory: StoreMemory, changes: readonly Change[]): Promise<void> {
  (await drive(tx, memory.read(changes)))();
}

/** The transaction, which tells of each statement that reads. */
function watch(tx: Transaction, onStatement: (text: string) => void): Transaction {
  return {
    ...tx,
    all: <Row>(text: string, bindings?: Parameters<Transaction["all"]>[1]) => {
      onStatement(text);
      return tx.all<Row>(text, bindings);
    },
    parts: <Row>(query: Parameters<Transaction["parts"]>[0]) => {
      onStatement(query.text);
      return tx.parts<Row>(query);
    },
  };
}

describe.skipIf(postgresMissing !== null)("what a replica remembers", () => {
  test("is told without a promise while it is trusted, and otherwise only after the database was asked", async () => {
    await using engine = createPostgresCatalog();
    const { identity, catalog, limits } = await engine.open();
    await identity.createPrincipal(principal("ann"), null);
    await identity.keys.create(apiKey("one", "principal-ann"), null);
    expect(identity.keys.peekByHash("hash-one")?.principal).toEqual(principal("ann"));
    expect(catalog.peek()).toBe(await catalog.snapshot());
    expect(limits.peek()).toBe(await limits.snapshot());
    const asking = await engine.open({ graceMs: 0 });
    const peeked = [asking.identity.keys.peekByHash("hash-one"), asking.catalog.peek(), asking.limits.peek()];
    expect(peeked).toEqual([null, null, null]);
    expect((await asking.identity.keys.findByHash("hash-one"))?.secret.id).toBe("key-one");
    expect((await asking.catalog.snapshot()).providers).toEqual([]);
    expect((await asking.limits.snapshot()).limits).toEqual([]);
    await identity.keys.delete({ id: "key-one" }, null);
    expect(await asking.identity.keys.findByHash("hash-one")).toBeNull();
  });

  test("changes as a whole: while a change is read nobody sees a part of it, and one that fails leaves all as it was", async () => {
    await using engine = createPostgresCatalog();
    const { identity, catalog, memory } = await engine.open();
    await identity.createPrincipal(principal("ann"), null);
    await identity.keys.create(apiKey("one", "principal-ann"), null);
    const database = await engine.database();
    await database.run(`UPDATE principals SET enabled = false; UPDATE api_keys SET label = 'other'`);
    await database.run(
      `INSERT INTO providers (id, name, wire_format, base_url, endpoints, verify_tls, timeout_connect_seconds, timeout_read_seconds, enabled, created_at_us, auth_style)
      VALUES ('p', 'p', 'openai', 'https://p.example/v1', '{}', true, 1, 1, true, 1, 'bearer')`,
    );
    const look = () => {
      const found = identity.keys.peekByHash("hash-one");
      return [found?.principal.enabled, found?.secret.label, catalog.peek()?.providers.length];
    };
    const kinds = ["principal", "key", "catalog", "limit", "secret"] as const;
    const changes = kinds.map((kind) => ({ kind, id: null }));
    const seen: unknown[] = [];
    const applyUntil = (failsAt: number) =>
      database.transaction((tx) => {
        const watched = watch(tx, () => {
          seen.push(look());
          if (seen.length === failsAt) throw new Error("lost");
        });
        return apply(watched, memory, changes);
      });
    expect(String(await failureOf(applyUntil(4)))).toContain("lost");
    expect(look()).toEqual([true, "one", 0]);
    await applyUntil(Infinity);
    expect(seen.length).toBeGreaterThan(8);
    expect(new Set(seen.map((one) => JSON.stringify(one)))).toEqual(new Set(['[true,"one",0]']));
    expect(look()).toEqual([false, "other", 1]);
  });

  test("of an installation that was opened to be read is told, and each step that writes is refused", async () => {
    await using engine = createPostgresCatalog();
    const { identity, parts } = await engine.open();
    await identity.createPrincipal(principal("ann"), null);
    const reading = createCatalogStores(toReadingDriver(createPostgresDriver(parts)));
    expect(await reading.identity.countPrincipals()).toBe(1);
    const writes: readonly (() => Promise<unknown>)[] = [
      () => reading.identity.createPrincipal(principal("bob"), null),
      () => reading.notices.sweepMarks(0),
      () => reading.identity.deleteSession("s"),
    ];
    for (const write of writes) expect(String(await failureOf(write()))).toContain("opened to be read");
  });

  test.each([
    new DatabaseUnreachableError("limit", { mayBeCommitted: true }),
    new StatementError("57014", null),
  ])(
    "that cannot be asked for refuses a request as unreachable, with no word of a change: %p",
    async (cause) => {
      await using engine = createPostgresCatalog();
      const { parts } = await engine.open();
      const refused = () => Promise.reject(cause);
      const freshness = { isTrusted: () => false, refreshed: refused, change: refused };
      const asking = createPostgresDriver({ ...parts, freshness });
      expect(await failureOf(asking.current())).toMatchObject({
        code: "internal_error",
        message: "The database cannot be reached. Try again.",
        isLogged: true,
      });
    },
  );
});
