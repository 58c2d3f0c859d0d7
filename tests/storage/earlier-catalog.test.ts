import { expect, test } from "bun:test";
import { SetupError } from "#kernel/errors.ts";
import { makeSchemaLater } from "../support/later-schema.ts";
import { createSqliteEngine } from "./engines/sqlite.ts";

test("an executable of an earlier schema refuses a catalog of a later one, and leaves it as it is", async () => {
  await using engine = createSqliteEngine();
  {
    using _ = makeSchemaLater();
    await (await engine.open()).close();
  }
  const raw = engine.openRaw();
  const schema = () => raw.query("SELECT name, sql FROM sqlite_schema ORDER BY name").all();
  const before = schema();
  const cause: unknown = await engine.open().catch((thrown: unknown) => thrown);
  expect(cause).toBeInstanceOf(SetupError);
  expect(cause).toMatchObject({ kind: "configuration" });
  expect(String(cause)).toContain("was made by a newer version: start that version, or restore a backup");
  expect(schema()).toEqual(before);
});
