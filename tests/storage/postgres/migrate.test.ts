import { describe, expect, test } from "bun:test";
import { migrate } from "#storage/postgres/connection/migrate.ts";
import { openPostgres } from "#storage/postgres/connection/postgres.ts";
import { postgresMissing, sharedPostgres, type TestSchema } from "../../support/postgres.ts";
import { silentLog } from "../support.ts";

function open(target: { url: string; schema: string }) {
  return openPostgres({ target, purpose: "test", connectionsMax: 1, callMsMax: 5_000, log: silentLog });
}

describe.skipIf(postgresMissing !== null)("migrations of PostgreSQL", () => {
  test("four processes that start at once on an empty database apply each migration once", async () => {
    const server = await sharedPostgres();
    await using target: TestSchema = server.schema();
    const four = await Promise.all([1, 2, 3, 4].map(() => open(target)));
    const applied = await Promise.all(four.map((postgres) => migrate(postgres, target.schema)));
    expect(applied.filter((names) => names.length > 0)).toEqual([["0000_catalog", "0001_ledger"]]);
    expect(await server.sql(`SELECT count(*)::int AS n FROM ${target.schema}.migration`)).toEqual([{ n: 2 }]);
    for (const postgres of four) await postgres.close();
  });
});
