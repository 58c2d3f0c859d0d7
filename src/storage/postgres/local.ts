import { createSystemIds } from "#kernel/ids.ts";
import { SILENT_LOG } from "#kernel/log.ts";
import type { OpenOptions, RotateOptions, Rotation } from "#storage/engine.ts";
import type { LocalParts } from "#storage/driver.ts";
import { StoreMemory } from "#storage/catalog/memory.ts";
import { createCatalogStores } from "#storage/catalog/stores.ts";
import { rotateSecret as rotate } from "#storage/catalog/rotation.ts";
import { requireOwnSecret } from "#storage/catalog/secret-state.ts";
import { drive, toConnection } from "#storage/postgres/connection/drive.ts";
import { createPostgresDriver, toReadingDriver } from "./catalog-driver.ts";
import { findUnreadableRows } from "#storage/catalog/unreadable.ts";
import {
  type CommandConnection,
  connectCommand,
  requireCurrent,
  toTarget,
  withCommandConnection,
} from "./command-connection.ts";
import { PURPOSES } from "./connection/limits.ts";
import { withLockWatch } from "./connection/lock-watch.ts";
import { migrate } from "./connection/migrate.ts";
import { findLedger } from "./ledger/ledger.ts";
import { createGuestFreshness, type Freshness } from "#storage/replicas/freshness.ts";

/** See `StorageEngine.openLocal`. Replicas have followed when a change returns. */
export async function openLocal(options: OpenOptions, opened: AsyncDisposableStack): Promise<LocalParts> {
  const connection = opened.adopt(await connectCommand(options), (one) => one.close());
  const { postgres } = connection;
  await requireCurrent(connection);
  await drive(postgres, toConnection(), requireOwnSecret(options.secrets, "the database"));
  const { secrets, log } = options;
  const memory = new StoreMemory({ secrets, log, hasAllSecrets: false });
  const freshness = toGuest(connection, options, memory);
  await freshness.refreshed();
  const driver = createPostgresDriver({ postgres, memory, freshness });
  return {
    reading: createCatalogStores(toReadingDriver(driver), { isShared: true }),
    forWriting: async () => createCatalogStores(driver, { isShared: true }),
    findUnreadable: () => drive(postgres, toConnection(), findUnreadableRows()),
    // The reports share the connection, which is closed after them.
    ledger: findLedger({ ...toTarget(options), ...options }, async () => ({
      ...connection,
      close: async () => {},
    })),
  };
}

/** See `StorageEngine.makeCatalog`. */
export function makeCatalog(options: OpenOptions): Promise<void> {
  return withCommandConnection(options, async ({ postgres, schema }) => {
    const watch = { log: options.log, purposes: [PURPOSES.command.purpose] };
    await withLockWatch(postgres, watch, () => migrate(postgres, schema));
    await drive(postgres, toConnection(), requireOwnSecret(options.secrets, "the database"));
  });
}

/** See `StorageEngine.rotateSecret`. */
export function rotateSecret(options: RotateOptions): Promise<Rotation> {
  return withCommandConnection(options, async (connection) => {
    await requireCurrent(connection);
    const { secrets, next, revokesKeys } = options;
    // This process has done it itself: that the secret key was rotated is no news of it.
    const memory = new StoreMemory({ secrets, log: SILENT_LOG, hasAllSecrets: false });
    return toGuest(connection, options, memory).change(() => rotate({ secrets, next, revokesKeys }));
  });
}

function toGuest(
  { postgres, schema }: CommandConnection,
  { clock, onUnconfirmed }: OpenOptions,
  memory: StoreMemory,
): Freshness {
  return createGuestFreshness({ postgres, schema, memory, clock, ids: createSystemIds(), onUnconfirmed });
}
