import { openForWriting, type UsagePlace } from "#storage/sqlite/ledger/file/database.ts";
import { SqliteWriter } from "#storage/sqlite/ledger/sqlite-writer.ts";
import type { WriterStart } from "#storage/threads/writer-tasks.ts";
import { serveWriter } from "#storage/writer/writer-loop.ts";

serveWriter(({ databasePath, catalogPath, serverRun }: WriterStart & UsagePlace) => {
  const database = openForWriting(databasePath);
  try {
    return new SqliteWriter({ database, serverRun, catalogPath });
  } catch (cause) {
    database.close();
    throw cause;
  }
});
