/**
 * A process to be killed: turns the journal of a folder into events and totals, and seals days on its way. It says a line
 * for each batch that is committed. Run: bun child.ts <folder> <bytes per batch> <batches between seals> <first day> <end day>
 */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { openForWriting } from "#storage/sqlite/ledger/file/database.ts";
import { openSqliteWriter } from "../support/sqlite-writer.ts";

const [folder = "", ...numbers] = process.argv.slice(2);
const [readBytesMax = 0, batchesPerSeal = 0, firstDay = 0, endDay = 0] = numbers.map(Number);

const writer = openSqliteWriter({
  database: openForWriting(join(folder, "usage.db")),
  journalDirectory: join(folder, "journal"),
  onDamage: () => process.exit(1),
  readBytesMax,
});
let [batches, sealedBefore] = [0, firstDay];
while (writer.writeBatch()) {
  writeSync(1, "batch\n");
  batches += 1;
  if (batches % batchesPerSeal === 0 && sealedBefore < endDay) {
    sealedBefore += 1;
    while (writer.seal(sealedBefore)) writeSync(1, "sealed\n");
  }
}
while (writer.seal(endDay)) writeSync(1, "sealed\n");
writer.close();
