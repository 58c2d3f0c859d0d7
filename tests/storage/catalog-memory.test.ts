import { Database } from "bun:sqlite";
import { describe, expect, spyOn, test } from "bun:test";
import { changeCatalog, type Change, changed, Follower, VERSIONS_KEPT } from "#storage/catalog/change.ts";
import { SQLITE } from "#storage/sql/dialect.ts";
import { StoreMemory } from "#storage/catalog/memory.ts";
import { connection, type Query, type Script } from "#storage/sql/script.ts";
import { drive } from "#storage/sqlite/drive.ts";
import { createSqliteEngine } from "./engines/sqlite.ts";
import {
  apiKey,
  boundModel,
  newLimit,
  principal,
  provider,
  relayToken,
  silentLog,
  START_US,
  toSecrets,
  type OpenedCatalog,
} from "./support.ts";

/** Tables that are remembered, of which a process must not read more than what has changed. */
const REMEMBERED = new Set(["providers", "models", "prices", "limits", "api_keys", "relay_tokens"]);

/** The remembered tables that statements read rows of while `act` runs, each with its condition. */
async function readsOf(act: () => Promise<unknown>): Promise<readonly string[]> {
  const asked = spyOn(Database.prototype, "query");
  try {
    await act();
    return asked.mock.calls.flatMap(([sql]) => {
      const [, table = "", rest = ""] =
        /^SELECT .*? FROM (\w+)(.*)$/s.exec(sql.replaceAll(/\s+/g, " ")) ?? [];
      const [, condition = "all of it"] = /(WHERE .*)$/.exec(rest) ?? [];
      return REMEMBERED.has(table) ? [`${table} ${condition}`] : [];
    });
  } finally {
    asked.mockRestore();
  }
}

/** What each request asks. */
async function serve({ identity, limits, catalog }: OpenedCatalog): Promise<void> {
  await identity.keys.findByHash("hash-one");
  await limits.snapshot();
  await catalog.snapshot();
}

async function fill({ identity, limits, catalog }: OpenedCatalog): Promise<void> {
  await identity.createPrincipal(principal("ann"), null);
  await identity.keys.create(apiKey("one", "principal-ann"), null);
  await limits.create(newLimit("daily"), null);
  await limits.create(newLimit("weekly"), null);
  await catalog.change(() => ({
    writes: [
      { kind: "put_provider", provider: provider("p") },
      { kind: "put_model", model: boundModel("m", "provider-p") },
      { kind: "put_price", price: { name: "m", unit: "input_tokens", pricePico: 1, feedVersion: null } },
    ],
    audit: [],
    result: () => null,
  }));
}

const SESSION = {
  tokenHash: "s",
  principalId: "principal-ann",
  cookieIssuedAtUs: START_US,
  expiresAtUs: START_US + 10,
};

/** What signs somebody in, and what makes principals and secrets. */
const WRITES: readonly ((stores: OpenedCatalog) => Promise<unknown>)[] = [
  ({ identity }) => identity.createSession(SESSION, START_US),
  ({ identity }) => identity.advanceSession("s", START_US + 1),
  ({ identity }) =>
    identity.createPrincipalForSubject(principal("bob"), { issuer: "https://idp.example", subject: "1" }),
  ({ identity }) => identity.keys.create(apiKey("two", "principal-ann"), null),
  ({ identity }) => identity.relayTokens.create(relayToken("three", "principal-ann", { hash: "t" }), null),
  ({ identity }) => identity.deleteSession("s"),
  ({ identity }) => identity.revokeSessions("principal-ann", null),
];

