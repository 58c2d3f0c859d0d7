import { Database, type SQLQueryBindings } from "bun:sqlite";
import { SQLITE } from "#storage/sql/dialect.ts";
import type { Binding, Connection, InsertTarget, Query, Script } from "#storage/sql/script.ts";
import { SCHEMA_SQL } from "./ledger/file/schema.ts";

/** Rows of a scan that are in memory at a time: half a megabyte or so. */
const ROWS_PER_SCAN = 4_096;

const connections = new WeakMap<Database, Connection>();

/** Reads at once, of one picture of the file: within a transaction of its own, or as a part of one that is under way. */
export function readFrom<Answer>(database: Database, reading: Script<Answer>): Answer {
  // Rows of a transaction under way may never be committed: nothing of it is remembered.
  const connection = database.inTransaction ? { dialect: SQLITE } : getConnection(database);
  return readTransaction(database, () => drive(database, reading, connection));
}

/** Reads a ledger in memory in which nothing was ever recorded. */
export function readEmpty<Answer>(script: Script<Answer>): Answer {
  const empty = new Database(":memory:", { strict: true });
  try {
    empty.run(SCHEMA_SQL);
    return readFrom(empty, script);
  } finally {
    empty.close();
  }
}

/**
 * One picture of the file for everything that `read` asks: totals and rows of different commits would not fit together.
 * Within another one it is part of that.
 */
export function readTransaction<Answer>(database: Database, read: () => Answer): Answer {
  if (database.inTransaction) return read();
  database.run("BEGIN");
  try {
    return read();
  } finally {
    // An error may have rolled back by itself; a second time would throw, and hide it.
    if (database.inTransaction) database.run("ROLLBACK");
  }
}

/** As `readFrom`, and lets go of the thread after each query: a command that takes long can be interrupted. */
export async function readInTurns<Answer>(database: Database, reading: Script<Answer>): Promise<Answer> {
  const connection = getConnection(database);
  const scans = new Map<Query, Iterator<unknown>>();
  database.run("BEGIN");
  try {
    for (;;) {
      const step = reading.next(connection);
      if (step.done === true) return step.value;
      perform(database, step.value, scans);
      await Bun.sleep(0);
    }
  } finally {
    for (const rows of scans.values()) rows.return?.();
    // An error may have rolled back by itself; a second time would throw, and hide it.
    if (database.inTransaction) database.run("ROLLBACK");
  }
}

function getConnection(database: Database): Connection {
  let connection = connections.get(database);
  if (connection === undefined) {
    connections.set(database, (connection = { dialect: SQLITE }));
  }
  return connection;
}

/** Reads and writes at once, within a transaction of the caller. */
export function drive<Answer>(
  database: Database,
  reading: Script<Answer>,
  connection: Connection = getConnection(database),
): Answer {
  const scans = new Map<Query, Iterator<unknown>>();
  try {
    for (;;) {
      const step = reading.next(connection);
      if (step.done === true) return step.value;
      perform(database, step.value, scans);
    }
  } finally {
    // One that was left before its end would keep its statement open.
    for (const rows of scans.values()) rows.return?.();
  }
}

function perform(database: Database, query: Query, scans: Map<Query, Iterator<unknown>>): void {
  switch (query.kind) {
    case "all":
      query.rows = prepare(database, query.sql).all(...toBindings(query.bindings));
      return;
    case "run":
      query.changes = prepare(database, query.sql).run(...toBindings(query.bindings)).changes;
      return;
    case "insert":
      query.changes = insert(database, query.target, query.rows);
      return;
    case "scan": {
      let rows = scans.get(query);
      if (rows === undefined) {
        rows = prepare(database, query.sql).iterate(...toBindings(query.bindings));
        scans.set(query, rows);
      }
      query.rows = take(rows);
      query.hasMore = query.rows.length === ROWS_PER_SCAN;
      return;
    }
    case "none":
  }
}

function insert(
  database: Database,
  { table, columns, ending = "" }: InsertTarget,
  rows: readonly (readonly SQLQueryBindings[])[],
): number {
  const lane = columns.findIndex(([name]) => name === "lane");
  const names = columns.map(([name]) => name).filter((_, index) => index !== lane);
  const add = prepare(
    database,
    `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")}) ${ending}`,
  );
  let changes = 0;
  for (const row of rows) changes += add.run(...(lane < 0 ? row : row.toSpliced(lane, 1))).changes;
  return changes;
}

function prepare(database: Database, sql: string) {
  return database.query<unknown, SQLQueryBindings[]>(sql);
}

function toBindings(bindings: readonly Binding[]): SQLQueryBindings[] {
  return bindings.map((value) => (isList(value) ? JSON.stringify(value) : value));
}

/** Tells whether a binding is a list: `Array.isArray` alone does not narrow a readonly array. */
function isList(value: Binding): value is readonly string[] | readonly number[] {
  return Array.isArray(value);
}

function take(rows: Iterator<unknown>): readonly unknown[] {
  const taken: unknown[] = [];
  while (taken.length < ROWS_PER_SCAN) {
    const step = rows.next();
    if (step.done === true) break;
    taken.push(step.value);
  }
  return taken;
}
