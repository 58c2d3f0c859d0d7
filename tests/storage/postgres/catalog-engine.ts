import { PURPOSES } from "#storage/postgres/connection/limits.ts";
import { createSystemIds } from "#kernel/ids.ts";
import type { Keyring } from "#kernel/crypto.ts";
import { requireOwnSecret } from "#storage/catalog/secret-state.ts";
import { drive } from "#storage/postgres/connection/drive.ts";
import { StoreMemory } from "#storage/catalog/memory.ts";
import { createCatalogStores } from "#storage/catalog/stores.ts";
import { createPostgresDriver, type PostgresDriverDeps } from "#storage/postgres/catalog-driver.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { createGuestFreshness, type Freshness } from "#storage/replicas/freshness.ts";
import type { CatalogStores } from "#storage/engine.ts";
import { openPresence, type Presence } from "#storage/replicas/presence.ts";
import type { TestServer } from "../../support/postgres.ts";
import type { TcpProxy } from "../../support/tcp-proxy.ts";
import { createFakeClock, type OpenedCatalog, silentLog, toSecrets, type CatalogEngine } from "../support.ts";
import { createDatabase, type TestDatabase } from "./support.ts";

export interface ReplicaOptions {
  readonly secrets?: Keyring;
  readonly graceMs?: number;
  readonly slotLeaseMs?: number;
  /** False: no notification arrives. */
  readonly hears?: boolean;
  /** Its way to the database. */
  readonly network?: TcpProxy;
}

export interface PostgresCatalog extends CatalogEngine {
  /** Another replica. Without a grace it believes nothing that it has not just asked. */
  open(options?: ReplicaOptions): Promise<PostgresStores>;
  /** The stores of a command beside the replicas, on connections of the caller's. */
  openGuest(postgres: Postgres): Promise<CatalogStores>;
  /** The database beside the stores, to look into it or to hold its locks. */
  database(): Promise<Postgres>;
  /** It and other connections to it. */
  readonly ready: Promise<TestDatabase>;
}

export interface PostgresStores extends OpenedCatalog {
  readonly freshness: Freshness;
  readonly presence: Presence;
  readonly memory: StoreMemory;
  readonly parts: PostgresDriverDeps;
}

const GRACE_MS = 30_000;
const TABLES =
  "audit_events, sessions, login_links, oidc_subject, limits, api_keys, relay_tokens, principals, models, providers, prices, price_variants, price_history, price_inheritance, price_schedule, pricing_feed, notices, notice_marks, kept_responses, meta, replica";

let shared: Promise<TestDatabase> | null = null;
let lanes = 0;

/**
 * Empty stores on the one database of this test process, or on a database of their own on `own`. Each that is opened is a
 * replica of its own.
 */
export function createPostgresCatalog(own?: TestServer): PostgresCatalog {
  const clock = createFakeClock();
  const ids = createSystemIds();
  const opened: { close(): Promise<void> }[] = [];
  const made = own === undefined ? (shared ??= createDatabase()) : createDatabase(own);
  const ready = made.then(async (database) => {
    for (const table of TABLES.split(", ")) await database.postgres.run(`DELETE FROM ${table}`);
    return database;
  });
  return {
    clock,
    ready,
    database: async () => (await ready).postgres,
    async open({
      secrets = toSecrets(),
      graceMs = GRACE_MS,
      slotLeaseMs = 60_000,
      hears = true,
      network,
    } = {}) {
      const database = await ready;
      const { schema, url } = database.target;
      const target = { schema, url: network?.toUrl(url) ?? url };
      const postgres = await database.open({ target });
      const beats = await database.open({ target, ...PURPOSES.presence });
      const pulse = hears ? beats : { ...beats, listen: async () => async () => {} };
      await drive(postgres, requireOwnSecret(secrets, "the database"));
      const memory = new StoreMemory({ secrets, log: silentLog, clock, hasAllSecrets: true });
      const identity = { lane: (lanes += 1), name: "test", graceMs, schema: "", version: "" };
      const options = { postgres, pulse, schema, memory, clock, ids, log: silentLog, slotLeaseMs };
      const presence = await openPresence({ identity, ...options });
      const close = async () => {
        await presence.close();
        await Promise.all([postgres.close(), pulse.close()]);
      };
      opened.push({ close });
      const { freshness } = presence;
      const parts = { postgres, memory, freshness };
      const driver = createPostgresDriver(parts);
      const stores = createCatalogStores(driver);
      return { ...stores, change: driver.change, freshness, presence, memory, parts, close };
    },
    async openGuest(postgres) {
      const memory = new StoreMemory({ secrets: toSecrets(), log: silentLog, clock, hasAllSecrets: false });
      const freshness = createGuestFreshness({ postgres, memory, clock, ids });
      return createCatalogStores(createPostgresDriver({ postgres, memory, freshness }));
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
      if (own !== undefined) await (await ready)[Symbol.asyncDispose]();
    },
  };
}
