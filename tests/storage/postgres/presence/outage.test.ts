import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createSystemClock } from "#kernel/clock.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { DatabaseUnreachableError } from "#storage/postgres/connection/errors.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { createGuestFreshness } from "#storage/replicas/freshness.ts";
import { PRIMARY_ONLY, Reachability } from "#storage/replicas/heartbeat.ts";
import { postgresMissing, sharedPostgres, startPostgres } from "../../../support/postgres.ts";
import { giveToServer } from "../../../support/postgres-cluster.ts";
import { createTcpProxy } from "../../../support/tcp-proxy.ts";
import { busyLimit, timed, until } from "../../../support/waiting.ts";
import { silentLog } from "../../support.ts";
import { createDatabase, failureOf } from "../support.ts";
import { createKeyMemory } from "./key-memory.ts";
import { createKeys } from "./keys.ts";
import { startReplica, type TestReplica } from "./replicas.ts";

setDefaultTimeout(60_000);

/** What an admin waits at most while the database is away, and what a replica takes to recover. */
const FAILS_MS_MAX = 5_000;
const RECOVERS_MS_MAX = 5_000;

function countRefused(answers: readonly (string | { readonly accepted: boolean })[]): number {
  return answers.filter((answer) => typeof answer === "string" || !answer.accepted).length;
}

const accept = (replica: TestReplica, key: string) => replica.accepts(key).catch(String);

