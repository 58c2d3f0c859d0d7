import { createDatabase, type TestDatabase } from "../support.ts";

/** A database whose table `test_key` has keys from `key-1` on. */
export async function createKeys(count: number): Promise<TestDatabase> {
  const database = await createDatabase();
  await database.postgres.run('CREATE TABLE test_key (id text COLLATE "C" PRIMARY KEY)');
  await database.postgres.run(
    "INSERT INTO test_key SELECT 'key-' || i FROM generate_series(1, $1::int) AS i",
    [count],
  );
  return database;
}

/** How many milliseconds it took. Throws after `msMax`. */
export async function waitUntil(condition: () => boolean | Promise<boolean>, msMax: number): Promise<number> {
  const sinceMs = performance.now();
  while (!(await condition())) {
    if (performance.now() - sinceMs > msMax) throw new Error(`not within ${msMax} ms`);
    await Bun.sleep(5);
  }
  return performance.now() - sinceMs;
}