describe("what a process of SQLite remembers", () => {
  test("is not read again after its own sign-ins, sessions and keys", async () => {
    await using engine = createSqliteEngine();
    const stores = await engine.open();
    await fill(stores);
    await serve(stores);
    for (const write of WRITES) {
      await write(stores);
      expect(await readsOf(() => serve(stores))).toEqual([]);
    }
  });

  test("is not read again after those of another process: a key that it asks for is one row", async () => {
    await using engine = createSqliteEngine();
    const [server, command] = [await engine.open(), await engine.open()];
    await fill(command);
    await serve(server);
    for (const write of WRITES) {
      await write(command);
      expect(await readsOf(() => serve(server))).toEqual([]);
    }
    const reads = await readsOf(() => server.identity.keys.findByHash("hash-two"));
    expect(reads).toEqual(["api_keys WHERE hash = ?1 OR former_hash = ?1"]);
    await command.identity.keys.change({ id: "key-one" }, () => ({ label: "other" }), null);
    expect(await readsOf(() => serve(server))).toEqual(["api_keys WHERE hash = ?1 OR former_hash = ?1"]);
    expect(server.identity.keys.peekByHash("hash-one")?.secret.label).toBe("other");
  });

  test("is read as a whole after a commit by hand, which tells nothing", async () => {
    await using engine = createSqliteEngine();
    const [server, command] = [await engine.open(), await engine.open()];
    await fill(command);
    await serve(server);
    engine.openRaw().run("UPDATE limits SET amount = 9 WHERE id = 'limit-daily'");
    expect((await server.limits.snapshot()).limits.map(({ amount }) => amount)).toEqual([9n, 5n]);
    await serve(server);
    await command.identity.createSession(SESSION, START_US);
    expect(await readsOf(() => serve(server))).toEqual([]);
  });

  test("of a limit that another process has changed is one row, of a model no price", async () => {
    await using engine = createSqliteEngine();
    const [server, command] = [await engine.open(), await engine.open()];
    await fill(command);
    await serve(server);
    await command.limits.update("limit-daily", { amount: 7n }, null);
    expect(await readsOf(() => serve(server))).toEqual([
      "limits WHERE limits.id IN (SELECT value FROM json_each(?))",
    ]);
    expect((await server.limits.snapshot()).limits.map(({ amount }) => amount)).toEqual([7n, 5n]);
    await command.catalog.change(() => ({
      writes: [{ kind: "put_model", model: boundModel("n", "provider-p") }],
      audit: [],
      result: () => null,
    }));
    expect(await readsOf(() => serve(server))).toEqual(["providers all of it", "models all of it"]);
    expect(server.catalog.peek()?.findModel("m")?.prices).toEqual({ input_tokens: 1 });
  });

  test("is read as a whole where the log no longer reaches back, and the log keeps a limited number of versions", async () => {
    await using engine = createSqliteEngine();
    const [server, command] = [await engine.open(), await engine.open()];
    await fill(command);
    await serve(server);
    const raw = engine.openRaw();
    raw.run("UPDATE catalog_state SET version = version + ?, token = 'later'", [VERSIONS_KEPT * 2]);
    raw.run(
      `WITH RECURSIVE past (version) AS (SELECT 1 UNION ALL SELECT version + 1 FROM past WHERE version < ?)
       INSERT INTO change_log (version, ordinal, token, kind) SELECT version, 9, 'past', 'session' FROM past`,
      [VERSIONS_KEPT * 2],
    );
    await command.limits.update("limit-daily", { amount: 7n }, null);
    const kept = raw.query<{ versions: number }, []>(
      "SELECT count(DISTINCT version) AS versions FROM change_log",
    );
    expect(kept.get()!.versions).toBeLessThanOrEqual(VERSIONS_KEPT);
    expect((await readsOf(() => serve(server))).toSorted()).toEqual([
      "api_keys WHERE hash = ?1 OR former_hash = ?1",
      "limits all of it",
      "models all of it",
      "prices all of it",
      "providers all of it",
    ]);
    expect((await server.limits.snapshot()).limits.map(({ amount }) => amount)).toEqual([7n, 5n]);
  });
});

