import { migrate } from "#storage/postgres/connection/migrate.ts";
import { openPostgres, type Postgres, type PostgresOptions } from "#storage/postgres/connection/postgres.ts";
import { sharedPostgres, type TestSchema, type TestServer } from "../../support/postgres.ts";
import { silentLog } from "../support.ts";

/** An empty database of the current schema, of a test's own: `await using database = await createDatabase()`. */
export interface TestDatabase extends AsyncDisposable {
  readonly target: TestSchema;
  readonly postgres: Postgres;
  /** Another replica's connections, which end with the database. */
  open(changes?: Partial<PostgresOptions>): Promise<Postgres>;
}

export async function createDatabase(own?: TestServer): Promise<TestDatabase> {
  const server = own ?? (await sharedPostgres());
  const target = server.schema();
  const opened: Postgres[] = [];
  const open = async (changes: Partial<PostgresOptions> = {}): Promise<Postgres> => {
    const options = { target, purpose: "test", connectionsMax: 4, callMsMax: 5_000, log: silentLog };
    const postgres = await openPostgres({ ...options, ...changes });
    opened.push(postgres);
    return postgres;
  };
  const postgres = await open();
  await migrate(postgres, target.schema);
  return {
    target,
    postgres,
    open,
    async [Symbol.asyncDispose]() {
      await Promise.all(opened.map((one) => one.close()));
      await target[Symbol.asyncDispose]();
    },
  };
}

/** What an attempt throws; null when it is fulfilled. */
export async function failureOf(attempt: Promise<unknown>): Promise<unknown> {
  return attempt.then(
    () => null,
    (cause: unknown) => cause,
  );
}
