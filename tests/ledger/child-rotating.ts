import { join } from "node:path";
import { openForWriting, prepareUsageDatabase } from "#storage/sqlite/ledger/file/database.ts";
import { mkdirSync } from "node:fs";
import { openJournal } from "./journal-bench.ts";
import { ENDING, NEW_YEAR_US, SUBJECT } from "./usage.ts";
import { openSqliteWriter } from "../support/sqlite-writer.ts";

/**
 * A process that records event after event into the folder it is given, in segments of a few events each, and commits every
 * few of them: segments come and go as fast as they can. It says on stdout how many events it has recorded, and ends
 * with its stdin.
 */
const [, , directory = ""] = process.argv;
const journalDirectory = join(directory, "journal");
mkdirSync(journalDirectory, { recursive: true });
const databasePath = join(directory, "usage.db");
prepareUsageDatabase(databasePath);
const { ledger } = openJournal({ directory: journalDirectory, segmentBytesMax: 2_000 });
const database = openForWriting(databasePath);
database.run("PRAGMA busy_timeout = 5000");
database.run("PRAGMA synchronous = OFF");
const writer = openSqliteWriter({ database, journalDirectory, onDamage: (damage) => console.error(damage) });

const run = { isOver: false };
void Bun.stdin.text().then(() => (run.isOver = true));
for (let recorded = 1; !run.isOver; recorded += 1) {
  const usage = ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + recorded });
  await usage.end(ENDING);
  // As a text: a number may come in colour.
  console.log(String(recorded));
  if (recorded % 7 === 0) while (writer.writeBatch());
  // Lets stdout go out.
  if (recorded % 50 === 0) await Bun.sleep(1);
}
await ledger.close();
