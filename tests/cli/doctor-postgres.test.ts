import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { checkDatabase } from "#boot/operate/doctor/database.ts";
import { createSystem } from "#boot/process/system.ts";
import { parseConfig } from "#boot/settings/config.ts";
import { migrate } from "#storage/postgres/connection/migrate.ts";
import { openPostgres } from "#storage/postgres/connection/postgres.ts";
import { makeFolder } from "../support/folder.ts";
import { pgbouncerMissing, startPgBouncer } from "../support/pgbouncer.ts";
import { postgresMissing, startPostgres, type TestServer } from "../support/postgres.ts";
import { runLocal } from "./terminal.ts";

const TLS = join(import.meta.dir, "../fixtures/tls");
const PASSWORD = "geheim-of-keeper";
const SCHEMA = "lockport";
const SECRET_KEY = Buffer.alloc(32, 7).toString("base64");
const log = createSystem({ logLevel: "error" }).log;

interface Told {
  readonly name: string;
  readonly status: string;
  readonly finding: string;
  readonly advice: string | null;
}

let folder: ReturnType<typeof makeFolder>;
let server: TestServer;

describe.skipIf(postgresMissing !== null)("lockport doctor on PostgreSQL", () => {
  beforeAll(async () => {
    folder = makeFolder();
    const read = (name: string) => readFileSync(join(TLS, name), "utf8");
    server = await startPostgres({
      tls: { cert: read("upstream.cert.pem"), key: read("upstream.key.pem") },
    });
    const target = { url: server.url, schema: SCHEMA };
    const postgres = await openPostgres({
      target,
      purpose: "test",
      connectionsMax: 1,
      callMsMax: 30_000,
      log,
    });
    await migrate(postgres);
    await postgres.close();
    await server.sql(`CREATE ROLE keeper LOGIN PASSWORD '${PASSWORD}'`);
    await server.sql(`GRANT USAGE ON SCHEMA ${SCHEMA} TO keeper`);
    await server.sql(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${SCHEMA} TO keeper`);
    await server.sql(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${SCHEMA} TO keeper`);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder.remove();
  });

  /** Doctor's checks of the database, by name; nothing of the URL may be in anything that it prints. */
  async function diagnose(url: string, env: Record<string, string> = {}) {
    const run = await runLocal(join(folder.path, "data"), ["doctor", "--json"], {
      env: {
        PROXY_PORT: "0",
        PROXY_DATABASE_URL: url,
        PROXY_DATABASE_SCHEMA: SCHEMA,
        PROXY_SECRET_KEY: SECRET_KEY,
        ...env,
      },
    });
    const printed = run.data + run.messages;
    for (const secret of [url, PASSWORD, SECRET_KEY]) expect(printed).not.toContain(secret);
    const { checks }: { checks: Told[] } = JSON.parse(run.data);
    return (name: string) => checks.find((check) => check.name === name);
  }

  test("says that the database is reached, what may be done in it, whose clock is ahead, and who serves", async () => {
    const find = await diagnose(server.url);
    expect(find("database")).toMatchObject({ status: "ok" });
    expect(find("database")?.finding).toMatch(/^PostgreSQL 1\d.*not encrypted.*schema lockport$/);
    expect(find("database rights")?.status).toBe("ok");
    expect(find("database clock")?.status).toBe("ok");
    expect(find("replicas")).toMatchObject({ status: "ok", finding: "0 known, none silent for an hour" });
    expect(find("catalog.db")).toBeUndefined();
    expect(find("secret key")).toMatchObject({ status: "ok", finding: "from PROXY_SECRET_KEY" });
  });

  test("says that a first start makes a schema which is not there", async () => {
    const find = await diagnose(server.url, { PROXY_DATABASE_SCHEMA: "another" });
    expect(find("database")).toMatchObject({ status: "ok" });
    expect(find("database")?.finding).toContain("the first start makes the schema another");
  });

  test("names a database that is not reached", async () => {
    const find = await diagnose(`postgres://keeper:${PASSWORD}@127.0.0.1:1/postgres`);
    expect(find("database")).toMatchObject({ status: "fail" });
    expect(find("database")?.finding).toStartWith("unreachable: ");
    expect(find("providers")?.finding).toContain("not looked at");
  });

  test("names a way off this machine that is not encrypted", async () => {
    const find = await diagnose(`postgres://keeper:${PASSWORD}@db.example.org/postgres`);
    expect(find("database")).toMatchObject({ status: "fail" });
    expect(find("database")?.finding).toContain("without TLS");
  });

  test("names a certificate of a CA that is not trusted, and is content with the right one", async () => {
    const wrong = await diagnose(`${server.url}?sslmode=verify-full&sslrootcert=${TLS}/other.cert.pem`);
    expect(wrong("database")).toMatchObject({ status: "fail" });
    expect(wrong("database")?.finding).toContain("certificate of PostgreSQL is not trusted");
    const right = await diagnose(`${server.url}?sslmode=verify-full&sslrootcert=${TLS}/upstream.cert.pem`);
    expect(right("database")).toMatchObject({ status: "ok" });
    expect(right("database")?.finding).toContain(", encrypted, schema");
  });

  test("names a schema of a newer version, and looks at nothing in it", async () => {
    await server.sql(`INSERT INTO ${SCHEMA}.migration (name, hash) VALUES ('9999_later', '')`);
    const find = await diagnose(server.url);
    await server.sql(`DELETE FROM ${SCHEMA}.migration WHERE name = '9999_later'`);
    expect(find("database")).toMatchObject({ status: "fail" });
    expect(find("database")?.finding).toContain("was made by a newer version");
    expect(find("providers")?.finding).toContain("not looked at");
  });

  test("names the rights that the role lacks, and none that it has", async () => {
    const url = server.urlOf("keeper", PASSWORD);
    expect((await diagnose(url))("database rights")).toMatchObject({ status: "ok" });
    await server.sql(`REVOKE INSERT, SELECT ON ${SCHEMA}.spool, ${SCHEMA}.slot_lease FROM keeper`);
    const find = await diagnose(url);
    await server.sql(`GRANT INSERT, SELECT ON ${SCHEMA}.spool, ${SCHEMA}.slot_lease TO keeper`);
    expect(find("database rights")).toMatchObject({
      status: "fail",
      finding: "the role lacks INSERT on slot_lease, SELECT on slot_lease, INSERT on spool, SELECT on spool",
    });
    const empty = await diagnose(url, { PROXY_DATABASE_SCHEMA: "another" });
    expect(empty("database rights")?.finding).toContain("CREATE on the database");
  });

  test.skipIf(pgbouncerMissing)(
    "names PgBouncer in transaction mode, whether it refuses a session's settings or forgets them",
    async () => {
      const all = [
        "search_path",
        "statement_timeout",
        "idle_in_transaction_session_timeout",
        "client_connection_check_interval",
        "tcp_keepalives_idle",
        "tcp_keepalives_interval",
        "tcp_keepalives_count",
        "bytea_output",
        "extra_float_digits",
        "default_transaction_isolation",
        "lock_timeout",
        "idle_session_timeout",
      ];
      for (const ignored of [[], all]) {
        await using pooler = await startPgBouncer(server, ignored);
        const find = await diagnose(pooler.url);
        expect(find("database")).toMatchObject({ status: "fail" });
        expect(find("database")?.finding).toContain("PgBouncer");
      }
    },
  );

  test("names a clock that is more than a second away from the database's, in both directions", async () => {
    const config = parseConfig({
      PROXY_DATA_DIR: folder.path,
      PROXY_DATABASE_URL: server.url,
      PROXY_SECRET_KEY: SECRET_KEY,
    });
    const { clock } = createSystem({ logLevel: "error" });
    const find = async (aheadMs: number) => {
      const shifted = {
        ...clock,
        nowUs: () => clock.nowUs() + aheadMs * 1000,
        monotonicMs: () => clock.monotonicMs(),
      };
      const { checks } = await checkDatabase(config, { clock: shifted, log });
      return checks.find(({ name }) => name === "database clock");
    };
    expect(await find(1_500)).toMatchObject({ status: "warn", finding: "1.5 s behind this machine's" });
    expect(await find(-61_000)).toMatchObject({ status: "warn", finding: "61.0 s ahead of this machine's" });
    expect(await find(0)).toMatchObject({ status: "ok" });
  });

  test("names a replica that is silent and keeps slots of max_concurrency from the others, and none that lives", async () => {
    const [silent, living] = [crypto.randomUUID(), crypto.randomUUID()];
    await server.sql(
      `INSERT INTO ${SCHEMA}.replica (id, lane, name, applied, heartbeats, heard_at, grace_ms, is_fenced, schema, version)
       VALUES ('${silent}', 1, 'pod-0', 0, 1, now() - interval '42 seconds', 30000, true, 's', 'v'),
         ('${living}', 2, 'pod-1', 0, 1, now(), 30000, false, 's', 'v');
       INSERT INTO ${SCHEMA}.slot_pool VALUES ('host', now(), now());
       INSERT INTO ${SCHEMA}.slot_lease VALUES ('host', '${silent}', 3, 3, null, now()), ('host', '${living}', 5, 5, null, now())`,
    );
    const find = await diagnose(server.url);
    await server.sql(`DELETE FROM ${SCHEMA}.replica; DELETE FROM ${SCHEMA}.slot_pool`);
    expect(find("replicas")?.status).toBe("warn");
    expect(find("replicas")?.finding).toMatch(
      /^silent, and holding slots of max_concurrency: pod-0 \(3 slots, 4\d s\)$/,
    );
    expect(find("replicas")?.advice).toContain("65 s after its grace");
  });

  test("names a replica and a spool that have not been heard of for an hour, and no other", async () => {
    await server.sql(
      `INSERT INTO ${SCHEMA}.replica (id, lane, name, applied, heartbeats, heard_at, grace_ms, is_fenced, schema, version)
       VALUES (gen_random_uuid(), 1, 'pod-0', 0, 1, now() - interval '3 hours 5 minutes', 30000, false, 's', 'v'),
         (gen_random_uuid(), 2, 'pod-1', 0, 1, now() - interval '50 minutes', 30000, false, 's', 'v')`,
    );
    await server.sql(
      `INSERT INTO ${SCHEMA}.spool (lane, id, heard_at) VALUES (1, 'a', now()), (7, 'b', now() - interval '2 days')`,
    );
    const find = await diagnose(server.url);
    await server.sql(`DELETE FROM ${SCHEMA}.replica; DELETE FROM ${SCHEMA}.spool`);
    expect(find("replicas")).toMatchObject({
      status: "warn",
      finding: "1 replica unheard for an hour or more: pod-0 (3 h)",
    });
    expect(find("spools")).toMatchObject({
      status: "warn",
      finding: "1 spool unheard for an hour or more: 7 (48 h)",
    });
  });
});
