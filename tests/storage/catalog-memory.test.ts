import { Database } from "bun:sqlite";
import { describe, expect, spyOn, test } from "bun:test";
import { VERSIONS_KEPT } from "#storage/catalog/change.ts";
import { createSqliteEngine } from "./engines/sqlite.ts";
import {
  apiKey,
  boundModel,
  newLimit,
  principal,
  provider,
  relayToken,
  START_US,
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
