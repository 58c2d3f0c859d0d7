import { postgresEngine } from "#storage/postgres/engine.ts";
import { checkPostgresLedger } from "../../support/postgres-totals.ts";
import { sharedPostgres } from "../../support/postgres.ts";
import { copySchema } from "../postgres/support.ts";
import {
  createFakeClock,
  createTempDir,
  silentLog,
  spawnLedger,
  toSecrets,
  type LedgerEngine,
} from "../support.ts";

const GRACE_MS = 30_000;

/** A ledger on the PostgreSQL of this test process, in a schema of its own, and the data folder of one replica. */
export function createPostgresEngine(): LedgerEngine {
  const dir = createTempDir();
  const opened: { close(): void | Promise<void> }[] = [];
  const schema = sharedPostgres().then(copySchema);
  const common = () => ({ secrets: toSecrets(), clock: createFakeClock(), log: silentLog });
  const toPlace = async () => {
    const { url, schema: name } = await schema;
    return {
      dataDir: dir.path,
      database: { kind: "postgres", url, schema: name, graceMs: GRACE_MS },
    } as const;
  };
  const keep = <One extends { close(): void | Promise<void> }>(one: One): One => {
    opened.push(one);
    return one;
  };
  return {
    dataDir: dir.path,
    keepsCommitted: true,
    async serve(changes = {}) {
      const storage = keep(
        await postgresEngine.serve({
          ...(await toPlace()),
          ...common(),
          ledgerSync: "interval",
          usageRetentionDays: null,
          ...changes,
        }),
      );
      await storage.start();
      return storage;
    },
    async openReader() {
      const place = await toPlace();
      // Catalog and ledger are one schema, which the first command makes.
      await postgresEngine.makeCatalog({ ...place, ...common() });
      return keep(postgresEngine.openLedgerReader({ ...place, log: silentLog }));
    },
    spawn: async (task, ...words) => spawnLedger(await toPlace(), task, words),
    checkLedger: async (attempts = {}) => checkPostgresLedger(await schema, attempts),
    async [Symbol.asyncDispose]() {
      for (const one of opened.reverse()) await one.close();
      await (await schema)[Symbol.asyncDispose]();
      dir[Symbol.dispose]();
    },
  };
}