describe.skipIf(postgresMissing !== null)("PostgreSQL that is away", () => {
  // A test that failed while the server was away leaves it to those of other files.
  const server = { isStopped: false, isPaused: false };
  afterEach(async () => {
    const shared = await sharedPostgres();
    if (server.isPaused) shared.resume();
    if (server.isStopped) await shared.start();
    server.isPaused = server.isStopped = false;
  });

  test("a database that was restored is noticed by every replica, which reads everything again", async () => {
    await using database = await createKeys(3);
    await using one = await startReplica(database.target, { lane: 1, graceMs: 20_000 });
    await using two = await startReplica(database.target, { lane: 2, graceMs: 20_000 });
    const tables = ["test_key", "catalog_state", "change_log", "replica"];
    for (const table of tables)
      await database.postgres.run(`CREATE TABLE saved_${table} AS SELECT * FROM ${table}`);
    await one.delete("key-1");
    await one.delete("key-2");
    const restore = (also: string) =>
      database.postgres.transaction(async (tx) => {
        for (const table of tables)
          await tx.run(`DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM saved_${table}`);
        await tx.run(also);
      });
    const readAgain = async (loads: number) => {
      for (const replica of [one, two])
        await until(
          async () => (await replica.health()).loads === loads,
          () => `everything is read ${loads} times`,
        );
    };
    // The version is lower.
    await restore("DELETE FROM test_key WHERE id = 'key-3'");
    await readAgain(2);
    expect(await one.accepts("key-1")).toMatchObject({ accepted: true });
    expect(await two.accepts("key-3")).toMatchObject({ accepted: false });
    // The version is as high, by other changes, and the rows of the replicas are gone.
    await one.delete("key-1");
    await restore(
      `UPDATE catalog_state SET version = version + 1, token = gen_random_uuid(); DELETE FROM replica;
       INSERT INTO change_log SELECT version, 1, token, 'key', 'key-2' FROM catalog_state;
       DELETE FROM test_key WHERE id = 'key-2'`,
    );
    await readAgain(3);
    expect(await two.accepts("key-1")).toMatchObject({ accepted: true });
    expect(await two.accepts("key-2")).toMatchObject({ accepted: false });
    expect(await two.delete("key-3")).toMatchObject({ touched: 1 });
    expect(await one.accepts("key-3")).toMatchObject({ accepted: false });
  });

  test("what a replica missed beyond what the log of changes keeps is read as a whole", async () => {
    await using database = await createKeys(3);
    await using one = await startReplica(database.target, { graceMs: 400 });
    one.pause();
    await until(
      async () => {
        const memory = createKeyMemory();
        await change(database.postgres, memory, database.target.schema);
        return !memory.has("key-1");
      },
      () => "the key is deleted",
    );
    await database.postgres.run("DELETE FROM change_log");
    one.resume();
    await until(
      async () => (await one.health()).loads > 1,
      () => "everything is read again",
    );
    expect(await one.accepts("key-1")).toMatchObject({ accepted: false });
    expect(await one.accepts("key-2")).toMatchObject({ accepted: true });
  });

  test.each([
    ["the answer to COMMIT is lost", "made"],
    [
      "the connection is lost before COMMIT",
      "Error: The database did not answer in time: nothing was changed. Try again.",
    ],
    [
      "nothing answers after COMMIT",
      "Error: The database was lost while the change was committed: it may have been made. Look before trying again.",
    ],
  ] as const)("a change tells the truth when %s", async (fault, told) => {
    await using database = await createKeys(1);
    const network = createTcpProxy(Number(new URL(database.target.url).port));
    const cut = {
      "the answer to COMMIT is lost": () => network.loseAnswers(),
      "the connection is lost before COMMIT": () => network.reset(),
    };
    const postgres = await database.open({
      target: { ...database.target, url: network.toUrl(database.target.url) },
      callMsMax: 2_000,
    });
    const isMade = async () => (await database.postgres.all("SELECT 1 FROM test_key")).length === 0;
    const faulty = atCommit(postgres, () => {
      if (fault !== "nothing answers after COMMIT") return cut[fault]();
      network.loseAnswers();
      // Cut before that, the COMMIT would not come through either.
      void until(isMade, () => "the change is committed").then(() => network.silence());
    });
    const memory = createKeyMemory();
    const { result, tookMs } = await timed(() =>
      change(faulty, memory, database.target.schema).then(() => "made", String),
    );
    expect(result.replace("ProxyError", "Error")).toBe(told);
    expect(tookMs).toBeLessThan(busyLimit(FAILS_MS_MAX));
    expect(await isMade()).toBe(fault !== "the connection is lost before COMMIT");
    network.stop();
  });

  test("a change waits no longer than five seconds for one that holds the lock, and says that nothing was made", async () => {
    await using database = await createKeys(1);
    const stuck = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const holding = database.postgres
      .transaction(async (tx) => {
        await tx.all("SELECT version FROM catalog_state FOR UPDATE");
        locked.resolve();
        await stuck.promise;
      })
      .catch(() => undefined);
    await locked.promise;
    const other = await database.open();
    const { result, tookMs } = await timed(() =>
      change(other, createKeyMemory(), database.target.schema).then(() => "made", String),
    );
    expect(result).toContain("nothing was changed");
    expect(tookMs).toBeLessThan(busyLimit(FAILS_MS_MAX));
    stuck.resolve();
    await holding;
    await change(other, createKeyMemory(), database.target.schema);
  });

  test("a change that a standby refuses says so and made nothing; the first one after it is made at once", async () => {
    await using database = await createKeys(1);
    const running = await sharedPostgres();
    const name = new URL(database.target.url).pathname.slice(1);
    await running.sql(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const postgres = await database.open();
    const attempt = () =>
      change(postgres, createKeyMemory(), database.target.schema).then(() => "made", String);
    expect(await attempt()).toBe(
      "ProxyError: The database takes no changes, since it is a standby or kept from writing: nothing was changed.",
    );
    expect(await database.postgres.all("SELECT id FROM test_key")).toHaveLength(1);
    // Sessions stay as they began.
    await running.sql(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    expect(await attempt()).toBe("made");
    expect(await database.postgres.all("SELECT id FROM test_key")).toEqual([]);
  });

  test("a server that has become a standby is asked for no key and no session: it may not have what was changed", async () => {
    await using own = await startPostgres({ settings: { restore_command: "false" } });
    await using database = await createKeys(1, own);
    await using asking = await startReplica(database.target, { lane: 1, graceMs: 0 });
    await using trusting = await startReplica(database.target, { lane: 2, graceMs: 1_000 });
    for (const replica of [asking, trusting])
      expect(await accept(replica, "key-1")).toMatchObject({ accepted: true });
    const [found] = await own.sql<{ data_directory: string }>("SHOW data_directory");
    await own.stop("fast");
    const signal = join(found?.data_directory ?? "", "standby.signal");
    writeFileSync(signal, "");
    giveToServer(signal);
    await own.start();
    expect(await database.postgres.all("SELECT pg_is_in_recovery() AS is_standby")).toEqual([
      { is_standby: true },
    ]);
    expect(await failureOf(database.postgres.all(PRIMARY_ONLY))).toHaveProperty("code", "25006");
    expect(await accept(asking, "key-1")).toContain("(25006)");
    await until(
      async () => (await trusting.health()).trustLeftMs === 0,
      () => "its trust ends",
    );
    expect(await accept(trusting, "key-1")).toContain("(25006)");
    expect((await asking.health()).isServing).toBe(false);

    rmSync(signal);
    await own.stop("fast");
    await own.start();
    for (const replica of [asking, trusting]) {
      await until(
        async () => countRefused([await accept(replica, "key-1")]) === 0,
        () => "it serves again",
        RECOVERS_MS_MAX,
      );
    }
  });

  test("connections for changes are asked for something that a standby refuses as an outage begins and ends, so that none to one stays", async () => {
    const asked: string[] = [];
    const all = <Row>(text: string): Promise<readonly Row[]> => {
      asked.push(text);
      return Promise.resolve([]);
    };
    const reachability = new Reachability({ all }, silentLog);
    reachability.answered();
    for (let times = 0; times < 2; times += 1)
      reachability.failed(new DatabaseUnreachableError("25006", { mayBeCommitted: false }));
    reachability.answered();
    reachability.answered();
    expect(asked).toEqual([PRIMARY_ONLY, PRIMARY_ONLY]);
  });

  test("four replicas that start at once join once each, and none is left behind when they end", async () => {
    await using database = await createDatabase();
    await database.postgres.run('CREATE TABLE test_key (id text COLLATE "C" PRIMARY KEY)');
    const four = await Promise.all([1, 2, 3, 4].map((lane) => startReplica(database.target, { lane })));
    expect(await four[0]?.create("key-1")).toMatchObject({ touched: 1 });
    const answers = await Promise.all(four.map((one) => one.accepts("key-1")));
    expect(answers.filter(({ accepted }) => accepted)).toHaveLength(4);
    expect(await database.postgres.all("SELECT lane FROM replica WHERE NOT is_fenced ORDER BY lane")).toEqual(
      [1, 2, 3, 4].map((lane) => ({ lane })),
    );
    await Promise.all(four.map((one) => one.stop()));
    expect(await database.postgres.all("SELECT lane FROM replica")).toEqual([]);
  });
});

/** Deletes `key-1` as a command does. */
function change(
  postgres: Postgres,
  memory: ReturnType<typeof createKeyMemory>,
  schema: string,
): Promise<number> {
  const guest = createGuestFreshness({
    postgres,
    schema,
    memory: memory.follower,
    clock: createSystemClock(),
    ids: createSystemIds(),
  });
  return guest.mutate(async (tx: Transaction) => {
    const result = await tx.run("DELETE FROM test_key WHERE id = 'key-1'");
    return { result, changes: [{ kind: "key", id: "key-1" }] };
  });
}

/** Does it once, between the last statement of the first transaction and its COMMIT. */
function atCommit(postgres: Postgres, fault: () => void): Postgres {
  let isDone = false;
  return {
    ...postgres,
    transaction: (step, options) =>
      postgres.transaction(async (tx) => {
        const result = await step(tx);
        if (!isDone) {
          isDone = true;
          fault();
        }
        return result;
      }, options),
  };
}
