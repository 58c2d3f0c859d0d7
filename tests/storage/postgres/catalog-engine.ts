import { PURPOSES } from "#storage/postgres/connection/limits.ts";
import { createSystemIds } from "#kernel/ids.ts";
import type { Keyring } from "#kernel/keyring.ts";
import { requireOwnSecret } from "#storage/catalog/secret-state.ts";
import { changeBy } from "#storage/postgres/catalog/driver.ts";
import { drive, toConnection } from "#storage/postgres/connection/drive.ts";
import { StoreMemory } from "#storage/catalog/memory.ts";
import { CatalogFollower } from "#storage/postgres/catalog/follower.ts";
import { createStores, type StoresOptions } from "#storage/postgres/catalog/driver.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Freshness } from "#storage/replicas/freshness.ts";
import { openPresence } from "#storage/replicas/presence.ts";
import { createFakeClock, type OpenedCatalog, silentLog, toSecrets, type CatalogEngine } from "../support.ts";
import { createDatabase, type TestDatabase } from "./support.ts";

export interface PostgresCatalog extends CatalogEngine {
  /** Another replica. Without a grace it believes nothing that it has not just asked. */
  open(options?: { readonly secrets?: Keyring; readonly graceMs?: number }): Promise<PostgresStores>;
  /** The database beside the stores, to look into it or to hold its locks. */
  database(): Promise<Postgres>;
}

export interface PostgresStores extends OpenedCatalog {
  readonly freshness: Freshness;
  readonly memory: StoreMemory;
  readonly parts: StoresOptions;
}

const GRACE_MS = 30_000;
const TABLES =
  "audit_events, sessions, login_links, oidc_subject, limits, api_keys, relay_tokens, principals, models, providers, prices, pricing_feed, notices, notice_marks, kept_responses, meta, replica";

let shared: Promise<TestDatabase> | null = null;
let lanes = 0;

/** Empty stores on the one database of this test process. Each that is opened is a replica of its own. */
export function createPostgresCatalog(): PostgresCatalog {
  const clock = createFakeClock();
  const ids = createSystemIds();
  const opened: { close(): Promise<void> }[] = [];
  const ready = (shared ??= createDatabase()).then(async (database) => {
    for (const table of TABLES.split(", ")) await database.postgres.run(`DELETE FROM ${table}`);
    return database;
  });
  return {
    clock,
    database: async () => (await ready).postgres,
    async open({ secrets = toSecrets(), graceMs = GRACE_MS } = {}) {
      const database = await ready;
      const { schema } = database.target;
      const postgres = await database.open();
      const pulse = await database.open({ connectionsMax: 3, callMsMax: PURPOSES.presence.callMsMax });
      await drive(postgres, toConnection(), requireOwnSecret(secrets, "the database"));
      const memory = new StoreMemory({ secrets, log: silentLog, hasAllSecrets: true });
      const follower = new CatalogFollower(memory);
      const identity = { lane: (lanes += 1), name: "test", graceMs, schema: "", version: "" };
      const options = { postgres, pulse, schema, memory: follower, clock, ids, log: silentLog };
      const presence = await openPresence({ identity, ...options });
      const close = async () => {
        await presence.close();
        await Promise.all([postgres.close(), pulse.close()]);
      };
      opened.push({ close });
      const { freshness } = presence;
      const parts = { postgres, memory, follower, freshness, secrets, clock };
      const change: OpenedCatalog["change"] = (script) =>
        changeBy(parts, (tx, transaction) => drive(tx, transaction, script()));
      return { ...createStores(parts), change, freshness, memory, parts, close };
    },
    async copySecrets(first, copies) {
      const { postgres } = await ready;
      for (const table of ["api_keys", "relay_tokens"])
        await postgres.run(
          `INSERT INTO ${table} SELECT (jsonb_populate_record(one, copy)).*
           FROM ${table} AS one, jsonb_array_elements($2::text::jsonb) AS copy WHERE one.id = $1`,
          [first.id, JSON.stringify(copies.map(({ id, hash }) => ({ id, hash })))],
        );
    },
    async [Symbol.asyncDispose]() {
      await ready;
      await Promise.all(opened.map((one) => one.close()));
    },
  };
}
