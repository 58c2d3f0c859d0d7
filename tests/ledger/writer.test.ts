import { Database, type Statement } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openForWriting, prepareUsageDatabase } from "#storage/sqlite/ledger/file/database.ts";
import { SCHEMA_SQL } from "#storage/sqlite/ledger/file/schema.ts";
import { SQLITE } from "#storage/sql/dialect.ts";
import { drive } from "#storage/sqlite/drive.ts";
import { Interning } from "#storage/writer/interning.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import { describeWriter, drain, toLines } from "./contract-writer.ts";
import { type CheckedEvent, checkTotals, EVENTS_SQL } from "../support/ledger-totals.ts";
import { describeSealing } from "./contract-sealing.ts";
import { describeSettlements } from "./contract-settlement.ts";
import { DAY_US, ENDING, LineEncoder, NEW_YEAR_US, SUBJECT } from "./usage.ts";
import { openSqliteWriter } from "../support/sqlite-writer.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-writer-"));
afterAll(() => rmSync(folder, { recursive: true }));

let counter = 0;

const EVENT_CLIENTS =
  "SELECT event.id, client FROM event JOIN combination ON combination.id = event.combination ORDER BY event.id";

/** Counts each run of the statements that change something and are made from now on. */
function countStatements(database: Database, statements: { count: number }): void {
  const counted = new WeakSet<Statement>();
  const count = (statement: Statement) => {
    if (counted.has(statement)) return statement;
    counted.add(statement);
    const run = statement.run.bind(statement);
    statement.run = (...values) => ((statements.count += 1), run(...values));
    return statement;
  };
  const [prepare, query] = [database.prepare.bind(database), database.query.bind(database)];
  Object.assign(database, {
    prepare: (sql: string) => count(prepare(sql)),
    query: (sql: string) => count(query(sql)),
  });
}

/** A journal and a writer on it, without threads: what the Worker does, step by step. */
function createBench(readBytesMax?: number) {
  counter += 1;
  const directory = join(folder, String(counter));
  const journalDirectory = join(directory, "journal");
  mkdirSync(journalDirectory, { recursive: true });
  const databasePath = join(directory, "usage.db");
  prepareUsageDatabase(databasePath);
  const damage: { lines: number; tornBytes: number }[] = [];
  const statements = { count: 0 };
  const openWriter = () => {
    const database = openForWriting(databasePath);
    database.run("UPDATE server_run SET number = number + 1");
    countStatements(database, statements);
    // The tests are about what is written, not about when the disk has it.
    database.run("PRAGMA synchronous = OFF");
    return openSqliteWriter({
      database,
      journalDirectory,
      onDamage: (seen) => damage.push(seen),
      ...(readBytesMax === undefined ? {} : { readBytesMax }),
    });
  };
  return {
    damage,
    journalDirectory,
    [Symbol.asyncDispose]: async () => {},
    statements,
    databasePath,
    openWriter,
    append: (segment: number, bytes: Uint8Array) =>
      appendFileSync(segmentPath(journalDirectory, segment), bytes),
    segments: () => [...new Bun.Glob("*.journal").scanSync(journalDirectory)].length,
    lane: 0,
    checkTotals: async () => {
      const database = new Database(databasePath, { readonly: true });
      checkTotals(database, database.query<CheckedEvent, []>(EVENTS_SQL).all());
      database.close();
    },
    read: async <Row>(sql: string): Promise<Row[]> => {
      const database = new Database(databasePath, { readonly: true });
      const rows = database.query<Row, []>(sql).all();
      database.close();
      return rows;
    },
  };
}

describeWriter("SQLite", createBench, { cutStride: 1, runs: 10, dialect: SQLITE });
describeSealing("SQLite", createBench);
describeSettlements("SQLite", createBench, { runs: 60 });

