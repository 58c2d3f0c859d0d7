import { describe, expect, test } from "bun:test";
import { StatementError } from "#storage/postgres/connection/errors.ts";
import { postgresMissing, sharedPostgres } from "../../support/postgres.ts";
import { connect, failureOf } from "./support.ts";

const open = async () => connect((await sharedPostgres()).url, { connectionsMax: 2 });

describe.skipIf(postgresMissing !== null)("a connection to PostgreSQL", () => {
  test("bigint and count arrive as numbers, numeric as text, bytea as bytes, and arrays as arrays", async () => {
    await using postgres = await open();
    const [row] = await postgres.all(
      `SELECT count(*) AS n, $1::bigint AS b, 1.5::numeric AS m, $2::bytea AS y, $3::bigint[] AS bs, $4::text[] AS ts,
         $5::bytea[] AS ys, $6::double precision[] AS ds, $7::boolean AS f`,
      [
        9_007_199_254_740_991,
        Uint8Array.of(0, 255),
        [1, 2n, null],
        ['a "b" \\c', "{,}"],
        [Uint8Array.of(7)],
        [0.1],
        true,
      ],
    );
    expect(row).toEqual({
      n: 1,
      b: 9_007_199_254_740_991,
      m: "1.5",
      y: Buffer.of(0, 255),
      bs: [1, 2, null],
      ts: ['a "b" \\c', "{,}"],
      ys: [Buffer.of(7)],
      ds: [0.1],
      f: true,
    });
  });

  test("what the role or the database sets for its sessions changes no value, no isolation and no limit", async () => {
    const server = await sharedPostgres();
    const settings = {
      bytea_output: "escape",
      extra_float_digits: "-15",
      default_transaction_isolation: "serializable",
      lock_timeout: "1ms",
      idle_session_timeout: "1ms",
    };
    await server.sql("CREATE ROLE odd LOGIN PASSWORD 'odd'");
    for (const [name, value] of Object.entries(settings))
      await server.sql(`ALTER ROLE odd SET ${name} = '${value}'`);
    const postgres = await connect(server.urlOf("odd", "odd"));
    const ask = () =>
      postgres.all(
        `SELECT '\\x00ff5c'::bytea AS bytes, 1234567890.123456::double precision AS instant,
           current_setting('transaction_isolation') AS isolation,
           current_setting('lock_timeout') AS lock, current_setting('idle_session_timeout') AS idle`,
      );
    const row = {
      bytes: Buffer.of(0, 255, 0x5c),
      instant: 1_234_567_890.123456,
      isolation: "read committed",
      lock: "0",
      idle: "0",
    };
    expect(await ask()).toEqual([row]);
    await postgres.close();
    await server.sql("DROP ROLE odd");
  });

  test("an integer beyond 2^53 is refused instead of being rounded, and one that a number said is read as that number", async () => {
    await using postgres = await open();
    const lastInstantUs = Date.UTC(9999, 11, 31, 23, 59, 59, 999) * 1000;
    expect(
      await postgres.all("SELECT $1::bigint AS b, $2::bigint[] AS bs", [lastInstantUs, [lastInstantUs]]),
    ).toEqual([{ b: lastInstantUs, bs: [lastInstantUs] }]);
    const failure = await failureOf(postgres.all("SELECT 9007199254740993::bigint AS b"));
    expect(failure).toBeInstanceOf(StatementError);
    expect(failure).toHaveProperty("code", "22003");
  });

  test("a cursor hands on every row in parts", async () => {
    await using postgres = await open();
    const query = { text: "SELECT generate_series(1, $1::integer) AS n", bindings: [7], rowsPerFetch: 3 };
    const parts = await postgres.transaction(async (tx) => Array.fromAsync(tx.parts<{ n: number }>(query)));
    expect(parts.map((rows) => rows.map(({ n }) => n))).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
  });

  test("a transaction whose step swallowed a failed statement is not told to be committed", async () => {
    await using postgres = await open();
    const failure = await failureOf(
      postgres.transaction(async (tx) => {
        await tx.run("CREATE TABLE swallowed (a integer)");
        await failureOf(tx.all("SELECT 1 / 0"));
      }),
    );
    expect(failure).toMatchObject({ name: "StatementError", code: "25P02" });
    expect(await postgres.all("SELECT to_regclass('swallowed') AS found")).toEqual([{ found: null }]);
  });

  test("a statement that comes after its transaction has ended is refused, and runs nowhere", async () => {
    await using postgres = await open();
    const late = await postgres.transaction(async (tx) => ({
      run: () => tx.run("CREATE TABLE late (a integer)"),
    }));
    expect(await failureOf(late.run())).toMatchObject({ name: "StatementError", code: "25P02" });
    expect(await postgres.all("SELECT to_regclass('late') AS found")).toEqual([{ found: null }]);
  });
});
