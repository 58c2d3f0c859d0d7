import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { migrate } from "#storage/postgres/connection/migrate.ts";
import type { PostgresOptions } from "#storage/postgres/connection/pool.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import { sharedPostgres, type TestSchema, type TestServer } from "../../support/postgres.ts";
import { giveToServer } from "../../support/postgres-cluster.ts";
import { silentLog } from "../support.ts";

/** An empty database of the current schema, of a test's own: `await using database = await createDatabase()`. */
export interface TestDatabase extends AsyncDisposable {
  readonly target: TestSchema;
  readonly postgres: Postgres;
  /** Another replica's connections, which end with the database. */
  readonly open: (changes?: Partial<PostgresOptions>) => Promise<Postgres>;
}

/** Connections of a test. */
export function connect(url: string, changes: Partial<PostgresOptions> = {}): Promise<Postgres> {
  const target = { url, schema: "public" };
  return openPostgres({
    target,
    purpose: "test",
    connectionsMax: 1,
    callMsMax: 5_000,
    log: silentLog,
    ...changes,
  });
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
  const postgres = await connect(target.url, { target, callMsMax: 30_000 });
  await migrate(postgres);
  await postgres.close();
  return "migrated";
}

const toUrl = ({ url }: TestServer, database: string) => url.replace(/\/postgres$/, `/${database}`);

export async function createDatabase(own?: TestServer): Promise<TestDatabase> {
  const target = await copySchema(own ?? (await sharedPostgres()));
  const opened: Postgres[] = [];
  const open = async (changes: Partial<PostgresOptions> = {}): Promise<Postgres> => {
    const postgres = await connect(target.url, { target, connectionsMax: 4, ...changes });
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

/** Restarts a server of a test's own as a standby, or to recover from an archive. Returns the file that makes it one. */
export async function restartAs(server: TestServer, role: "standby" | "recovery"): Promise<string> {
  const [found] = await server.sql<{ folder: string }>("SELECT current_setting('data_directory') AS folder");
  await server.stop("fast");
  const signal = join(found?.folder ?? "", `${role}.signal`);
  writeFileSync(signal, "");
  giveToServer(signal);
  await server.start();
  return signal;
}

/** Returns what an attempt throws; null when it is fulfilled. */
export async function failureOf(attempt: Promise<unknown>): Promise<unknown> {
  return attempt.then(
    () => null,
    (cause: unknown) => cause,
  );
}

/** Adds a replica that has given one heartbeat: its id and its lane. */
export const ADD_REPLICA = `INSERT INTO replica (id, lane, name, applied, heartbeats, grace_ms, is_fenced, schema, version)
  VALUES ($1, $2, 'one', 0, 1, 1000, false, '', '')`;
