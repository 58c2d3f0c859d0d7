import type { Database } from "bun:sqlite";
import { findFileIdentity } from "#storage/files/file-watch.ts";
import { serveReader } from "#storage/threads/reader-protocol.ts";
import { openForReading, type UsagePlace } from "#storage/sqlite/ledger/file/database.ts";
import { answerQuestion } from "#storage/sqlite/answer.ts";
import { untilLeft } from "#storage/sqlite/until-left.ts";

let database: Database | null = null;
/** Tells the file that is open from one that has taken its name. */
let databaseFile: string | null = null;

serveReader<UsagePlace>({
  answer(asked, { databasePath }, hasLeft) {
    const file = findFileIdentity(databasePath);
    if (file !== null && file !== databaseFile) {
      database?.close();
      database = null;
      databaseFile = file;
    }
    database ??= untilLeft(openForReading(databasePath), hasLeft);
    return answerQuestion(database, asked);
  },
  close: () => database?.close(),
});
