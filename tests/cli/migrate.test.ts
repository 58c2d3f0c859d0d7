import { Database } from "bun:sqlite";
import { afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SQL } from "bun";
import * as fc from "fast-check";
import { lockDataFolder } from "#storage/files/folder-lock.ts";
import { LEFT_COLUMNS, MOVED_TABLES } from "#storage/move.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import { ENDING, NEW_YEAR_US, PENDING, RUN_LINE, SUBJECT, toBeginLine, toEndLine } from "../ledger/usage.ts";
import { arbitraryEvent, DAY_US } from "../oracle/events.ts";
import { writeLedger } from "../oracle/ledger.ts";
import { makeFolder } from "../support/folder.ts";
import { cleanEnvironment } from "../support/process.ts";
import { postgresMissing, sharedPostgres, type TestSchema, type TestServer } from "../support/postgres.ts";
import { runLocal, type CliInput } from "./terminal.ts";

const TEST_MS_MAX = 60_000;
setDefaultTimeout(TEST_MS_MAX);
const EVENTS = 150;
const POLL_MS = 10;
/** Any number that nothing else locks. */
const LOCK = 225;
const ROOT = join(import.meta.dir, "../..");
const SCENE_US = Date.parse("2025-12-29") * 1000;
const CAST = {
  aliceId: "principal-alice",
  bobId: "principal-bob",
  aliceKeyId: "key-alice",
  bobKeyId: "key-bob",
  openaiId: "provider-openai",
  localId: "provider-local",
};
/** Its end was written and is not in the database; of the other only the beginning was. */
const [REPLAYED_US, INTERRUPTED_US] = [NEW_YEAR_US + 5_000_007, NEW_YEAR_US + 5_000_008];

/** An installation with a past, which each test has a copy of. */
let template: ReturnType<typeof makeFolder>;
let server: TestServer;
let folder: ReturnType<typeof makeFolder>;
let dataDir: string;
let target: TestSchema;

