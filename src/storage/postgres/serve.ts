import { hostname } from "node:os";
import { createSystemIds } from "#kernel/ids.ts";
import type { Keyring } from "#kernel/crypto.ts";
import { PRODUCT_VERSION } from "#kernel/version.ts";
import type { ServeOptions } from "#storage/engine.ts";
import type { HeldFolder, ServerParts } from "#storage/installation.ts";
import type { StorageHealth } from "#usage/gauges.ts";
import { StoreMemory } from "#storage/catalog/memory.ts";
import { createCatalogStores } from "#storage/catalog/stores.ts";
import { requireOwnSecret } from "#storage/catalog/secret-state.ts";
import { drive } from "#storage/postgres/connection/drive.ts";
import { createPostgresDriver } from "./catalog-driver.ts";
import { withLockWatch } from "./connection/lock-watch.ts";
import { migrate } from "./connection/migrate.ts";
import { MIGRATIONS } from "./connection/migrations.ts";
import { openPostgres, type Postgres } from "./connection/postgres.ts";
import { PURPOSES } from "./connection/limits.ts";
import type { Sql } from "./connection/pool.ts";
import { MOVED_TABLES } from "#storage/move.ts";
import { takeLedger } from "./ledger/ledger.ts";
import { toTarget } from "./connection/target.ts";
import type { OpenedLedger } from "#storage/threads/ledger.ts";
import { openPresence, type Presence } from "#storage/replicas/presence.ts";
import { createSharedAttempts, createSharedStates } from "#storage/replicas/sign-in.ts";

/** Opens everything for one replica (`EngineDriver.serve`). */
export async function serve(options: ServeOptions, held: HeldFolder): Promise<ServerParts> {
  const { log } = options;
  const target = toTarget(options);
  const connect = async (purpose: "serve" | "presence") =>
    held.opened.use(await openPostgres({ target, ...PURPOSES[purpose], log }));
  const postgres = await connect("serve");
  const pulse = await connect("presence");
  const purposes = [PURPOSES.serve.purpose, PURPOSES.presence.purpose];
  return withLockWatch(pulse, { log, purposes }, () => join({ postgres, pulse }, options, held));
}

interface Connections {
  readonly postgres: Postgres;
  readonly pulse: Postgres;
}

async function join(
  { postgres, pulse }: Connections,
  options: ServeOptions,
  held: HeldFolder,
): Promise<ServerParts> {
  const { dataDir, secrets, clock, log } = options;
  const target = toTarget(options);
  const ids = createSystemIds();
  await migrate(postgres);
  await drive(postgres, requireOwnSecret(secrets, "the database"));
  const { parts, spool } = await takeLedger({ dataDir, target, postgres }, { ...held, ids, log });
  const memory = new StoreMemory({ secrets, log, clock, hasAllSecrets: true });
  const presence = held.opened.adopt(
    await openPresence({
      identity: {
        lane: spool.lane,
        name: hostname(),
        graceMs: target.graceMs,
        schema: MIGRATIONS.at(-1)?.name ?? "",
        version: PRODUCT_VERSION,
      },
      pulse,
      postgres,
      memory,
      clock,
      ids,
      log,
    }),
    (one) => one.close(),
  );
  return {
    stores: createCatalogStores(createPostgresDriver({ postgres, memory, freshness: presence.freshness })),
    ledger: parts,
    shared: {
      sharedAttempts: createSharedAttempts({ sql: postgres, clock, log }),
      usedStates: createSharedStates(postgres, clock),
      limitBoard: presence.limitBoard,
      slots: presence.slots,
      lane: spool.lane,
      wasServed: spool.run > 1 || (await hasPeers(postgres)),
    },
    health: (ledger) => toHealth(presence, ledger, secrets),
    measure: () => measureTables(postgres),
    leave: () => presence.close(),
  };
}

/** Tells whether another server has run on the data, now or before. */
async function hasPeers(postgres: Postgres): Promise<boolean> {
  const [found] = await postgres.all<{ spools: number }>("SELECT count(*) AS spools FROM spool");
  return found !== undefined && found.spools > 1;
}

function toHealth(
  presence: Presence,
  usage: Pick<OpenedLedger, "gauges" | "uncommittedMs">,
  { isPresent }: Pick<Keyring, "isPresent">,
): StorageHealth {
  const { isServing, isDatabaseUp, trustLeftMs, barrierMs } = presence.health();
  const { journalUncommittedBytes, filesMissing } = usage.gauges();
  return {
    // Events that are recorded in a file without a name end with the process, and without the secret key of the database no stored
    // credential opens: another replica has to take the requests.
    isServing: isServing && filesMissing === 0 && isPresent,
    replica: {
      isDatabaseUp,
      trustLeftSeconds: trustLeftMs / 1000,
      barrierSeconds: (barrierMs ?? 0) / 1000,
      spool: {
        bytes: journalUncommittedBytes,
        ageSeconds: usage.uncommittedMs() / 1000,
      },
      slots: presence.slots.count,
    },
  };
}

/** The tables that SQLite's ledger has too, and those of the spools; partitions of `event` are found as such. */
const LEDGER_TABLES = [
  ...MOVED_TABLES.filter(({ file }) => file === "usage").map(({ name }) => name),
  "spool",
  "open_request",
  "settlement",
  "recorded_batch",
];

/**
 * Measures what the tables of the schema take with their indexes, in bytes: the ledger's, and all others. Throws
 * `DatabaseUnreachableError`.
 */
async function measureTables(sql: Sql): Promise<{ catalogBytes: number; usageBytes: number }> {
  // A partition that is dropped meanwhile has no size.
  const rows = await sql.all<{ ofUsage: boolean; bytes: number }>(
    `SELECT relispartition OR relname = ANY($1::text[]) AS "ofUsage",
            coalesce(sum(pg_total_relation_size(oid)), 0)::bigint AS bytes
     FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
     GROUP BY 1`,
    [LEDGER_TABLES],
  );
  const sizeOf = (ofUsage: boolean) => rows.find((row) => row.ofUsage === ofUsage)?.bytes ?? 0;
  return { catalogBytes: sizeOf(false), usageBytes: sizeOf(true) };
}
