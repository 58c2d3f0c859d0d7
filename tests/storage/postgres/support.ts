import { migrate } from "#storage/postgres/connection/migrate.ts";
import type { PostgresOptions } from "#storage/postgres/connection/pool.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import { sharedPostgres, type TestSchema, type TestServer } from "../../support/postgres.ts";
import { until } from "../../support/waiting.ts";
import { silentLog } from "../support.ts";

/** An empty database of the current schema, of a test's own: `await using database = await createDatabase()`. */
export interface TestDatabase extends AsyncDisposable {
  readonly target: TestSchema;
  readonly postgres: Postgres;
  /** Another replica's connections, which end with the database. */
  readonly open: (changes?: Partial<PostgresOptions>) => Promise<Postgres>;
}

const SCHEMA = "lockport";
const migrated = new WeakMap<TestServer, Promise<string>>();
let copies = 0;

/** The current schema in a database of its own: a copy of one that is migrated once for each server, which takes longer. */
export async function copySchema(server: TestServer): Promise<TestSchema> {
  const made = migrated.get(server) ?? migrateOnce(server);
  migrated.set(server, made);
  const name = `copy_${(copies += 1)}`;
  await server.sql(`CREATE DATABASE ${name} TEMPLATE ${await made} STRATEGY file_copy`);
  return {
    url: toUrl(server, name),
    schema: SCHEMA,
    [Symbol.asyncDispose]: async () => void (await server.sql(`DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

async function migrateOnce(server: TestServer): Promise<string> {
  await server.sql("CREATE DATABASE migrated");
  const target = { url: toUrl(server, "migrated"), schema: SCHEMA };
  const options = { target, purpose: "test", connectionsMax: 1, callMsMax: 30_000, log: silentLog };
  const postgres = await openPostgres(options);
  await migrate(postgres);
  await postgres.close();
  return "migrated";
}

const toUrl = ({ url }: TestServer, database: string) => url.replace(/\/postgres$/, `/${database}`);

export async function createDatabase(own?: TestServer): Promise<TestDatabase> {
  const target = await copySchema(own ?? (await sharedPostgres()));
  const opened: Postgres[] = [];
  const open = async (changes: Partial<PostgresOptions> = {}): Promise<Postgres> => {
    const options = { target, purpose: "test", connectionsMax: 4, callMsMax: 5_000, log: silentLog };
    const postgres = await openPostgres({ ...options, ...changes });
    opened.push(postgres);
    return postgres;
  };
  const postgres = await open();
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

/** Whether the server runs a statement with this text in it. */
export async function isRunning(postgres: Postgres, text: string): Promise<boolean> {
  const rows = await postgres.all(
    `SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND strpos(query, $1) > 0 AND pid <> pg_backend_pid()`,
    [text],
  );
  return rows.length > 0;
}

/** Fulfilled when the server runs a statement with this text in it. */
export function untilRunning(postgres: Postgres, text: string): Promise<void> {
  return until(
    () => isRunning(postgres, text),
    () => `${text} runs`,
  );
}

/** What an attempt throws; null when it is fulfilled. */
export async function failureOf(attempt: Promise<unknown>): Promise<unknown> {
  return attempt.then(
    () => null,
    (cause: unknown) => cause,
  );
}
