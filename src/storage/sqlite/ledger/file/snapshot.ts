import { Database } from "bun:sqlite";
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { systemCode } from "#kernel/system-code.ts";
import { JOURNAL_NAME, USAGE_NAME } from "#storage/files/data-files.ts";
import { makePrivateFile, openPrivateFile } from "#storage/files/private-file.ts";
import { toSetupError } from "#storage/files/setup-errors.ts";
import { listSegments, segmentPath } from "#storage/journal/segments.ts";
import { readPosition } from "./database.ts";

/** Rows of the log that are copied in one statement: in between the process does what else is due. */
const EVENT_ROWS_MAX = 250_000;
/** The writer leaves a segment after 8 MiB at the earliest; losing so many races against it is not chance. */
const ATTEMPTS_MAX = 100;
const BUSY_TIMEOUT_MS = 5_000;
const PAGES_KIB = 65_536;
const LINE_FEED = 0x0a;

export interface SnapshotOptions {
  readonly dataDir: string;
  /** An empty folder, with an empty folder `journal` in it. */
  readonly target: string;
  /** The share of the log that is copied, from 0 to 1. */
  readonly onShare: (share: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Copies the ledger as it is at one moment, also while a server writes to it: `usage.db`, and of the journal what that
 * state of it has not taken in yet, so that a start from the copy counts every event that had been recorded once. Returns
 * the names of the segments. Requests that were under way are begins without an end. Synced by the caller. Throws SetupError.
 */
export async function snapshotLedger(options: SnapshotOptions): Promise<readonly string[]> {
  const databasePath = join(options.dataDir, USAGE_NAME);
  try {
    return await snapshot(databasePath, options);
  } catch (cause) {
    throw toSetupError(databasePath, cause);
  }
}

async function snapshot(databasePath: string, options: SnapshotOptions): Promise<readonly string[]> {
  const { dataDir, target, signal } = options;
  const copyPath = join(target, USAGE_NAME);
  makePrivateFile(copyPath);
  const copy = new Database(copyPath, { readwrite: true, strict: true });
  try {
    copy.run("PRAGMA foreign_keys = OFF");
    copy.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    copy.run(`PRAGMA cache_size = -${PAGES_KIB}`);
    // The copy is read only once it is complete: an interrupted one is thrown away.
    copy.query("PRAGMA journal_mode = OFF").get();
    copy.run("PRAGMA synchronous = OFF");
    copy.query("ATTACH ? AS source").run(databasePath);
    const segments = pin(copy, databasePath, join(dataDir, JOURNAL_NAME));
    const names = segments.map((segment) => copySegment(segment, segment === segments.at(-1), target));
    await copyTables(copy, options);
    signal.throwIfAborted();
    copy.run("COMMIT");
    return names;
  } finally {
    if (copy.inTransaction) copy.run("ROLLBACK");
    copy.close();
  }
}

interface Segment {
  readonly path: string;
  readonly fd: number;
}

/**
 * Begins a transaction that sees one state of the database until its end, and opens the segments from that state's
 * position on. The writer removes a segment only once it has committed a position behind it: when the position is in the
 * same segment after they were opened, none that is needed was missed.
 */
function pin(copy: Database, databasePath: string, journalDirectory: string): readonly Segment[] {
  const current = new Database(databasePath, { readonly: true, strict: true });
  try {
    current.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      copy.run("BEGIN");
      const { segment } = readPosition(copy, "source");
      const segments = openSegments(journalDirectory, segment);
      if (segments !== null && readPosition(current).segment === segment) return segments;
      for (const { fd } of segments ?? []) closeSync(fd);
      copy.run("ROLLBACK");
    }
  } finally {
    current.close();
  }
  throw new SetupError("configuration", "The usage journal never stood still long enough: try again.");
}

/** Null when one went away while they were opened. */
function openSegments(directory: string, fromSegment: number): readonly Segment[] | null {
  if (!existsSync(directory)) return [];
  const opened: Segment[] = [];
  try {
    for (const number of listSegments(directory)) {
      if (number < fromSegment) continue;
      const path = segmentPath(directory, number);
      opened.push({ path, fd: openSync(path, "r") });
    }
    return opened;
  } catch (cause) {
    for (const { fd } of opened) closeSync(fd);
    if (systemCode(cause) === "ENOENT") return null;
    throw cause;
  }
}

/** A segment has some 8 MiB. `isLast`: it may be written to, so that it ends within a line, or with room that is reserved. */
function copySegment({ path, fd }: Segment, isLast: boolean, target: string): string {
  const name = `journal/${basename(path)}`;
  try {
    const bytes = readFileSync(fd);
    const copy = openPrivateFile(join(target, name), "wx");
    try {
      writeFileSync(copy, isLast ? bytes.subarray(0, bytes.lastIndexOf(LINE_FEED) + 1) : bytes);
    } finally {
      closeSync(copy);
    }
    return name;
  } finally {
    closeSync(fd);
  }
}

interface SchemaRow {
  readonly type: string;
  readonly name: string;
  readonly sql: string;
}

/** Whatever the schema's version: the copy is brought up to date where it is restored. */
async function copyTables(copy: Database, { onShare, signal }: SnapshotOptions): Promise<void> {
  const schema = copy
    .query<SchemaRow, []>(
      "SELECT type, name, sql FROM source.sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
    )
    .all();
  const tables = schema.filter(({ type }) => type === "table");
  for (const { sql } of tables) copy.run(sql);
  for (const { name } of tables) {
    signal.throwIfAborted();
    // No server has the copy.
    if (name === "server_run")
      copy.run("INSERT INTO main.server_run SELECT id, number, '' FROM source.server_run");
    else if (name === "event") await copyEvents(copy, { onShare, signal });
    // SQLite copies such a table without looking into its rows.
    else copy.run(`INSERT INTO main."${name}" SELECT * FROM source."${name}"`);
    await Bun.sleep(0);
  }
  for (const { type, sql } of schema) if (type !== "table") copy.run(sql);
  for (const pragma of ["application_id", "user_version"] as const) {
    const row = copy.query<{ [name: string]: number }, []>(`PRAGMA source.${pragma}`).get();
    copy.run(`PRAGMA main.${pragma} = ${row?.[pragma] ?? 0}`);
  }
}

async function copyEvents(
  copy: Database,
  { onShare, signal }: Pick<SnapshotOptions, "onShare" | "signal">,
): Promise<void> {
  const range = copy
    .query<{ first: number | null; last: number | null }, []>(
      "SELECT (SELECT min(id) FROM source.event) AS first, (SELECT max(id) FROM source.event) AS last",
    )
    .get();
  const [first, last] = [range?.first ?? null, range?.last ?? null];
  if (first === null || last === null) return;
  const slice = copy.prepare<{ id: number }, [number, number]>(
    "SELECT id FROM source.event WHERE id >= ? ORDER BY id LIMIT 1 OFFSET ?",
  );
  const insert = copy.prepare(
    "INSERT INTO main.event SELECT * FROM source.event WHERE id >= ? AND id < ? ORDER BY id",
  );
  try {
    for (let from = first; from <= last;) {
      const next = slice.get(from, EVENT_ROWS_MAX)?.id ?? last + 1;
      insert.run(from, next);
      from = next;
      onShare((from - first) / (last + 1 - first));
      await Bun.sleep(0);
      signal.throwIfAborted();
    }
  } finally {
    slice.finalize();
    insert.finalize();
  }
}
