import type { TestServer } from "../../../support/postgres.ts";
import { createDatabase, type TestDatabase } from "../support.ts";

/** A database whose table `test_key` has keys from `key-1` on. */
export async function createKeys(count: number, own?: TestServer): Promise<TestDatabase> {
  const database = await createDatabase(own);
  await database.postgres.run('CREATE TABLE test_key (id text COLLATE "C" PRIMARY KEY)');
  await database.postgres.run(
    "INSERT INTO test_key SELECT 'key-' || i FROM generate_series(1, $1::int) AS i",
    [count],
  );
  return database;
}
