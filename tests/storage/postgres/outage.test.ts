import { afterAll, describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { createLog } from "#kernel/log.ts";
import { DatabaseUnreachableError } from "#storage/postgres/connection/errors.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import type { PostgresOptions } from "#storage/postgres/connection/pool.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { postgresMissing, startPostgres, type TestServer } from "../../support/postgres.ts";
import { createTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { busyLimit, timed } from "../../support/waiting.ts";
import { connect, failureOf } from "./support.ts";

const CALL_MS_MAX = 600;
/** A call ends at its limit; the rest is what an idle machine may take. */
const LATE_MS_MAX = 1_000;

const lines: string[] = [];
const log = createLog({ level: "debug", json: true, write: (line) => lines.push(line), timestamp: () => "" });

let started: Promise<TestServer> | null = null;
/** A server of this file's own: it is stopped and started. */
const server = () => (started ??= startPostgres());
afterAll(async () => (await started)?.[Symbol.asyncDispose]());

interface Network extends AsyncDisposable {
  readonly proxy: TcpProxy;
  readonly postgres: Postgres;
}

/** Connections to the server through a network that can be cut. */
async function openNetwork(changes: Partial<PostgresOptions> = {}): Promise<Network> {
  const { url, port } = await server();
  const proxy = createTcpProxy(port);
  const options = { connectionsMax: 3, callMsMax: CALL_MS_MAX, log, ...changes };
  const postgres = await connect(proxy.toUrl(url), options);
  return {
    proxy,
    postgres,
    async [Symbol.asyncDispose]() {
      proxy.reset();
      await postgres.close();
      proxy.stop();
    },
  };
}

describe.skipIf(postgresMissing !== null)("while PostgreSQL cannot be reached", () => {
  test("a silent partition ends a call at its limit, what is under way beside it at once, and the next call has a new connection", async () => {
    await using network = await openNetwork();
    const { postgres, proxy } = network;
    await Promise.all([1, 2, 3].map((n) => postgres.all("SELECT $1::integer", [n])));
    proxy.silence();
    const first = timed(() => failureOf(postgres.all("SELECT 1")));
    await Bun.sleep(CALL_MS_MAX / 2);
    const second = timed(() => failureOf(postgres.all("SELECT 2")));
    const ends = await Promise.all([first, second]);
    expect(ends[0].result).toMatchObject({
      name: "DatabaseUnreachableError",
      code: "limit",
      mayBeCommitted: true,
    });
    expect(ends[1].result).toBeInstanceOf(DatabaseUnreachableError);
    expect(ends[0].tookMs).toBeLessThan(busyLimit(CALL_MS_MAX + LATE_MS_MAX));
    expect(ends[1].tookMs).toBeLessThan(ends[0].tookMs);
    proxy.resume();
    expect(await postgres.all("SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("a refused connection fails at once, and the first call after its return succeeds", async () => {
    await using network = await openNetwork();
    const { postgres, proxy } = network;
    proxy.refuse();
    // The driver has heard of the resets.
    await Bun.sleep(20);
    const { tookMs, result } = await timed(() => failureOf(postgres.all("SELECT 1")));
    expect(result).toBeInstanceOf(DatabaseUnreachableError);
    expect(tookMs).toBeLessThan(busyLimit(LATE_MS_MAX));
    proxy.resume();
    expect(await postgres.all("SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("no report fails for a restart of the server between it and the one before, and none is read twice", async () => {
    await using network = await openNetwork();
    const running = await server();
    const { postgres } = network;
    const report = () =>
      postgres.transaction((tx) => tx.all("SELECT 1 AS one"), { isReadOnly: true, callMsMax: CALL_MS_MAX });
    expect(await report()).toEqual([{ one: 1 }]);
    await running.stop();
    await running.start();
    expect(await report()).toEqual([{ one: 1 }]);

    await running.stop();
    expect(await failureOf(report())).toBeInstanceOf(DatabaseUnreachableError);
    await running.start();
    expect(await report()).toEqual([{ one: 1 }]);

    let steps = 0;
    const ended = postgres.transaction(async (tx) => {
      steps += 1;
      return tx.all("SELECT pg_terminate_backend(pg_backend_pid())");
    });
    expect(await failureOf(ended)).toBeInstanceOf(DatabaseUnreachableError);
    expect(steps).toBe(1);
  });

  test("a report on a connection that died in silence fails within the limit of a call, not that of its statements, and the next one is read", async () => {
    await using network = await openNetwork();
    const { postgres, proxy } = network;
    const report = (text: string) =>
      postgres.transaction((tx) => tx.all(text), { isReadOnly: true, callMsMax: 60_000 });
    expect(await report("SELECT 1 AS one")).toEqual([{ one: 1 }]);
    proxy.silence();
    const { tookMs, result } = await timed(() => failureOf(report("SELECT 1 AS one")));
    expect(result).toMatchObject({ name: "DatabaseUnreachableError", code: "limit" });
    expect(tookMs).toBeLessThan(busyLimit(CALL_MS_MAX + LATE_MS_MAX));
    proxy.resume();
    expect(await report("SELECT 1 AS one")).toEqual([{ one: 1 }]);
    // A statement has its own limit all the same.
    const slow = `SELECT pg_sleep(${(CALL_MS_MAX * 2) / 1000})`;
    expect(await report(`${slow}::text AS slept`)).toEqual([{ slept: "" }]);
  });

  test("a statement that is only slow ends on the server, and costs no other call its connection", async () => {
    await using network = await openNetwork();
    const { postgres } = network;
    const slow = failureOf(postgres.all("SELECT pg_sleep(10)"));
    const beside = failureOf(Bun.sleep(250).then(() => postgres.all("SELECT pg_sleep(0.2)")));
    const linesBefore = lines.length;
    expect(await slow).toMatchObject({ name: "StatementError", code: "57014" });
    expect(await beside).toBe(null);
    expect(lines.length).toBe(linesBefore);
  });

  test("a call that waits for a free connection ends at its limit, and the connections stay", async () => {
    await using network = await openNetwork({ connectionsMax: 1 });
    const { postgres } = network;
    const held = Promise.withResolvers<void>();
    const holding = postgres.transaction(async () => held.promise);
    expect(await failureOf(postgres.all("SELECT 1"))).toMatchObject({ code: "busy", mayBeCommitted: false });
    held.resolve();
    await holding;
    expect(await postgres.all("SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("a call that meets a connection which takes no changes is made on a new one, once, and not refused", async () => {
    const running = await server();
    await running.sql("CREATE TABLE promoted (a integer)");
    await running.sql("ALTER DATABASE postgres SET default_transaction_read_only = on");
    // Its sessions stay as they began, as those to a server that is no primary any more.
    await using network = await openNetwork();
    const { postgres } = network;
    await using other = new SQL(running.url.replace(/postgres$/, "template1"), { max: 1 });
    let steps = 0;
    const write = () =>
      postgres.transaction(async (tx) => {
        steps += 1;
        await tx.run("INSERT INTO promoted VALUES ($1)", [steps]);
      });
    expect(await failureOf(write())).toMatchObject({ code: "25006", mayBeCommitted: false });
    expect(steps).toBe(2);
    const opened = Array.from({ length: 3 }, () => postgres.all("SELECT pg_sleep($1)", [0.05]));
    await Promise.all(opened);
    await other.unsafe("ALTER DATABASE postgres RESET default_transaction_read_only");
    await write();
    expect(await postgres.run("INSERT INTO promoted VALUES ($1)", [9])).toBe(1);
    expect(await postgres.all("SELECT a FROM promoted ORDER BY a")).toEqual([{ a: 4 }, { a: 9 }]);
  });

  test("a host whose name leads to no address is told as that, and one that refuses as one that refuses", async () => {
    const { url } = await server();
    const open = (target: string) => failureOf(connect(target, { log }));
    const unknown = await open(url.replace("127.0.0.1", "planted.invalid") + "?sslmode=require");
    expect(unknown).toMatchObject({ code: "unresolved", mayBeCommitted: false });
    expect(String(unknown)).toContain(
      "The name of the host in PROXY_DATABASE_URL leads to no address (unresolved).",
    );
    expect(String(unknown)).not.toContain("planted");
    expect(await open(url.replace(/:\d+\//, ":1/"))).toMatchObject({ code: "refused" });
  });

  test("an abort that overtakes its statement ends it all the same, and nothing that comes after it on its connection", async () => {
    await using network = await openNetwork({ callMsMax: 5_000, connectionsMax: 2 });
    const { postgres, proxy } = network;
    const main = await server();
    const backend = (tx: Transaction) => tx.all<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    const stop = new AbortController();
    const canceled = async () => {
      const text = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_cancel_backend(%'";
      return (await main.sql(text)).length > 0;
    };
    const failure = await failureOf(
      postgres.transaction(
        async (tx) => {
          await backend(tx);
          const letGo = proxy.holdLatest();
          const sleeping = tx.all("SELECT pg_sleep(40)");
          stop.abort();
          while (!(await canceled())) await Bun.sleep(5);
          letGo();
          return await sleeping;
        },
        { callMsMax: 50_000, signal: stop.signal },
      ),
    );
    expect(failure).toMatchObject({ name: "StatementError", code: "57014" });
    for (let times = 0; times < 20; times += 1) expect(await postgres.transaction(backend)).toHaveLength(1);
  });

  test("a transaction that the server ended since its process was idle in it is unreachable, and none of it was made", async () => {
    await using network = await openNetwork();
    const { postgres } = network;
    const main = await server();
    const failure = await failureOf(
      postgres.transaction(async (tx) => {
        const [own] = await tx.all<{ pid: number }>("SELECT pg_backend_pid() AS pid");
        await tx.run("SET LOCAL idle_in_transaction_session_timeout = 1");
        const text = `SELECT 1 FROM pg_stat_activity WHERE pid = ${own?.pid ?? 0}`;
        while ((await main.sql(text)).length > 0) await Bun.sleep(5);
        return tx.all("SELECT 1");
      }),
    );
    expect(failure).toMatchObject({ name: "DatabaseUnreachableError", mayBeCommitted: false });
    expect(await postgres.all("SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("no line of the log and no error held an address, a statement or a value", () => {
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(Object.keys(JSON.parse(line))).toEqual(["ts", "level", "message"]);
    expect(lines.join("")).not.toMatch(/127\.0\.0\.1|postgres:|SELECT|INSERT/);
  });
});