describe.skipIf(postgresMissing !== null)("lockport migrate", () => {
  beforeAll(async () => {
    server = await sharedPostgres();
    template = makeFolder();
    await fillInstallation(template.path);
  });
  beforeEach(() => {
    folder = makeFolder();
    dataDir = join(folder.path, "data");
    cpSync(template.path, dataDir, { recursive: true });
    target = server.schema();
  });
  afterEach(async () => {
    await target[Symbol.asyncDispose]();
    folder.remove();
  });

  const run = (line: readonly string[], input: CliInput = {}) =>
    runLocal(join(folder.path, "elsewhere"), line, {
      ...input,
      env: { PROXY_DATABASE_URL: target.url, PROXY_DATABASE_SCHEMA: target.schema, ...input.env },
    });
  const move = (input?: CliInput) => run(["migrate", "--from", dataDir], input);

  test("moves every row of the catalog and of the ledger as it is, in lane 0, and tells how many", async () => {
    const { code, messages, data } = await run(["migrate", "--from", dataDir, "--json"]);
    expect({ code, messages }).toEqual({ code: 0, messages: "" });
    const view = JSON.parse(data);
    expect(view).toMatchObject({ schema: target.schema, secret_key_file: join(dataDir, "secret.key") });
    const source = dumpFiles(dataDir);
    expect([...source.keys()].sort()).toEqual(MOVED_TABLES.map(({ name }) => name).sort());
    for (const [table, rows] of source) {
      expect({ table, rows: await dumpTable(table) }).toEqual({ table, rows });
      expect({ table, count: view.rows[table] }).toEqual({ table, count: rows.length });
    }
    // Every table has something to lose.
    expect([...source].filter(([, rows]) => rows.length === 0).map(([table]) => table)).toEqual([]);
    const lanes = await server.sql(`SELECT DISTINCT lane FROM ${target.schema}.event`);
    expect(lanes).toEqual([{ lane: 0 }]);
  });

  test("counts what a killed server has left in the journal, once, and leaves the source without another change", async () => {
    const before = dumpFiles(dataDir);
    expect((await move()).code).toBe(0);
    const after = dumpFiles(dataDir);
    const changed = [...after].filter(([table, rows]) => !Bun.deepEquals(rows, before.get(table)));
    const catalog = new Set(MOVED_TABLES.filter(({ file }) => file === "catalog").map(({ name }) => name));
    expect(changed.map(([table]) => table).filter((table) => catalog.has(table))).toEqual([]);
    const ids = await server.sql<{ id: string; outcome: string }>(
      `SELECT e.id, r.outcome FROM ${target.schema}.event e JOIN ${target.schema}.manner m ON m.id = e.manner
       JOIN ${target.schema}.result r ON r.id = m.result WHERE e.id IN (${REPLAYED_US}, ${INTERRUPTED_US}) ORDER BY e.id`,
    );
    expect(ids).toEqual([
      { id: String(REPLAYED_US), outcome: "ok" },
      { id: String(INTERRUPTED_US), outcome: "unreachable" },
    ]);
    expect(after.get("event")).toHaveLength((before.get("event")?.length ?? 0) + 4);
  });

  test("gives what is new ids behind those that were moved, and each day's rows its partition", async () => {
    await move();
    for (const [table, column] of [
      ["combination", "id"],
      ["result", "id"],
      ["price_set", "id"],
      ["manner", "id"],
      ["audit_events", "id"],
    ]) {
      const [found] = await server.sql<{ next: string; last: string }>(
        `SELECT nextval(pg_get_serial_sequence('${target.schema}.${table}', '${column}')) AS next,
           (SELECT max(${column}) FROM ${target.schema}.${table}) AS last`,
      );
      expect({ table, next: Number(found?.next) }).toEqual({ table, next: Number(found?.last) + 1 });
    }
    expect(await server.sql(`SELECT id FROM ${target.schema}.event_default`)).toEqual([]);
  });

  test("leaves the target as it was when a row is not what it was, and names the row and its column", async () => {
    await using _fault = await spoil("event", "NEW.cost_lo = coalesce(NEW.cost_lo, 0) + 1");
    const { code, messages, data } = await move();
    expect(code).toBe(1);
    expect(data).toBe("");
    expect(messages).toContain("(request log, event: row 1 differs in cost_lo)");
    expect(await findSchemas()).toEqual([]);
  });

  for (const [table, change, difference] of [
    ["providers", "NEW.base_url = 'http://elsewhere'", "row 1 differs in base_url"],
    ["hour_total", "NEW.requests = NEW.requests + 1", "row 1 differs in requests"],
    ["api_keys", null, "2 rows in the source, 1 in the target"],
  ] as const) {
    test(`takes everything back when ${table} differs`, async () => {
      await using _fault = await spoil(table, change);
      const { code, messages } = await move();
      expect(code).toBe(1);
      expect(messages).toContain(difference);
      expect(messages).not.toContain("elsewhere");
      expect(await findSchemas()).toEqual([]);
    });
  }

  test("refuses a schema that is in use, and touches nothing", async () => {
    expect((await move()).code).toBe(0);
    const rows = await server.sql(`SELECT count(*) FROM ${target.schema}.event`);
    const before = dumpFiles(dataDir);
    const { code, messages } = await move();
    expect(code).toBe(78);
    expect(messages).toContain(`The schema ${target.schema} is in use`);
    expect(await server.sql(`SELECT count(*) FROM ${target.schema}.event`)).toEqual(rows);
    expect(dumpFiles(dataDir)).toEqual(before);
  });

  test("takes a schema that migrate has made and no server has used", async () => {
    expect(await run(["migrate"])).toMatchObject({ code: 0 });
    expect(await run(["migrate"])).toMatchObject({
      code: 0,
      messages: `The schema ${target.schema} is up to date.\n`,
    });
    const partitions = await server.sql(
      `SELECT 1 FROM pg_inherits WHERE inhparent = '${target.schema}.event'::regclass`,
    );
    // That of no day, today's and a week's.
    expect(partitions).toHaveLength(9);
    expect((await move()).code).toBe(0);
  });

  test("refuses while a server runs on the folder, whose journal is left alone", async () => {
    const lock = lockDataFolder(dataDir);
    try {
      const before = dumpFiles(dataDir);
      expect((await move()).code).toBe(78);
      expect(dumpFiles(dataDir)).toEqual(before);
      expect(await findSchemas()).toEqual([]);
    } finally {
      lock.release();
    }
  });

  test("leaves nothing when it is interrupted, and goes through afterwards", async () => {
    const ended = new AbortController();
    const held = await hold("event", () => ended.abort());
    const { code, messages } = await move({ end: ended.signal });
    await held[Symbol.asyncDispose]();
    expect(code).toBe(1);
    expect(messages).toContain("interrupted");
    expect(await findSchemas()).toEqual([]);
    expect((await move()).code).toBe(0);
  });

  test("leaves nothing when it is killed, and goes through afterwards", async () => {
    const child = await holdAndRun(async (spawned) => {
      spawned.kill("SIGKILL");
      await spawned.exited;
    });
    expect(child.signalCode).toBe("SIGKILL");
    expect(await findSchemas()).toEqual([]);
    expect((await move()).code).toBe(0);
  });

  test("never takes a password from the arguments, and tells none", async () => {
    const url = server.urlOf("someone", "planted-password");
    const argued = await run(["migrate", "--from", dataDir, "--to", url]);
    expect(argued.code).toBe(2);
    expect(argued.messages).toContain("PROXY_DATABASE_URL");
    const refused = await run(["migrate", "--from", dataDir], { env: { PROXY_DATABASE_URL: url } });
    expect(refused.code).toBe(78);
    for (const { messages } of [argued, refused]) expect(messages).not.toContain("planted");
  });

  test("takes the secret key that the installation was made with, and no other", async () => {
    const other = { PROXY_SECRET_KEY: Buffer.alloc(32, 9).toString("base64") };
    const refused = await move({ env: other });
    expect(refused.code).toBe(78);
    expect(await findSchemas()).toEqual([]);
    const own = { PROXY_SECRET_KEY: readFileSync(join(dataDir, "secret.key"), "utf8").trim() };
    const { code, messages } = await move({ env: own });
    expect(code).toBe(0);
    expect(messages).toContain("the same PROXY_SECRET_KEY");
    expect(messages).not.toContain(own.PROXY_SECRET_KEY);
  });

  test("names the folder and the option that were given when there is nothing, not the folder above it", async () => {
    const [missing, empty] = [join(folder.path, "missing"), join(folder.path, "empty")];
    mkdirSync(empty);
    for (const [line, told] of [
      [["--from", missing], `${missing} (--from) does not exist`],
      [["--from", `sqlite:${missing}/catalog.db`], `${missing}/catalog.db (--from) does not exist`],
      [["--from", dataDir, "--data-dir", missing], `${missing} (--data-dir) does not exist`],
      [["--from", empty], `There is no Lockport installation in ${empty} (--from)`],
    ] as const) {
      const { code, messages } = await run(["migrate", ...line]);
      expect({ line, code, messages }).toEqual({ line, code: 78, messages: expect.stringContaining(told) });
      expect(messages).not.toMatch(/PROXY_DATA_DIR|lockport serve/);
    }
    expect([existsSync(missing), readdirSync(empty), await findSchemas()]).toEqual([false, [], []]);
  });

  test("asks for PostgreSQL where neither the variable nor --to names it", async () => {
    const { code, messages } = await run(["migrate"], { env: { PROXY_DATABASE_URL: "" } });
    expect(code).toBe(2);
    expect(messages).toContain("--to");
  });

  /** A trigger that changes the first row of a table as it is inserted, or leaves it out. */
  async function spoil(table: string, change: string | null): Promise<AsyncDisposable> {
    return addTrigger(
      table,
      `IF current_setting('lockport_test.done', true) = 'yes' THEN RETURN NEW; END IF;
       PERFORM set_config('lockport_test.done', 'yes', true);
       ${change === null ? "RETURN NULL;" : `${change}; RETURN NEW;`}`,
    );
  }

  /** Runs the command in a process of its own, and `act` on it while the first row of the log waits for a lock. */
  async function holdAndRun(act: (child: Bun.Subprocess) => Promise<void>): Promise<Bun.Subprocess> {
    await using holder = new SQL(server.url, { max: 1 });
    await holder.unsafe(`SELECT pg_advisory_lock(${LOCK})`);
    await using _held = await addTrigger("event", `PERFORM pg_advisory_xact_lock(${LOCK}); RETURN NEW;`);
    const isThere = async (condition: string) =>
      (await server.sql(`SELECT 1 FROM pg_stat_activity WHERE ${condition}`)).length > 0;
    const child = Bun.spawn({
      cmd: [process.execPath, join(ROOT, "src/main.ts"), "migrate", "--from", dataDir],
      env: cleanEnvironment({ PROXY_DATABASE_URL: target.url, PROXY_DATABASE_SCHEMA: target.schema }),
      stdio: ["ignore", "ignore", "ignore"],
    });
    while (!(await isThere("wait_event_type = 'Lock' AND wait_event = 'advisory'"))) {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
      await Bun.sleep(POLL_MS);
    }
    await act(child);
    await holder.unsafe(`SELECT pg_advisory_unlock(${LOCK})`);
    // Its server process finds out when it wants to answer.
    while (await isThere("application_name = 'lockport migrate'")) await Bun.sleep(POLL_MS);
    return child;
  }

  /** Keeps the first row of a table waiting, and says when it does. */
  async function hold(table: string, onHeld: () => void): Promise<AsyncDisposable> {
    const trigger = await addTrigger(table, "PERFORM pg_sleep(600); RETURN NEW;");
    const over = new AbortController();
    const watched = (async () => {
      while (!over.signal.aborted) {
        const waiting = await server.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
        if (waiting.length > 0) return onHeld();
        await Bun.sleep(POLL_MS);
      }
    })();
    return {
      async [Symbol.asyncDispose]() {
        over.abort();
        await watched;
        await trigger[Symbol.asyncDispose]();
      },
    };
  }

  async function addTrigger(table: string, body: string): Promise<AsyncDisposable> {
    const name = `${target.schema}_fault`;
    await server.sql(
      `CREATE FUNCTION public.${name}_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$`,
    );
    await server.sql(`CREATE FUNCTION public.${name}() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
      IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = '${target.schema}.${table}') THEN
        EXECUTE 'CREATE TRIGGER fault BEFORE INSERT ON ${target.schema}.${table} FOR EACH ROW EXECUTE FUNCTION public.${name}_row()';
      END IF; END $$`);
    await server.sql(
      `CREATE EVENT TRIGGER ${name} ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION public.${name}()`,
    );
    return {
      async [Symbol.asyncDispose]() {
        await server.sql(`DROP EVENT TRIGGER IF EXISTS ${name}`);
      },
    };
  }

  const findSchemas = () => server.sql(`SELECT 1 FROM pg_namespace WHERE nspname = '${target.schema}'`);

  async function dumpTable(table: string): Promise<unknown[]> {
    const rows = await server.sql<Record<string, unknown>>(`SELECT * FROM ${target.schema}.${table}`);
    return toSorted(rows.map((row) => mapRow(row, (name) => name !== "lane")));
  }
});

