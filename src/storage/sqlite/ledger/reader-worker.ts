import type { Database } from "bun:sqlite";
import { findFileIdentity } from "#storage/files/file-watch.ts";
import { serveReader } from "#storage/threads/reader-server.ts";
import { openForReading, type UsagePlace } from "#storage/sqlite/ledger/file/database.ts";
import { readFrom } from "#storage/sqlite/drive.ts";

serveReader(({ databasePath }: UsagePlace) => {
  let database: Database | null = null;
  /** Tells the file that is open from one that has taken its name. */
  let databaseFile: string | null = null;
  return {
    read(report) {
      const file = findFileIdentity(databasePath);
      if (file !== null && file !== databaseFile) {
        database?.close();
        database = null;
        databaseFile = file;
      }
      database ??= openForReading(databasePath);
      return readFrom(database, report);
    },
    close: () => database?.close(),
  };
});