describe("the journal", () => {
  test("costs one statement for each event and one for each total, however many events a batch has", async () => {
    const bench = createBench();
    const writer = bench.openWriter();
    const encoder = new LineEncoder();
    let sequence = 0;
    const write = async (count: number) => {
      for (let index = 0; index < count; index += 1) {
        sequence += 1;
        const subject = { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + sequence };
        bench.append(1, encoder.begin(1, sequence, subject));
        bench.append(1, encoder.end(1, sequence, ENDING));
      }
      const before = bench.statements.count;
      await drain(writer);
      return bench.statements.count - before;
    };
    await write(1);
    // The total of the hour, its cell, and how far the journal is.
    expect(await write(1)).toBe(1 + 3);
    expect(await write(300)).toBe(300 + 3);
    writer.close();
  });

  test("a flipped bit costs one request at most, also in a line that gives a number, and two where it joins their lines", async () => {
    const encoder = new LineEncoder();
    const clients = ["one", "two"];
    const count = 30;
    const lines = Array.from({ length: count }, (_, index) => {
      const subject = { ...SUBJECT, client: clients[index % 2]!, arrivedAtUs: NEW_YEAR_US + index };
      return Buffer.concat([encoder.begin(1, index, subject), encoder.end(1, index, ENDING)]);
    });
    const whole = Buffer.concat(lines);
    const all = lines.map((_, index) => NEW_YEAR_US + index);
    // Each end of a line, which makes one of two, and bytes within: those that give numbers are the longest.
    const places = [...whole.keys()].slice(0, -1).filter((at) => whole[at] === 0x0a || at % 83 === 20);
    const database = new Database(":memory:");
    database.run(SCHEMA_SQL);
    for (const at of places) {
      counter += 1;
      const journalDirectory = join(folder, String(counter));
      mkdirSync(journalDirectory);
      const damaged = Buffer.from(whole);
      damaged[at]! ^= 1;
      writeFileSync(segmentPath(journalDirectory, 1), damaged);
      database.run("DELETE FROM event");
      database.run("UPDATE ledger_state SET journal_offset = 0");
      let skipped = 0;
      const onDamage = (damage: { readonly lines: number }) => void (skipped += damage.lines);
      await drain(openSqliteWriter({ database, journalDirectory, onDamage }));
      const kept = database.query<{ id: number; client: string }, []>(EVENT_CLIENTS).all();
      const right = kept.filter(({ id, client }) => client === clients[(id - NEW_YEAR_US) % 2]);
      expect({ at, wrong: kept.length - right.length }).toEqual({ at, wrong: 0 });
      const lost = all.length - kept.length;
      expect({ at, lost }).toEqual({ at, lost: Math.min(lost, whole[at] === 0x0a ? 2 : 1) });
      expect(skipped).toBeGreaterThan(0);
    }
    expect(places.length).toBeGreaterThan(100);
  });

  test("keeps the number of what events have in common when new ones empty the writer's memory", () => {
    const database = new Database(":memory:");
    database.run(SCHEMA_SQL);
    const interning = new Interning(2);
    const { usage, ...manner } = ENDING;
    const toEvent = (model: string) => ({
      dimensions: { ...SUBJECT, model },
      manner: { ...manner, shape: usage?.shape ?? null },
      streamed: false,
      combination: 0,
      result: 0,
      eventClass: 0,
    });
    const first = ["a", "b", "c"].map(toEvent);
    drive(database, interning.intern(first));
    const later = ["a", "d"].map(toEvent);
    drive(database, interning.intern(later));
    expect([...first, ...later].map(({ combination }) => combination)).toEqual([1, 2, 3, 1, 4]);
  });

  test("a commit that fails leaves no event behind, and the next one counts each line once", async () => {
    const bench = createBench();
    const writer = bench.openWriter();
    bench.append(1, Buffer.concat(toLines([{ subject: SUBJECT, ending: ENDING }])));
    const other = new Database(bench.databasePath);
    other.run("BEGIN IMMEDIATE");
    expect(() => writer.writeBatch()).toThrow("locked");
    other.run("ROLLBACK");
    other.run("CREATE TRIGGER refuse BEFORE INSERT ON hour_total BEGIN SELECT raise(ABORT, 'refused'); END");
    expect(String(await drain(writer).catch((cause: unknown) => cause))).toContain("refused");
    expect(await bench.read("SELECT * FROM event")).toEqual([]);
    other.run("DROP TRIGGER refuse");
    other.close();
    await drain(writer);
    writer.close();
    expect(await bench.read("SELECT count(*) AS n FROM event")).toEqual([{ n: 1 }]);
    expect(await bench.read("SELECT sum(requests) AS n FROM open_cell")).toEqual([{ n: 1 }]);
    expect(await bench.read("SELECT id FROM combination")).toEqual([{ id: 1 }]);
  });

  test("a step of sealing that fails leaves every total as it was, and is made again", async () => {
    const bench = createBench();
    const writer = bench.openWriter();
    bench.append(1, Buffer.concat(toLines([{ subject: SUBJECT, ending: ENDING }])));
    await drain(writer);
    const other = new Database(bench.databasePath);
    // The last that a step writes.
    other.run(
      "CREATE TRIGGER refuse BEFORE INSERT ON cells WHEN NEW.period = 2 BEGIN SELECT raise(ABORT, 'refused'); END",
    );
    const beforeDay = NEW_YEAR_US / DAY_US + 1;
    expect(() => writer.seal(beforeDay)).toThrow("refused");
    expect(await bench.read("SELECT requests FROM open_cell")).toEqual([{ requests: 1 }]);
    expect(await bench.read("SELECT 1 FROM cells")).toEqual([]);
    other.run("DROP TRIGGER refuse");
    other.close();
    while (writer.seal(beforeDay));
    writer.close();
    expect(await bench.read("SELECT 1 FROM open_cell")).toEqual([]);
    await bench.checkTotals();
  });
});
