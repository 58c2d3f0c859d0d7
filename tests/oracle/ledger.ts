import type { Database } from "bun:sqlite";
import * as fc from "fast-check";
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  openForReading,
  openForWriting,
  prepareUsageDatabase,
} from "#storage/sqlite/ledger/file/database.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import type { UsageEvent } from "#usage/event.ts";
import { toBeginLine, toEndLine } from "../ledger/usage.ts";
import { makeFolder } from "../support/folder.ts";
import { DAY_US, DAYS } from "./events.ts";
import { openSqliteWriter } from "../support/sqlite-writer.ts";

/** A ledger without threads: it is written to when a test says so. */
export interface TestLedger {
  /** The reader's connection. */
  readonly database: Database;
  write(events: readonly UsageEvent[]): void;
  sealBefore(instantUs: number): void;
  pruneBefore(instantUs: number): void;
  /** Removes it. */
  close(): void;
}

export function makeLedger(readBytesMax?: number): TestLedger {
  const folder = makeFolder();
  const journalDirectory = join(folder.path, "journal");
  const databasePath = join(folder.path, "usage.db");
  mkdirSync(journalDirectory);
  prepareUsageDatabase(databasePath);
  const database = openForWriting(databasePath);
  // The tests are about what is written, not about when the disk has it.
  database.run("PRAGMA synchronous = OFF");
  const writer = openSqliteWriter({
    database,
    journalDirectory,
    onDamage: () => {
      throw new Error("a line of the journal was skipped");
    },
    ...(readBytesMax === undefined ? {} : { readBytesMax }),
  });
  const reading = openForReading(databasePath);
  let written = 0;
  return {
    database: reading,
    write(events) {
      const lines = events.flatMap((event) => {
        written += 1;
        return [toBeginLine(written, event), toEndLine(written, event)];
      });
      if (lines.length > 0) appendFileSync(segmentPath(journalDirectory, 1), Buffer.concat(lines));
      while (writer.writeBatch());
    },
    sealBefore(instantUs) {
      while (writer.seal(Math.floor(instantUs / DAY_US)));
    },
    pruneBefore(instantUs) {
      while (writer.prune(instantUs));
    },
    close() {
      reading.close();
      writer.close();
      folder.remove();
    },
  };
}

export interface Writing {
  /** Days before this instant are sealed once this share of the events is written. */
  readonly sealing: readonly { readonly beforeUs: number; readonly afterShare: number }[];
  readonly readBytesMax?: number;
  /** Rows from before it are removed in the end. */
  readonly pruneBeforeUs?: number;
}

export const arbitrarySealing = (sceneUs: number) =>
  fc.array(
    fc.record({
      beforeUs: fc.constantFrom(...DAYS).map((day) => sceneUs + (day + 1) * DAY_US),
      // Sealed before the last event has come: what comes later for such a day is late.
      afterShare: fc.constantFrom(0.3, 0.8, 1),
    }),
    { maxLength: 3 },
  );

/** A ledger that these events were written to, in this order. */
export function writeLedger(events: readonly UsageEvent[], writing: Writing): TestLedger {
  const { sealing, readBytesMax, pruneBeforeUs = 0 } = writing;
  const ledger = makeLedger(readBytesMax);
  let written = 0;
  for (const { beforeUs, afterShare } of [...sealing].sort((a, b) => a.afterShare - b.afterShare)) {
    const until = Math.max(written, Math.round(events.length * afterShare));
    ledger.write(events.slice(written, until));
    ledger.sealBefore(beforeUs);
    written = until;
  }
  ledger.write(events.slice(written));
  ledger.pruneBefore(pruneBeforeUs);
  return ledger;
}

/** A connection on which `interrupt` runs before each statement. */
export function interruptReads(database: Database, interrupt: () => void): Database {
  return new Proxy(database, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        if (name === "query" || name === "run" || name === "prepare") interrupt();
        return member.apply(target, args);
      };
    },
  });
}
