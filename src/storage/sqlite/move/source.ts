import type { Database } from "bun:sqlite";
import { join } from "node:path";
import { DAY_US } from "#kernel/clock.ts";
import { SetupError } from "#kernel/errors.ts";
import { JOURNAL_NAME, USAGE_NAME } from "#storage/files/data-files.ts";
import { JournalBacklog } from "#storage/journal/backlog.ts";
import { measureSegments } from "#storage/journal/segments.ts";
import type { Cell, InstallationSource, MovedTable } from "#storage/move.ts";
import type { DataPlace } from "#storage/engine.ts";
import { openSqliteReader, toCatalogPath } from "#storage/sqlite/file/open.ts";
import { readPosition } from "#storage/sqlite/ledger/file/database.ts";

/**
 * Reads an installation of which no server runs; changes nothing of it. Both databases are read as they were at their first
 * row, whatever commands change meanwhile. Throws a `SetupError` for files that cannot be used, and for a journal that holds
 * what is not in the database yet.
 */
export function openInstallationSource(place: DataPlace): InstallationSource {
  const catalog = openSqliteReader(toCatalogPath(place));
  const opened = [catalog];
  const close = () => {
    for (const each of opened) each.close();
  };
  try {
    const usage = openSqliteReader(join(place.dataDir, USAGE_NAME));
    opened.push(usage);
    for (const each of opened) each.run("BEGIN");
    requireReplayed(usage, join(place.dataDir, JOURNAL_NAME));
    const toDatabase = ({ file }: MovedTable) => (file === "catalog" ? catalog : usage);
    return {
      columnsOf: (table) => readColumns(toDatabase(table), table),
      countRows: (table) => countRows(toDatabase(table), table),
      batches: (table, rowsMax) => readBatches(toDatabase(table), table, rowsMax),
      days: findDays(usage),
      close,
    };
  } catch (cause) {
    close();
    throw cause;
  }
}

function requireReplayed(usage: Database, journalDirectory: string): void {
  const backlog = new JournalBacklog(measureSegments(journalDirectory), readPosition(usage));
  if (backlog.bytes === 0) return;
  throw new SetupError(
    "failure",
    "A server has written to the journal meanwhile: stop what starts it, and run this again. Nothing was moved.",
  );
}

function readColumns(database: Database, { name }: MovedTable): readonly string[] {
  return database
    .query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?)")
    .all(name)
    .map((column) => column.name);
}

function countRows(database: Database, { name }: MovedTable): number {
  return database.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM ${name}`).get()?.rows ?? 0;
}

function* readBatches(
  database: Database,
  { name, order }: MovedTable,
  rowsMax: number,
): Generator<readonly (readonly Cell[])[]> {
  const rows = database.query<{ [column: string]: Cell }, []>(`SELECT * FROM ${name} ORDER BY ${order}`);
  let batch: (readonly Cell[])[] = [];
  for (const row of rows.iterate()) {
    batch.push(Object.values(row));
    if (batch.length < rowsMax) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function findDays(usage: Database): readonly number[] {
  return usage
    .query<{ day: number }, []>(`SELECT DISTINCT id / ${DAY_US} AS day FROM event ORDER BY day`)
    .all()
    .map(({ day }) => day);
}
