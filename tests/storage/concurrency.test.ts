import { describe, expect, test } from "bun:test";
import { openCatalogDatabase, toCatalogDatabase } from "#storage/sqlite/catalog/catalog-database.ts";
import { BUSY_WAIT_MS_MAX } from "#storage/sqlite/catalog/catalog-driver.ts";
import { REMEMBERED_MAX } from "#storage/catalog/secret-memory.ts";
import { openSqlite } from "#storage/sqlite/file/open.ts";
import { createSqliteEngine } from "./engines/sqlite.ts";
import { apiKey, AUDIT, codeOf, PAGE, principal, provider, silentLog, toSecrets } from "./support.ts";

describe("a lock that another process holds", () => {
  test("lets reads and the event loop go on, and a mutation waits for its end", async () => {
    await using engine = createSqliteEngine();
    const { identity, catalog, audit } = await engine.open();
    await identity.createPrincipal(principal("ann"), null);
    await identity.keys.create(apiKey("one", "principal-ann"), null);
    const foreign = engine.openRaw();
    foreign.run("BEGIN IMMEDIATE");

    let settled = false;
    const mutation = identity.keys.delete({ id: "key-one" }, AUDIT).finally(() => {
      settled = true;
    });
    // The connection's own busy timeout would hold this loop for its whole length at each attempt.
    for (let turn = 0; turn < 10; turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      expect((await identity.keys.findByHash("hash-one"))?.secret.id).toBe("key-one");
      expect((await catalog.snapshot()).providers).toEqual([]);
      expect((await audit.listEvents(PAGE)).total).toBe(0);
    }
    expect(settled).toBe(false);

    foreign.run("ROLLBACK");
    await mutation;
    expect(await identity.keys.findByHash("hash-one")).toBeNull();
    expect((await audit.listEvents(PAGE)).total).toBe(1);
  });

  test("refuses a mutation with internal_error after five seconds, and nothing of it is written later", async () => {
    await using engine = createSqliteEngine();
    const { identity, catalog, audit } = await engine.open();
    const foreign = engine.openRaw();
    foreign.run("BEGIN IMMEDIATE");
    let plans = 0;
    const attempts = [
      codeOf(identity.createPrincipal(principal("ann"), AUDIT)),
      codeOf(
        catalog.change(() => {
          plans += 1;
          return { writes: [], audit: [AUDIT], result: () => null };
        }),
      ),
    ];
    engine.clock.advanceMs(BUSY_WAIT_MS_MAX);
    expect(await Promise.all(attempts)).toEqual(["internal_error", "internal_error"]);
    foreign.run("ROLLBACK");
    expect(plans).toBe(0);
    expect(await identity.findPrincipalByName("ann")).toBeNull();
    expect((await audit.listEvents(PAGE)).total).toBe(0);

    // It recovers by itself.
    await identity.createPrincipal(principal("ann"), AUDIT);
    expect((await audit.listEvents(PAGE)).total).toBe(1);
  });
});

describe("a transaction", () => {
  test("that a full disk ends is undone whole, and the connection works again once there is room", async () => {
    await using engine = createSqliteEngine();
    const { audit } = await engine.open();
    // A file that may not grow answers SQLITE_FULL, as on a full disk.
    const client = openSqlite(engine.path);
    const pages = client.query<{ page_count: number }, []>("PRAGMA page_count").get()!.page_count;
    const { path, clock } = engine;
    const database = toCatalogDatabase(client, { path, clock, secrets: toSecrets(), log: silentLog });
    const { catalog } = database;
    const addBoth = () =>
      catalog.change(() => ({
        writes: [
          { kind: "put_provider", provider: provider("small") },
          { kind: "put_provider", provider: provider("big", { caPem: "x".repeat(64 * 1024) }) },
        ],
        audit: [AUDIT],
        result: (after) => after.providers.length,
      }));

    client.run(`PRAGMA max_page_count = ${pages}`);
    expect(await codeOf(addBoth())).toBe("bug");
    expect((await catalog.snapshot()).providers).toEqual([]);
    expect((await audit.listEvents(PAGE)).total).toBe(0);
    client.run("PRAGMA max_page_count = 100000");
    expect(await addBoth()).toBe(2);
    expect((await audit.listEvents(PAGE)).total).toBe(1);
    await database.close();
  });
});

describe("remembered keys", () => {
  test("are bounded, and a key that was pushed out is still found", async () => {
    await using engine = createSqliteEngine();
    const { identity } = await engine.open();
    await identity.createPrincipal(principal("ann"), null);
    const raw = engine.openRaw();
    const insert = raw.prepare(
      "INSERT INTO api_keys (id, principal_id, hash, suffix, label, created_at_us) VALUES (?, 'principal-ann', ?, 'abcd', '', 0)",
    );
    raw.transaction(() => {
      for (let index = 0; index <= REMEMBERED_MAX; index += 1) insert.run(`key-${index}`, `hash-${index}`);
    })();
    for (let index = 0; index <= REMEMBERED_MAX; index += 1) await identity.keys.findByHash(`hash-${index}`);
    expect((await identity.keys.findByHash("hash-0"))?.secret.id).toBe("key-0");
    await identity.keys.delete({ id: "key-1" }, null);
    expect(await identity.keys.findByHash("hash-1")).toBeNull();
  }, 20_000);

  test("never hold an open read transaction, so that the log can always be checkpointed", async () => {
    await using engine = createSqliteEngine();
    const { identity, catalog } = await engine.open();
    await identity.createPrincipal(principal("ann"), null);
    await identity.keys.create(apiKey("one", "principal-ann"), null);
    await identity.keys.findByHash("hash-one");
    await catalog.snapshot();
    await identity.keys.list({}, PAGE);
    const checkpoint = engine.openRaw().query("PRAGMA wal_checkpoint(TRUNCATE)").get();
    expect(checkpoint).toEqual({ busy: 0, log: 0, checkpointed: 0 });
  });
});

test("a server sees another's commit in the next turn of the event loop, and under the lock at once", async () => {
  await using engine = createSqliteEngine();
  const { path, clock } = engine;
  const options = { path, clock, secrets: toSecrets(), log: silentLog, isServing: true };
  await using serving = new AsyncDisposableStack();
  const { catalog } = serving.adopt(await openCatalogDatabase(options), (one) => one.close());
  await catalog.change(() => ({
    writes: [{ kind: "put_provider", provider: provider("one") }],
    audit: [],
    result: () => null,
  }));
  const rename = (name: string) => engine.openRaw().run("UPDATE providers SET name = ?", [name]);
  await catalog.snapshot();
  rename("two");
  expect(catalog.peek()?.providers).toMatchObject([{ name: "one" }]);
  await new Promise<void>((resolve) => void setImmediate(resolve));
  expect(catalog.peek()).toBeNull();
  expect((await catalog.snapshot()).providers).toMatchObject([{ name: "two" }]);

  rename("three");
  expect(catalog.peek()?.providers).toMatchObject([{ name: "two" }]);
  await catalog.change((before) => {
    expect(before.findProvider("three")).not.toBeNull();
    return { writes: [], audit: [], result: () => null };
  });
});
