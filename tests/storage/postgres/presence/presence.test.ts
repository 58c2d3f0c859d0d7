import { rmSync } from "node:fs";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { DatabaseUnreachableError } from "#storage/postgres/connection/errors.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { PRIMARY_ONLY, Reachability } from "#storage/replicas/heartbeat.ts";
import { postgresMissing, sharedPostgres, startPostgres } from "../../../support/postgres.ts";
import { createTcpProxy } from "../../../support/tcp-proxy.ts";
import { busyLimit, timed, until } from "../../../support/waiting.ts";
import { apiKey, codeOf, principal, silentLog, START_US } from "../../support.ts";
import { createPostgresCatalog, type PostgresCatalog, type PostgresStores } from "../catalog-engine.ts";
import { failureOf, restartAs } from "../support.ts";

setDefaultTimeout(60_000);

/** The time that an admin waits at most while the database is away. */
const FAILS_MS_MAX = 5_000;
const FROM_MEMORY = { asked: false };

/** The keys of these names, of one principal. */
async function makeKeys({ identity }: PostgresStores, ...names: readonly string[]): Promise<void> {
  await identity.createPrincipal(principal("ann"), null);
  for (const name of names) await identity.keys.create(apiKey(name, "principal-ann"), null);
}

const deleteKey = ({ identity }: Pick<PostgresStores, "identity">, name: string) =>
  identity.keys.delete({ id: `key-${name}` }, null);

/** Tells whether a replica would accept a request with the key, and whether it asks the database first. */
async function accepts({ identity, freshness }: PostgresStores, name: string) {
  const asked = !freshness.isTrusted();
  return { asked, accepted: (await identity.keys.findByHash(`hash-${name}`)) !== null };
}

/** Until each of the replicas accepts of the keys these and no other. */
async function untilAccepted(
  replicas: readonly PostgresStores[],
  wanted: Readonly<Record<string, boolean>>,
): Promise<void> {
  for (const replica of replicas)
    for (const [name, isWanted] of Object.entries(wanted))
      await until(
        async () => (await accepts(replica, name).catch(() => null))?.accepted === isWanted,
        () => `${name} is ${isWanted ? "accepted" : "refused"}`,
      );
}

/** Moves the clock on, ten seconds at a time, until it is done: what waits for a grace waits no longer. */
async function pastGraces<Result>({ clock }: PostgresCatalog, waiting: Promise<Result>): Promise<Result> {
  const advancing = setInterval(() => clock.advanceMs(10_000), 10);
  return waiting.finally(() => clearInterval(advancing));
}

