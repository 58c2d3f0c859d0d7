import type { Database } from "bun:sqlite";
import { findFileIdentity } from "#storage/files/file-identity.ts";
import { openForReading, type UsagePlace } from "#storage/sqlite/ledger/file/database.ts";
import { lowerThreadPriority } from "#storage/ledger/threads/lower-priority.ts";
import { listBuffers, toFailure } from "#storage/ledger/threads/reader-replies.ts";
import type { ReaderCommand, ReaderReply } from "#storage/ledger/threads/messages.ts";
import type { Asked, QuestionKind } from "#storage/ledger/threads/messages.ts";
import { LeftError, untilLeft } from "#storage/sqlite/ledger/reports/until-left.ts";
import { answerQuestion } from "#storage/sqlite/ledger/reports/reading.ts";

declare const self: Worker;

lowerThreadPriority();

let start: Extract<ReaderCommand<UsagePlace>, { kind: "start" }> | null = null;
let database: Database | null = null;
/** Tells the file that is open from one that has taken its name. */
let databaseFile: string | null = null;

self.addEventListener("message", (event: MessageEvent<ReaderCommand<UsagePlace>>) => {
  const command = event.data;
  switch (command.kind) {
    case "start":
      start = command;
      reply({ kind: "ready" });
      return;
    case "close":
      database?.close();
      reply({ kind: "closed" });
      return;
    case "ask":
      answer(command.id, command.asked);
  }
});

function answer(id: number, asked: Asked<QuestionKind>): void {
  try {
    if (start === null) throw new Error("the reader was not started");
    const { databasePath, left } = start;
    const file = findFileIdentity(databasePath);
    if (file !== null && file !== databaseFile) {
      database?.close();
      database = null;
      databaseFile = file;
    }
    database ??= untilLeft(openForReading(databasePath), () => Atomics.load(left, 0) === 1);
    const found = answerQuestion(database, asked);
    reply({ kind: "answer", id, answer: found }, listBuffers(found));
  } catch (cause) {
    if (cause instanceof LeftError) {
      reply({ kind: "interrupted", id });
    } else {
      reply(toFailure(id, cause));
    }
  }
}

function reply(message: ReaderReply, transfer: ArrayBuffer[] = []): void {
  self.postMessage(message, transfer);
}
