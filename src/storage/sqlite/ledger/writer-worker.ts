import { openForWriting, type UsagePlace } from "#storage/sqlite/ledger/file/database.ts";
import { SqliteWriter } from "#storage/sqlite/ledger/sqlite-writer.ts";
import { serveWorker, type WorkerChannel } from "#storage/threads/worker-server.ts";
import type { WriterEvent, WriterStart } from "#storage/threads/writer-tasks.ts";
import { WriterLoop } from "#storage/writer/writer-loop.ts";

serveWorker((start: WriterStart & UsagePlace, channel: WorkerChannel<WriterEvent>) => {
  const { databasePath, catalogPath, serverRun } = start;
  const open = () => {
    const database = openForWriting(databasePath);
    try {
      return new SqliteWriter({ database, serverRun, catalogPath });
    } catch (cause) {
      database.close();
      throw cause;
    }
  };
  const loop = new WriterLoop({ start, channel, open });
  return { tasks: loop.tasks, close: () => loop.close() };
});
