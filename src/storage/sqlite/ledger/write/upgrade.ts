import { Database } from "bun:sqlite";
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { syncFolderNow } from "#storage/files/sync-folder.ts";
import { makePrivateFile } from "#storage/files/private-file.ts";
import { DimensionTotals } from "./dimension-totals.ts";
import type { DimensionLimits } from "./dimensions.ts";
import { APPLICATION_ID, SCHEMA_SQL, SCHEMA_VERSION } from "#storage/sqlite/ledger/file/schema.ts";

/** The only one before `SCHEMA_VERSION`. */
export const FIRST_SCHEMA_VERSION = 1;
/** How long another process that has the file open is waited for. */
const BUSY_TIMEOUT_MS = 5_000;
const PAGES_KIB = 65_536;

/**
 * Brings a usage.db of schema 1 to schema 2: as a copy beside it that takes its name when it is complete, checked and on
 * disk, so that whatever happens before leaves the file as it was. It then stays as `<path>.before-schema-2`, which is
 * returned. Needs as much disk again. Nobody else may have it open. Throws SetupError.
 */
export function upgradeUsageDatabase(path: string, limits?: DimensionLimits): string {
  const unfinished = `${path}.unfinished`;
  const previous = `${path}.before-schema-${SCHEMA_VERSION}`;
  rmSync(unfinished, { force: true });
  makePrivateFile(unfinished);
  try {
    foldLog(path);
    copyInto({ path, target: unfinished, limits });
    syncFile(unfinished);
    keepAs(path, previous);
    renameSync(unfinished, path);
    syncFolderNow(dirname(path));
    return previous;
  } catch (cause) {
    rmSync(unfinished, { force: true });
    throw cause;
  }
}

/** Its name is about to be another file's, which a write-ahead log that stays behind would be taken to belong to. */
function foldLog(path: string): void {
  const database = new Database(path, { readwrite: true, strict: true });
  try {
    database.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    database.query("PRAGMA journal_mode = DELETE").get();
  } finally {
    database.close(true);
  }
  if (existsSync(`${path}-wal`)) {
    throw new SetupError(
      "configuration",
      `The database ${path} is open in another process: stop it and start again.`,
    );
  }
}

/** Tables that are the same in both schemas. SQLite copies such a table without looking into its rows. */
const SAME_TABLES = [
  "ledger_state",
  "open_request",
  "combination",
  "tag",
  "combination_tag",
  "result",
  "price_set",
  "sealed_day_total",
];
const SAME_TABLES_AFTER = ["hour_total", "day_total", "month_total", "key_use"];

interface Copy {
  readonly path: string;
  readonly target: string;
  readonly limits: DimensionLimits | undefined;
}

function copyInto({ path, target, limits }: Copy): void {
  const database = new Database(target, { readwrite: true, strict: true });
  try {
    database.run("PRAGMA foreign_keys = OFF");
    database.run("PRAGMA temp_store = MEMORY");
    database.run(`PRAGMA cache_size = -${PAGES_KIB}`);
    // Nobody reads it before it is complete: one that was cut off is thrown away.
    database.query("PRAGMA journal_mode = OFF").get();
    database.run("PRAGMA synchronous = OFF");
    database.query("ATTACH ? AS previous").run(path);
    database.run("BEGIN");
    database.run(SCHEMA_SQL);
    database.run("DELETE FROM ledger_state");
    copyTables(database, SAME_TABLES);
    fillDimensions(database, limits);
    copyTables(database, SAME_TABLES_AFTER);
    copyEvents(database);
    database.run(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.run(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    database.run("COMMIT");
    requireIntact(database, path);
  } finally {
    database.close(true);
  }
}

function copyTables(database: Database, tables: readonly string[]): void {
  for (const table of tables) database.run(`INSERT INTO main.${table} SELECT * FROM previous.${table}`);
}

/** Day after day, as if each had been sealed by this version. */
function fillDimensions(database: Database, limits: DimensionLimits | undefined): void {
  // Its pages are used again by what is copied after it.
  database.run("CREATE INDEX sealed_day_by_day ON sealed_day_total (day)");
  const totals = new DimensionTotals(database, "sealed_day_total", limits);
  const next = database.prepare<{ day: number | null }, [number]>(
    "SELECT min(day) AS day FROM sealed_day_total WHERE day > ?",
  );
  for (let day = next.get(-1)?.day ?? null; day !== null; day = next.get(day)?.day ?? null) totals.seal(day);
  totals.finalize();
  next.finalize();
  database.run("DROP INDEX sealed_day_by_day");
}

function copyEvents(database: Database): void {
  database.run(
    `INSERT INTO manner (result, streamed, price_set)
     SELECT DISTINCT result, streamed, price_set FROM previous.event`,
  );
  database.run(
    `INSERT INTO main.event (id, combination, manner, duration_us, first_byte_us, cost_hi, cost_lo, input_tokens,
       output_tokens, cached_input_tokens, audio_seconds, cache_creation_tokens)
     SELECT e.id, e.combination, m.id, e.duration_us, e.first_byte_us, e.cost_hi, e.cost_lo, e.input_tokens,
       e.output_tokens, e.cached_input_tokens, e.audio_seconds, e.cache_creation_tokens
     FROM previous.event AS e CROSS JOIN main.manner AS m
       ON m.result = e.result AND m.streamed = e.streamed AND m.price_set = e.price_set
     ORDER BY e.id`,
  );
}

function requireIntact(database: Database, path: string): void {
  const check = database.query<{ integrity_check: string }, []>("PRAGMA main.integrity_check(1)").get();
  const counts = database
    .query<{ now: number; before: number }, []>(
      "SELECT (SELECT count(*) FROM main.event) AS now, (SELECT count(*) FROM previous.event) AS before",
    )
    .get();
  const dangling = database.query("PRAGMA main.foreign_key_check").all().length;
  if (check?.integrity_check === "ok" && counts?.now === counts?.before && dangling === 0) return;
  throw new SetupError(
    "configuration",
    `The database ${path} could not be brought to this version's schema and was left as it was: check the file.`,
  );
}

/** Under another name, too. A file system without hard links gets a copy. */
function keepAs(path: string, name: string): void {
  rmSync(name, { force: true });
  try {
    linkSync(path, name);
  } catch {
    makePrivateFile(name);
    copyFileSync(path, name);
    syncFile(name);
  }
}

function syncFile(path: string): void {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
