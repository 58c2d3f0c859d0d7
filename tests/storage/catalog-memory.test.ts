import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { changeCatalog, type Change, changed, Follower, VERSIONS_KEPT } from "#storage/catalog/change.ts";
import { SQLITE } from "#storage/sql/dialect.ts";
import { StoreMemory } from "#storage/catalog/memory.ts";
import { connection, type Query, type Script } from "#storage/sql/script.ts";
import { drive } from "#storage/sqlite/drive.ts";
import { fill, readsOf, SESSION, serve } from "./contract-memory.ts";
import { createSqliteEngine } from "./engines/sqlite.ts";
import { apiKey, principal, silentLog, START_US, toSecrets } from "./support.ts";

describe("what a process of SQLite remembers", () => {
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
    expect(await readsOf(() => serve(server))).toEqual(["everything"]);
    expect((await server.limits.snapshot()).limits.map(({ amount }) => amount)).toEqual([7n, 5n]);
  });
});

test("a key that is asked for is not remembered when it was changed before its answer came", async () => {
  await using engine = createSqliteEngine();
  const { identity } = await engine.open();
  await identity.createPrincipal(principal("ann"), null);
  await identity.keys.create(apiKey("one", "principal-ann"), null);
  const database = engine.openRaw();
  const memory = new StoreMemory({
    secrets: toSecrets(),
    log: silentLog,
    clock: { nowUs: () => 0 },
    hasAllSecrets: false,
  });
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

/** Returns what was read, and taken over. */
function createReads() {
  const reads: (readonly Change[] | null)[] = [];
  function* read(changes: readonly Change[] | null) {
    yield* [];
    return () => void reads.push(changes);
  }
  return { reads, read };
}

test.each([
  ["the version is as high as it was", [5]],
  ["the version is lower", [3]],
  ["others have made more versions of it", [5, 6]],
])("a change that is the first to meet a restored database tells of it, where %s", (_, versions) => {
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
  for (const version of versions) commit(version, "of the copy", `copy-${version}`);
  change();
  expect([reads.slice(2), told]).toEqual([[null, [{ kind: "key", id: "own" }]], 1]);
  expect(follower.applied).toEqual({ version: versions.at(-1)! + 1, token: "own" });
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
