import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import { LockedError, withLockWatch } from "#storage/postgres/connection/lock-watch.ts";
import { migrate } from "#storage/postgres/connection/migrate.ts";
import { MIGRATIONS } from "#storage/postgres/connection/migrations.ts";
import { runStep } from "#storage/postgres/ledger/maintenance.ts";
import { all, type Script } from "#storage/sql/script.ts";
import { postgresMissing, sharedPostgres, type TestSchema } from "../../support/postgres.ts";
import { apiKey, principal, silentLog } from "../support.ts";
import { createPostgresCatalog } from "./catalog-engine.ts";
import { createDatabase, failureOf } from "./support.ts";

setDefaultTimeout(60_000);

const PASSWORD = "of-an-intruder";
const SECOND = { name: "9000_second", sql: "ALTER TABLE principals ADD COLUMN planted text" };
/** The time for which notifications are sent as quickly as they are taken. */
const FLOOD_MS = 1_000;
let roles = 0;

function* anyStep(): Script<boolean> {
  yield* all("SELECT 1");
  return true;
}

/** A session of a role that may connect to the database and has no other right. */
async function enter(target: TestSchema) {
  const server = await sharedPostgres();
  const role = `intruder_${(roles += 1)}`;
  await server.sql(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
  const url = new URL(target.url);
  url.username = role;
  url.password = PASSWORD;
  const session = new SQL(url.href, { max: 1, prepare: false });
  return {
    session,
    role,
    async [Symbol.asyncDispose]() {
      await session.close({ timeout: 0 });
      await server.sql(`DROP ROLE ${role}`);
    },
  };
}

describe.skipIf(postgresMissing !== null)("a role without rights in the same database", () => {
  test("keeps none from maintaining the ledger, which one of two replicas does at a time", async () => {
    await using database = await createDatabase();
    const other = await database.open();
    const runs: boolean[] = [];
    await database.postgres.transaction(async (tx) => {
      // As a step of the other replica does.
      await tx.run("LOCK TABLE ONLY event IN SHARE UPDATE EXCLUSIVE MODE");
      runs.push(await runStep(other, anyStep));
    });
    runs.push(await runStep(other, anyStep));
    expect(runs).toEqual([false, true]);
  });

  test("that fills the queue of notifications, so that none is sent, fails no change", async () => {
    await using engine = createPostgresCatalog(await sharedPostgres());
    const [one, two] = [await engine.open(), await engine.open()];
    await one.identity.createPrincipal(principal("ann"), null);
    // As the server refuses every notification while its queue is full; that takes 8 GB (PostgreSQL 15).
    const database = await engine.database();
    await database.run("ALTER FUNCTION pg_catalog.pg_notify (text, text) RENAME TO pg_notify_refused");
    await one.identity.keys.create(apiKey("k1", "principal-ann"), null);
    expect(two.identity.keys.peekByHash("hash-k1")?.secret.id).toBe("key-k1");
  });

  test("that sends notifications without end has a replica ask 200 times a second at most, and changes nothing", async () => {
    await using engine = createPostgresCatalog();
    const replica = await engine.open();
    const { postgres, target } = await engine.ready;
    await using intruder = await enter(target);
    const [channel] = await postgres.all<{ name: string }>(
      "SELECT 'lockport_' || left(encode(sha256(current_schema()::text::bytea), 'hex'), 32) AS name",
    );
    const readBeats = async () =>
      (await postgres.all<{ count: number }>("SELECT heartbeats AS count FROM replica"))[0]?.count ?? 0;
    const catalog = replica.catalog.peek();
    const [startedMs, before] = [performance.now(), await readBeats()];
    while (performance.now() - startedMs < FLOOD_MS)
      await intruder.session.unsafe(`NOTIFY ${channel?.name}, 'forged'`);
    const beats = (await readBeats()) - before;
    const seconds = (performance.now() - startedMs) / 1000;
    // It was heard, and those of its own, four a second, come on top.
    expect(beats).toBeGreaterThan(4 * seconds + 5);
    // A timer may ring a millisecond early. Without the bound there were 2,754 in a second.
    expect(beats).toBeLessThanOrEqual((250 + 4) * seconds + 10);
    // Nothing was read again.
    expect(replica.catalog.peek()).toBe(catalog);
  });

  test("can lock none of its tables", async () => {
    await using database = await createDatabase();
    await using intruder = await enter(database.target);
    const tables = await database.postgres.all<{ name: string }>(
      "SELECT oid::regclass::text AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')",
    );
    expect(tables.length).toBeGreaterThan(20);
    for (const { name } of tables) {
      const refused = await failureOf(
        intruder.session.unsafe(
          `BEGIN; LOCK TABLE ${database.target.schema}.${name} IN ACCESS SHARE MODE; COMMIT`,
        ),
      );
      expect(refused).toHaveProperty("errno", "42501");
      await intruder.session.unsafe("ROLLBACK");
    }
  });
});

describe.skipIf(postgresMissing !== null)("a start that waits for a lock of another session", () => {
  test("ends once its time is over with a sentence that says which session to end, having changed nothing", async () => {
    await using database = await createDatabase();
    const { url, schema } = database.target;
    await using session = new SQL(url, { max: 1, prepare: false });
    await session.unsafe("SET application_name = 'a held session'");
    await session.unsafe(`BEGIN; LOCK TABLE ${schema}.migration IN SHARE MODE`);
    const [holder] = await session.unsafe("SELECT pg_backend_pid() AS pid, current_user AS role");
    const failure = await failureOf(
      withLockWatch(database.postgres, { log: silentLog, purposes: ["test"] }, () =>
        migrate(database.postgres, [...MIGRATIONS, SECOND], { waitMsMax: 1_000 }),
      ),
    );
    expect(failure).toBeInstanceOf(LockedError);
    expect(failure).toMatchObject({ code: "55P03", isPassing: true });
    expect(failure).toHaveProperty(
      "message",
      `PostgreSQL did not give a lock in time that another session holds: process ${holder.pid} of the role \`${holder.role}\` (\`a held session\`). Wait until it is done, or end it with SELECT pg_terminate_backend(${holder.pid}).`,
    );
    const names = await database.postgres.all("SELECT name FROM migration");
    expect(names.length).toBe(MIGRATIONS.length);
  });
});
