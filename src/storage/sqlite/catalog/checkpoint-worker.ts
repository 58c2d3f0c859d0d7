import { Database } from "bun:sqlite";
import { describeCause } from "#kernel/log.ts";
import { findFileIdentity } from "#storage/files/file-watch.ts";
import { lowerThreadPriority } from "#storage/threads/lower-priority.ts";
import type { CheckpointCommand, CheckpointReply } from "./checkpoint-thread.ts";

declare const self: Worker;

lowerThreadPriority();

let start: Extract<CheckpointCommand, { kind: "start" }> | null = null;

self.addEventListener("message", (event: MessageEvent<CheckpointCommand>) => {
  const command = event.data;
  switch (command.kind) {
    case "start":
      start = command;
      reply({ kind: "ready" });
      return;
    case "copy":
      try {
        reply({ kind: "copied", isWhole: copy() });
      } catch (cause) {
        reply({ kind: "failed", fields: describeCause(cause) });
      }
      return;
    case "close":
      reply({ kind: "closed" });
  }
});

/** Commits go on meanwhile (sqlite.org/c3ref/wal_checkpoint_v2.html, PASSIVE). */
function copy(): boolean {
  if (start === null) throw new Error("the checkpoint was not started");
  const database = new Database(start.path, { readwrite: true });
  try {
    // Another database under this name would get the pages of the log that the server goes on with.
    if (findFileIdentity(start.path) !== start.file) throw new Error("the database's file was replaced");
    database.run("PRAGMA synchronous = FULL");
    const row = database
      .query<{ log: number; checkpointed: number }, []>("PRAGMA wal_checkpoint(PASSIVE)")
      .get();
    return row !== null && row.log === row.checkpointed;
  } finally {
    database.close();
  }
}

function reply(message: CheckpointReply): void {
  self.postMessage(message);
}
