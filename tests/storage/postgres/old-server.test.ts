import { expect, test } from "bun:test";
import { migrateWithin } from "#storage/postgres/connection/migrate.ts";
import type { Sql } from "#storage/postgres/connection/pool.ts";
import { failureOf } from "./support.ts";

test("a server of the version before the oldest that will do is told with its version, and nothing is looked at or made", async () => {
  const asked: string[] = [];
  const row = { number: 140_009, version: "14.9", encoding: "UTF8" };
  const sql: Sql = {
    all: async <Row>(statement: string) => {
      asked.push(statement);
      const rows: readonly Row[] = JSON.parse(JSON.stringify([row]));
      return rows;
    },
    run: async (statement) => asked.push(statement),
  };
  expect(await failureOf(migrateWithin(sql, "lockport"))).toMatchObject({
    name: "SetupError",
    kind: "configuration",
    message: "PostgreSQL 15 or newer is needed, and this one is 14.9.",
  });
  expect(asked.length).toBe(1);
});