/**
 * Tables of SQLite that are not moved, with the reason: which migrations were applied, which changes of the catalog are told,
 * and which server runs are facts of the database itself; a journal that was replayed to its end has no open requests, and
 * nothing that waits for their ends.
 */
const LEFT_TABLES: ReadonlySet<string> = new Set([
  "migration",
  "catalog_state",
  "change_log",
  "server_run",
  "open_request",
  "settlement",
]);

/** Every row of every table that is moved, in an order of its own. */
function dumpFiles(place: string): Map<string, unknown[]> {
  const dump = new Map<string, unknown[]>();
  for (const file of ["catalog.db", "usage.db"]) {
    using database = new Database(join(place, file), { readwrite: true });
    const tables = database
      .query<{ name: string }, []>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
      )
      .all();
    for (const { name } of tables) {
      if (LEFT_TABLES.has(name)) continue;
      const rows = database.query<Record<string, unknown>, []>(`SELECT * FROM ${name}`).all();
      dump.set(name, toSorted(rows.map((row) => mapRow(row, (column) => !LEFT_COLUMNS.includes(column)))));
    }
  }
  return dump;
}

/** As both engines spell it: `bigint` arrives as text, a boolean is 0 or 1 in SQLite. */
function mapRow(row: Record<string, unknown>, isKept: (column: string) => boolean): Record<string, unknown> {
  const entries = Object.entries(row).filter(([name]) => isKept(name));
  return Object.fromEntries(entries.map(([name, value]) => [name, toComparable(value)]));
}