describe.skipIf(postgresMissing !== null)("replicas that answer from memory", () => {
  test.each([true, false])(
    "accept no key once its deletion was answered on any of them, and need not ask before or after (notified: %p)",
    async (hears) => {
      await using engine = createPostgresCatalog();
      const [one, two] = [await engine.open(), await engine.open({ hears })];
      const names = Array.from({ length: 6 }, (_, index) => `k${index}`);
      await makeKeys(one, ...names);
      for (const [index, name] of names.entries()) {
        for (const replica of [one, two])
          expect(await accepts(replica, name)).toEqual({ ...FROM_MEMORY, accepted: true });
        await deleteKey(index % 2 === 0 ? one : two, name);
        for (const replica of [two, one])
          expect(await accepts(replica, name)).toEqual({ ...FROM_MEMORY, accepted: false });
      }
    },
  );

  test("follow a command beside them, which asks each time and believes nothing", async () => {
    await using engine = createPostgresCatalog();
    const one = await engine.open();
    await makeKeys(one, "k1", "k2");
    const guest = await engine.openGuest(await engine.database());
    expect(guest.identity.keys.peekByHash("hash-k1")).toBeNull();
    expect((await guest.identity.keys.findByHash("hash-k1"))?.secret.id).toBe("key-k1");
    await deleteKey(guest, "k1");
    expect(await accepts(one, "k1")).toEqual({ ...FROM_MEMORY, accepted: false });
    await deleteKey(one, "k2");
    expect(await guest.identity.keys.findByHash("hash-k2")).toBeNull();
  });

  test("without a grace ask each time, and are waited for by no change", async () => {
    await using engine = createPostgresCatalog();
    const network = createTcpProxy((await sharedPostgres()).port);
    const [one, two] = [await engine.open(), await engine.open({ graceMs: 0, network })];
    await makeKeys(one, "k1");
    expect(await accepts(two, "k1")).toEqual({ asked: true, accepted: true });
    network.silence();
    await deleteKey(one, "k1");
    network.reset();
    network.resume();
    await two.close();
    network.stop();
  });

  test("read everything again that they have missed, once they are heard again after their grace", async () => {
    await using engine = createPostgresCatalog();
    const network = createTcpProxy((await sharedPostgres()).port);
    const [one, two] = [await engine.open(), await engine.open({ network })];
    await makeKeys(one, "k1", "k2", "k3");
    network.silence();
    await pastGraces(engine, deleteKey(one, "k1"));
    const database = await engine.database();
    // A row that no change has told of is only found by reading everything.
    await database.run("DELETE FROM api_keys WHERE id = 'key-k2'; DELETE FROM change_log");
    network.reset();
    network.resume();
    await untilAccepted([two], { k1: false, k2: false, k3: true });
    await two.close();
    network.stop();
  });

  test("notice a database that was restored, and read everything again", async () => {
    await using engine = createPostgresCatalog();
    const both = [await engine.open(), await engine.open()];
    const [one, two] = both;
    await makeKeys(one!, "k1", "k2", "k3");
    const database = await engine.database();
    const tables = ["api_keys", "catalog_state", "change_log", "replica"];
    for (const table of tables) await database.run(`CREATE TABLE saved_${table} AS SELECT * FROM ${table}`);
    const restore = (also: string) =>
      database.transaction(async (tx) => {
        for (const table of tables)
          await tx.run(`DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM saved_${table}`);
        await tx.run(also);
      });
    await deleteKey(one!, "k1");
    await deleteKey(one!, "k2");
    // The version is lower.
    await restore("DELETE FROM api_keys WHERE id = 'key-k3'");
    await untilAccepted(both, { k1: true, k2: true, k3: false });
    // The version is as high, by other changes, and the rows of the replicas are gone.
    await deleteKey(one!, "k1");
    await restore(
      `UPDATE catalog_state SET version = version + 1, token = gen_random_uuid(); DELETE FROM replica;
       INSERT INTO change_log SELECT version, 1, token, 'key', 'key-k2' FROM catalog_state;
       DELETE FROM api_keys WHERE id = 'key-k2'`,
    );
    await untilAccepted(both, { k1: true, k2: false, k3: true });
    await deleteKey(two!, "k3");
    expect(await accepts(one!, "k3")).toEqual({ ...FROM_MEMORY, accepted: false });
    await database.run(tables.map((table) => `DROP TABLE saved_${table}`).join(";"));
  });

  test("ask no standby for a key or a session: it may not have what was changed", async () => {
    await using server = await startPostgres({ settings: { restore_command: "false" } });
    await using engine = createPostgresCatalog(server);
    const [asking, trusting] = [await engine.open({ graceMs: 0 }), await engine.open()];
    await makeKeys(asking, "k1");
    const times = { cookieIssuedAtUs: START_US, expiresAtUs: START_US + 1 };
    await asking.identity.createSession({ tokenHash: "s", principalId: "principal-ann", ...times }, START_US);
    const signal = await restartAs(server, "standby");
    expect(await accepts(trusting, "k1")).toEqual({ ...FROM_MEMORY, accepted: true });
    engine.clock.advanceMs(60_000);
    for (const replica of [asking, trusting])
      for (let tries = 0; tries < 5; tries += 1) {
        expect(await codeOf(accepts(replica, "k1"))).toBe("internal_error");
        expect(await codeOf(replica.identity.findSession("s", START_US))).toBe("internal_error");
      }
    expect(await failureOf((await engine.database()).all(PRIMARY_ONLY))).toHaveProperty("code", "25006");
    expect(asking.presence.health().isServing).toBe(false);
    rmSync(signal);
    await server.stop("fast");
    await server.start();
    for (const replica of [asking, trusting])
      await until(
        async () => (await accepts(replica, "k1").catch(() => null))?.accepted === true,
        () => "it serves again",
      );
  });

  test("ask connections for changes for something that a standby refuses as an outage begins and ends, so that none to one stays", () => {
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
});

describe.skipIf(postgresMissing !== null)("a change", () => {
  /** Deletes the one key as a command on these connections does, and says what came of it. */
  async function change(engine: PostgresCatalog, postgres: Postgres): Promise<string> {
    return deleteKey(await engine.openGuest(postgres), "k1").then(() => "made", String);
  }

  async function isMade(engine: PostgresCatalog): Promise<boolean> {
    return (await (await engine.database()).all("SELECT 1 FROM api_keys")).length === 0;
  }

  test.each([
    ["the answer to COMMIT is lost", "made"],
    [
      "the connection is lost before COMMIT",
      "ProxyError: The database did not answer in time: nothing was changed. Try again.",
    ],
    [
      "nothing answers after COMMIT",
      "ProxyError: The database was lost while the change was committed: it may have been made. Look before trying again.",
    ],
  ] as const)("tells the truth when %s", async (fault, told) => {
    await using engine = createPostgresCatalog();
    await makeKeys(await engine.open(), "k1");
    const { target, open } = await engine.ready;
    const network = createTcpProxy(Number(new URL(target.url).port));
    const cut = {
      "the answer to COMMIT is lost": () => network.loseAnswers(),
      "the connection is lost before COMMIT": () => network.reset(),
    };
    const postgres = await open({ target: { ...target, url: network.toUrl(target.url) }, callMsMax: 2_000 });
    const faulty = atCommit(postgres, () => {
      if (fault !== "nothing answers after COMMIT") return cut[fault]();
      network.loseAnswers();
      // Cut before that, the COMMIT would not come through either.
      void until(
        () => isMade(engine),
        () => "the change is committed",
      ).then(() => network.silence());
    });
    const { result, tookMs } = await timed(() => change(engine, faulty));
    expect(result).toBe(told);
    expect(tookMs).toBeLessThan(busyLimit(FAILS_MS_MAX));
    expect(await isMade(engine)).toBe(fault !== "the connection is lost before COMMIT");
    network.stop();
  });

  test("waits no longer than five seconds for one that holds the lock, and says that nothing was made", async () => {
    await using engine = createPostgresCatalog();
    await makeKeys(await engine.open(), "k1");
    const { open, postgres } = await engine.ready;
    const [locked, stuck] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = failureOf(
      postgres.transaction(async (tx) => {
        await tx.all("SELECT version FROM catalog_state FOR UPDATE");
        locked.resolve();
        await stuck.promise;
      }),
    );
    await locked.promise;
    const other = await open();
    const isReadOnly: boolean[] = [];
    const watched: Postgres = {
      ...other,
      transaction(step, options = {}) {
        isReadOnly.push(options.isReadOnly === true);
        return other.transaction(step, options);
      },
    };
    const { result, tookMs } = await timed(() => change(engine, watched));
    expect(result).toContain("nothing was changed");
    // The rows that memory lacked were read before the lock was asked for: others would wait for it.
    expect(isReadOnly).toEqual([true, false]);
    expect(tookMs).toBeLessThan(busyLimit(FAILS_MS_MAX));
    stuck.resolve();
    await holding;
    expect(await change(engine, other)).toBe("made");
  });

  test("that a standby refuses says so and made nothing; the first one after it is made at once", async () => {
    await using engine = createPostgresCatalog();
    await makeKeys(await engine.open(), "k1");
    const { open, target } = await engine.ready;
    const server = await sharedPostgres();
    const name = new URL(target.url).pathname.slice(1);
    await server.sql(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const postgres = await open();
    const told = await change(engine, postgres);
    // Sessions stay as they began.
    await server.sql(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    expect(told).toBe(
      "ProxyError: The database takes no changes, since it is a standby or kept from writing: nothing was changed.",
    );
    expect(await isMade(engine)).toBe(false);
    expect(await change(engine, postgres)).toBe("made");
  });
});

/** Does it once, between the last statement of the first transaction that may write and its COMMIT. */
function atCommit(postgres: Postgres, fault: () => void): Postgres {
  let isDone = false;
  return {
    ...postgres,
    transaction: (step, options) =>
      postgres.transaction(async (tx) => {
        const result = await step(tx);
        if (!isDone && options?.isReadOnly !== true) {
          isDone = true;
          fault();
        }
        return result;
      }, options),
  };
}