test("a key that is asked for is not remembered when it was changed before its answer came", async () => {
  await using engine = createSqliteEngine();
  const { identity } = await engine.open();
  await identity.createPrincipal(principal("ann"), null);
  await identity.keys.create(apiKey("one", "principal-ann"), null);
  const database = engine.openRaw();
  const memory = new StoreMemory({ secrets: toSecrets(), log: silentLog, hasAllSecrets: false });
  const find = () => memory.keys.find("hash-one");
  function* findLate(): Script<void> {
    const finding = find();
    const own = yield* connection();
    for (let step = finding.next(own); step.done !== true; step = finding.next(own)) {
      yield step.value;
      (yield* memory.read([{ kind: "key", id: "key-one" }]))();
    }
  }
  drive(database, findLate());
  expect(memory.keys.peek("hash-one")).toBeNull();
  expect(drive(database, find())?.secret.id).toBe("key-one");
  expect(memory.keys.peek("hash-one")).not.toBeNull();
});

/** A database that has nothing but versions and the changes that they made. */
function createVersions() {
  const database = new Database(":memory:", { strict: true });
  database.run("CREATE TABLE catalog_state (id INTEGER PRIMARY KEY, version INTEGER, token TEXT)");
  database.run(
    "CREATE TABLE change_log (version INTEGER, ordinal INTEGER, token TEXT, kind TEXT, row_id TEXT)",
  );
  const commit = (version: number, id: string, token = `token-${version}`) => {
    database.run("INSERT OR REPLACE INTO catalog_state VALUES (1, ?, ?)", [version, token]);
    database.run("INSERT INTO change_log VALUES (?, 0, ?, 'key', ?)", [version, token, id]);
    return { version, token };
  };
  return { database, commit };
}

/** What was read, and taken over. */
function createReads() {
  const reads: (readonly Change[] | null)[] = [];
  function* read(changes: readonly Change[] | null) {
    yield* [];
    return () => void reads.push(changes);
  }
  return { reads, read };
}

test.each([
  ["the version is as high as it was", 5],
  ["the version is lower", 3],
])("a change that is the first to meet a restored database tells of it, where %s", (_, version) => {
  const { database, commit } = createVersions();
  const { reads, read } = createReads();
  let told = 0;
  const follower = new Follower({ read }, () => (told += 1));
  commit(4, "old");
  const change = () =>
    drive(database, changeCatalog(follower, changed("key", "own"), { token: "own", atUs: 0 })).takeOver();
  change();
  expect([reads, told]).toEqual([[null, [{ kind: "key", id: "own" }]], 0]);
  database.run("DELETE FROM change_log");
  commit(version, "of the copy", "of the copy");
  change();
  expect([reads.slice(2), told]).toEqual([[null, [{ kind: "key", id: "own" }]], 1]);
  expect(follower.applied).toEqual({ version: version + 1, token: "own" });
});

test("what was read of an earlier version is not taken over once an own change has overtaken it", () => {
  const { database, commit } = createVersions();
  const { reads, read } = createReads();
  const follower = new Follower({ read });
  commit(4, "old");
  expect(drive(database, follower.follow())()).toBe(true);
  commit(5, "elsewhere");
  // The queries of a follow of version 5, of which the last is not yet answered.
  const follow = follower.follow();
  const answer = (step: IteratorResult<Query, () => boolean>) => {
    if (step.done !== true && step.value.kind === "all")
      step.value.rows = database.query(step.value.sql).all(...(step.value.bindings as number[]));
  };
  const own = { dialect: SQLITE };
  answer(follow.next(own));
  const waiting = follow.next(own);
  answer(waiting);
  expect(drive(database, follower.follow())()).toBe(true);
  const next = commit(6, "own");
  expect(drive(database, follower.follow(next))()).toBe(true);
  const late = follow.next(own);
  expect(late.done === true && late.value()).toBe(false);
  expect(follower.applied).toEqual(next);
  expect(reads).toHaveLength(3);
});