function toComparable(value: unknown): unknown {
  if (value instanceof Uint8Array) return value.toHex();
  if (typeof value === "boolean") return value ? "1" : "0";
  return typeof value === "number" ? String(value) : value;
}

function toSorted(rows: readonly unknown[]): unknown[] {
  return rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

async function fillInstallation(filled: string): Promise<void> {
  const run = async (line: string, input?: CliInput) => {
    const { code, messages } = await runLocal(filled, line.split(" "), input);
    if (code !== 0) throw new Error(`${line}: ${messages}`);
  };
  await run("admin bootstrap");
  await run("provider add openai --base-url http://127.0.0.1:9/v1 --auth-style x-api-key --api-key-file -", {
    stdin: "sk-provider",
  });
  await run("model add fast --provider openai --upstream-name gpt --price input_tokens=0.15");
  await run("principal create ada");
  await run("key create --principal ada");
  await run("relay-token create --principal ada");
  await run("limit set month --amount 500 --per month");
  using catalog = new Database(join(filled, "catalog.db"), { readwrite: true });
  catalog.run(`INSERT INTO sessions SELECT 'hash', id, 1, 2 FROM principals LIMIT 1;
    INSERT INTO login_links SELECT 'hash', id, 1, 2 FROM principals LIMIT 1;
    INSERT INTO oidc_subject SELECT 'https://issuer', 'subject', id FROM principals LIMIT 1;
    INSERT INTO pricing_feed VALUES (1, '2026-03', 3);
    INSERT INTO price_variants VALUES ('gpt', '[{"when":{"tier":"flex"},"prices":{"input_tokens":75000}}]', NULL);
    INSERT INTO price_schedule VALUES (5, 9000000000000000, '{"model":"m","prices":{"input_tokens":75000},"variants":null}');
    INSERT INTO notices (sequence, body) VALUES (7, '{}');
    INSERT INTO notice_marks VALUES ('limit "x"', 4);
    INSERT INTO kept_responses VALUES ('00ff', 'principal-alice', 'model-1', 'provider-openai', ${NEW_YEAR_US}, 0, 0, 5),
      ('00ff', 'principal-bob', 'model-1', 'provider-openai', ${NEW_YEAR_US}, 0, 1, 6);
    INSERT INTO models VALUES ('a-name', 'quick', NULL, NULL, NULL, (SELECT id FROM models), 'declared', 1, 5)`);
  const events = fc.sample(arbitraryEvent(CAST, SCENE_US), { numRuns: EVENTS, seed: 16 });
  const ledger = writeLedger(events, {
    sealing: [{ beforeUs: SCENE_US + 20 * DAY_US, afterShare: 0.9 }],
  });
  const written = dirname(ledger.database.filename);
  for (const name of ["usage.db", "usage.db-wal", "journal"]) {
    cpSync(join(written, name), join(filled, name), { recursive: true });
  }
  ledger.close();
  const lines = [
    RUN_LINE,
    toBeginLine(1, { ...SUBJECT, arrivedAtUs: REPLAYED_US }),
    toEndLine(1, ENDING),
    toBeginLine(2, { ...SUBJECT, arrivedAtUs: INTERRUPTED_US }),
    toBeginLine(3, { ...SUBJECT, arrivedAtUs: Date.now() * 1000 }),
    toEndLine(3, ENDING),
    toBeginLine(4, { ...SUBJECT, arrivedAtUs: REPLAYED_US + 500 }),
    toEndLine(4, PENDING),
  ];
  appendFileSync(segmentPath(join(filled, "journal"), 2), Buffer.concat(lines));
  using usage = new Database(join(filled, "usage.db"), { readwrite: true });
  usage.run(`INSERT INTO repricing VALUES (1, 'repricing-1', 'applied', NULL, 0, 3, 2, ${NEW_YEAR_US}, 5, NULL, NULL, '{}');
    INSERT INTO repriced_stretch VALUES ('repricing-1', ${NEW_YEAR_US}, ${NEW_YEAR_US + 1}, 2, x'00ff')`);
  const key = catalog.query<{ id: string }, []>("SELECT id FROM api_keys").get();
  usage.run("INSERT INTO key_use VALUES (?, 1767225600000001)", [key?.id ?? ""]);
}
