import type { Database } from "bun:sqlite";
import { describeCause } from "#kernel/log.ts";
import { openForReading } from "./database.ts";
import { loadLastUsed } from "./key-use.ts";
import type { ReaderCommand, ReaderReply } from "./messages.ts";
import { listRequests } from "./request-log.ts";

declare const self: Worker;

let databasePath: string | null = null;
let database: Database | null = null;

self.addEventListener("message", (event: MessageEvent<ReaderCommand>) => {
  const command = event.data;
  switch (command.kind) {
    case "start":
      databasePath = command.databasePath;
      reply({ kind: "ready" });
      return;
    case "close":
      database?.close();
      reply({ kind: "closed" });
      return;
    case "listRequests":
      answer(command.id, (on) => ({
        kind: "requests",
        id: command.id,
        value: listRequests(on, command.query, command.page),
      }));
      return;
    case "loadLastUsed":
      answer(command.id, (on) => ({
        kind: "lastUsed",
        id: command.id,
        value: loadLastUsed(on, command.ids),
      }));
  }
});

function answer(id: number, query: (on: Database) => ReaderReply): void {
  try {
    if (databasePath === null) throw new Error("the reader was not started");
    database ??= openForReading(databasePath);
    reply(query(database));
  } catch (cause) {
    reply({ kind: "failed", id, fields: describeCause(cause) });
  }
}

function reply(message: ReaderReply): void {
  self.postMessage(message);
}
