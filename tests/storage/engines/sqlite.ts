import { Database } from "bun:sqlite";
import { join } from "node:path";
import { openCatalogDatabase } from "#storage/sqlite/catalog/catalog-database.ts";
import { sqliteEngine } from "#storage/sqlite/engine.ts";
import { checkLedger } from "../../support/invariants.ts";
import {
  createFakeClock,
  createTempDir,
  toSecrets,
  silentLog,
  spawnLedger,
  type Engine,
} from "../support.ts";

export interface SqliteEngine extends Engine {
  /** The catalog's file. */
  readonly path: string;
  /** A bare connection beside ours, to look into the catalog's file or to hold its locks. */
  openRaw(): Database;
}

export function createSqliteEngine(): SqliteEngine {
  const dir = createTempDir();
  const path = join(dir.path, "catalog.db");
  const database = { kind: "sqlite", path } as const;
  const clock = createFakeClock();
  const opened: { close(): void | Promise<void> }[] = [];
  const options = { secrets: toSecrets(), clock, log: silentLog };
  const keep = <One extends { close(): void | Promise<void> }>(one: One): One => {
    opened.push(one);
    return one;
  };
  return {
    path,
    dataDir: dir.path,
    keepsCommitted: false,
    clock,
    open: async (changes = {}) => keep(await openCatalogDatabase({ ...options, path, ...changes })),
    async serve(changes = {}) {
      const storage = keep(
        await sqliteEngine.serve({
          ...options,
          dataDir: dir.path,
          database,
          ledgerSync: "interval",
          usageRetentionDays: null,
          ...changes,
        }),
      );
      await storage.start();
      return storage;
    },
    openReader: async () =>
      keep(sqliteEngine.openLedgerReader({ dataDir: dir.path, database, log: silentLog })),
    spawn: async (task, ...words) => spawnLedger({ dataDir: dir.path, database }, task, words),
    checkLedger: async (attempts) => checkLedger(dir.path, attempts),
    openRaw: () => {
      const client = new Database(path, { readwrite: true, strict: true });
      opened.push({ close: () => client.close(true) });
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const one of opened.reverse()) await one.close();
      dir[Symbol.dispose]();
    },
  };
}
