import { SILENT_LOG } from "#kernel/log.ts";
import { openInstallation } from "#storage/installation.ts";
import { findSchemaAge, migrate } from "./connection/migrate.ts";
import { findLedger } from "./ledger/ledger.ts";
import { SetupError } from "#kernel/errors.ts";
import { createSystemIds } from "#kernel/ids.ts";
import type { OpenOptions } from "#storage/engine.ts";
import { StoreMemory } from "#storage/catalog/memory.ts";
import { createCatalogStores } from "#storage/catalog/stores.ts";
import { rotateSecret } from "#storage/catalog/rotation.ts";
import { requireOwnSecret } from "#storage/catalog/secret-state.ts";
import { drive } from "#storage/postgres/connection/drive.ts";
import { createPostgresDriver, toReadingDriver } from "./catalog-driver.ts";
import { findUnreadableRows } from "#storage/catalog/unreadable.ts";
import { PURPOSES } from "./connection/limits.ts";
import { withLockWatch } from "./connection/lock-watch.ts";
import { toTarget } from "./connection/target.ts";
import { openPostgres, type Postgres } from "./connection/postgres.ts";
import { createGuestFreshness, type Freshness } from "#storage/replicas/freshness.ts";

/** PostgreSQL, which any number of replicas share. What only a server needs is loaded by it. */
export const postgresEngine = openInstallation({
  async serve(options, held) {
    const { serve } = await import("./serve.ts");
    return serve(options, held);
  },
  /** Replicas have followed when a change returns. */
  async openLocal(options, opened) {
    const postgres = opened.use(await connectCommand(options));
    await requireCurrent(postgres);
    await drive(postgres, requireOwnSecret(options.secrets, "the database"));
    const { secrets, log, clock } = options;
    const memory = new StoreMemory({ secrets, log, clock, hasAllSecrets: false });
    const freshness = toGuest(postgres, options, memory);
    await freshness.refreshed();
    const driver = createPostgresDriver({ postgres, memory, freshness });
    return {
      reading: createCatalogStores(toReadingDriver(driver)),
      forWriting: async () => createCatalogStores(driver),
      findUnreadable: () => drive(postgres, findUnreadableRows()),
      // The reports share the connection, which is closed after them.
      ledger: findLedger({ dataDir: options.dataDir, target: toTarget(options) }, async () => ({
        ...postgres,
        [Symbol.asyncDispose]: async () => {},
      })),
    };
  },
  async rotateSecret(options) {
    await using postgres = await connectCommand(options);
    await requireCurrent(postgres);
    const { secrets, next, revokesKeys, clock } = options;
    // This process has done it itself: that the secret key was rotated is no news of it.
    const memory = new StoreMemory({ secrets, log: SILENT_LOG, clock, hasAllSecrets: false });
    return await toGuest(postgres, options, memory).change(() =>
      rotateSecret({ secrets, next, revokesKeys }),
    );
  },
  async findCatalogAge(place) {
    await using postgres = await connectCommand({ ...place, log: SILENT_LOG });
    return await findSchemaAge(postgres);
  },
  async makeCatalog(options) {
    await using postgres = await connectCommand(options);
    const watch = { log: options.log, purposes: [PURPOSES.command.purpose] };
    await withLockWatch(postgres, watch, () => migrate(postgres));
    await drive(postgres, requireOwnSecret(options.secrets, "the database"));
  },
  findLedger: (place) =>
    findLedger({ dataDir: place.dataDir, target: toTarget(place) }, () =>
      connectCommand({ ...place, log: SILENT_LOG }),
    ),
});

/** Connects a command beside the replicas. Throws SetupError and DatabaseUnreachableError. */
function connectCommand(place: Pick<OpenOptions, "database" | "log">): Promise<Postgres> {
  return openPostgres({ target: toTarget(place), ...PURPOSES.command, log: place.log });
}

/** Throws SetupError unless the schema is there and is this version's. */
async function requireCurrent(postgres: Postgres): Promise<void> {
  const { schema } = postgres;
  const age = await findSchemaAge(postgres);
  if (age === "none")
    throw new SetupError(
      "configuration",
      `The schema ${schema} has no catalog yet: the first start of a server makes it.`,
    );
  if (age === "older")
    throw new SetupError(
      "configuration",
      `The schema ${schema} is of an older version: start a server of this version, which brings it up to date, as lockport migrate does, or run the command with the servers' own.`,
    );
}

function toGuest(postgres: Postgres, { clock, onUnconfirmed }: OpenOptions, memory: StoreMemory): Freshness {
  return createGuestFreshness({ postgres, memory, clock, ids: createSystemIds(), onUnconfirmed });
}
