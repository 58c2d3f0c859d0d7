import type { Freshness, Memory } from "#storage/postgres/catalog/freshness.ts";
import type { Keyring } from "#kernel/keyring.ts";
import type { CatalogStores } from "#storage/engine.ts";
import { createMemory, type StoreMemory } from "#storage/postgres/catalog/memory.ts";
import { requireOwnSecret } from "#storage/postgres/catalog/secret-state.ts";
import { createStores } from "#storage/postgres/catalog/stores.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { createFakeClock, silentLog, toSecrets, type CatalogEngine } from "../support.ts";
import { createDatabase, type TestDatabase } from "./support.ts";

export interface PostgresCatalog extends CatalogEngine {
  open(secrets?: Keyring): Promise<PostgresStores>;
  /** The database beside the stores, to look into it or to hold its locks. */
  database(): Promise<Postgres>;
  /** While false, no store believes its memory without asking. */
  isTrusted: boolean;
}

export interface PostgresStores extends CatalogStores {
  readonly freshness: Freshness;
  readonly memory: StoreMemory;
  close(): Promise<void>;
}

const TABLES =
  "audit_events, sessions, login_links, oidc_subject, limits, api_keys, relay_tokens, principals, models, providers, prices, pricing_feed, notices, notice_marks, meta";

let shared: Promise<TestDatabase> | null = null;

/** Empty stores on the one database of this test process; replicas tell each other in memory, and apply changes at once. */
export function createPostgresCatalog(): PostgresCatalog {
  const clock = createFakeClock();
  const replicas = new Set<Memory>();
  const opened: { close(): Promise<void> }[] = [];
  const ready = (shared ??= createDatabase()).then(async ({ postgres }) => {
    for (const table of TABLES.split(", ")) await postgres.run(`DELETE FROM ${table}`);
    return postgres;
  });
  const engine: PostgresCatalog = {
    clock,
    isTrusted: true,
    database: () => ready,
    async open(secrets = toSecrets()) {
      await ready;
      const postgres = await (await (shared ??= createDatabase())).open();
      await requireOwnSecret(postgres, secrets);
      const memory = createMemory(secrets, silentLog);
      await readSnapshot(postgres, (tx) => memory.load(tx));
      replicas.add(memory);
      const close = async () => {
        replicas.delete(memory);
        await postgres.close();
      };
      opened.push({ close });
      const freshness = createFreshness(postgres, replicas, () => engine.isTrusted);
      return { ...createStores({ postgres, memory, freshness, clock }), freshness, memory, close };
    },
    async [Symbol.asyncDispose]() {
      await ready;
      for (const one of opened) await one.close();
    },
  };
  return engine;
}

/** Changes are applied one after the other, whichever replica makes them. */
let applied: Promise<void> = Promise.resolve();

function createFreshness(
  postgres: Postgres,
  replicas: ReadonlySet<Memory>,
  isTrusted: () => boolean,
): Freshness {
  return {
    isTrusted,
    refreshed: () => applied,
    async mutate(step) {
      const { result, changes } = await postgres.transaction(async (tx) => {
        await tx.run("SELECT 1 FROM catalog_state FOR UPDATE");
        return step(tx);
      });
      if (changes.length > 0)
        applied = applied.then(async () => {
          for (const memory of replicas) await readSnapshot(postgres, (tx) => memory.apply(tx, changes));
        });
      await applied;
      return result;
    },
  };
}

function readSnapshot(postgres: Postgres, read: (tx: Transaction) => Promise<void>): Promise<void> {
  return postgres.transaction(read, { isReadOnly: true, isolation: "repeatable read" });
}
