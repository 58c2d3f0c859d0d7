import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { SetupError } from "#kernel/errors.ts";
import { CATALOG_MIGRATIONS } from "#storage/sqlite/catalog/migrations.ts";
import { writeSecretState } from "#storage/sqlite/catalog/secret-state.ts";
import { migrate } from "#storage/sqlite/file/migrate.ts";
import { openSqlite } from "#storage/sqlite/file/open.ts";
import { makeSchemaEarlier } from "../support/later-schema.ts";
import { createSqliteEngine } from "./engines/sqlite.ts";
import { PAGE, START_US, toSecrets } from "./support.ts";

/** What an executable of the first schema has left: a principal with a key and a relay token. */
const ROWS = `
  INSERT INTO principals VALUES ('principal-ann', 'ann', 'user', 'member', 1, ${START_US});
  INSERT INTO api_keys VALUES ('key-one', 'principal-ann', 'hash-key', 'abcd', 'laptop', ${START_US});
  INSERT INTO relay_tokens VALUES ('token-one', 'principal-ann', 'hash-token', 'wxyz', 'editor', ${START_US});
`;

/** The stores of this version know no older schema: the file is made by the steps alone. */
function makeFirstCatalog(path: string): void {
  using client = openSqlite(path);
  const { checkValue } = toSecrets();
  migrate(client, CATALOG_MIGRATIONS.slice(0, 1), {
    path,
    nowUs: START_US,
    seed: () => writeSecretState(client, { checkValue, sealedTokenKeys: [] }),
  });
  client.run(ROWS);
}

test("keys and relay tokens of the first schema are found as they were, and a copy of the file before it stays", async () => {
  await using engine = createSqliteEngine();
  makeFirstCatalog(engine.path);
  const { identity } = await engine.open();
  const key = { id: "key-one", principalId: "principal-ann", suffix: "abcd", label: "laptop" };
  expect(await identity.keys.findByHash("hash-key")).toMatchObject({
    secret: key,
    principal: { name: "ann" },
  });
  expect(await identity.relayTokens.findByHash("hash-token")).toMatchObject({ secret: { id: "token-one" } });
  expect(await identity.keys.list({}, PAGE)).toMatchObject({ rows: [key], total: 1 });
  expect(existsSync(`${engine.path}.before-${CATALOG_MIGRATIONS[1]?.name}`)).toBe(true);
});

test("a provider of an earlier schema is sent its credential as before, as a bearer", async () => {
  await using engine = createSqliteEngine();
  makeFirstCatalog(engine.path);
  {
    using client = openSqlite(engine.path);
    client.run(
      `INSERT INTO providers VALUES ('provider-up', 'up', 'openai', 'http://up.example/v1', '{}', NULL, 1, NULL, 10, 300, NULL, 1, ${START_US})`,
    );
  }
  const { catalog } = await engine.open();
  expect((await catalog.snapshot()).findProvider("up")).toMatchObject({ name: "up", authStyle: "bearer" });
});

test("an executable of the first schema refuses a catalog of this one, and leaves it as it is", async () => {
  await using engine = createSqliteEngine();
  await (await engine.open()).close();
  const raw = engine.openRaw();
  const schema = () => raw.query("SELECT name, sql FROM sqlite_schema ORDER BY name").all();
  const before = schema();
  {
    using _ = makeSchemaEarlier(1);
    const cause: unknown = await engine.open().catch((thrown: unknown) => thrown);
    expect(cause).toBeInstanceOf(SetupError);
    expect(cause).toMatchObject({ kind: "configuration" });
    expect(String(cause)).toContain("was made by a newer version: start that version, or restore a backup");
  }
  expect(schema()).toEqual(before);
});
