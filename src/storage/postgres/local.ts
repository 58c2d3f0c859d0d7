import { createSystemIds } from "#kernel/ids.ts";
import type { OpenOptions, RotateOptions, Rotation } from "#storage/engine.ts";
import type { LocalParts } from "#storage/driver.ts";
import { createMemory } from "./catalog/memory.ts";
import { createRecordAudit } from "#storage/catalog/audit.ts";
import { requireOwnSecret, rotateSecret as rotate } from "#storage/catalog/secret-state.ts";
import { drive, toConnection } from "./drive.ts";
import { changeWith } from "./catalog/driver.ts";
import { createStores } from "./catalog/stores.ts";
import { findUnreadable } from "./catalog/unreadable.ts";
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
import type { Memory } from "#storage/replicas/follower.ts";

/** See `StorageEngine.openLocal`. Replicas have followed when a change returns. */
export async function openLocal(options: OpenOptions, opened: AsyncDisposableStack): Promise<LocalParts> {
  const connection = opened.adopt(await connectCommand(options), (one) => one.close());
  const { postgres } = connection;
  await requireCurrent(connection);
  await drive(postgres, toConnection(), requireOwnSecret(options.secrets, "the database"));
  const memory = createMemory(options.secrets, options.log, { hasSecrets: false });
  const freshness = toGuest(connection, options, memory);
  await freshness.refreshed();
  const toStores = (of: Freshness) => createStores({ postgres, memory, freshness: of, clock: options.clock });
  return {
    reading: toStores({ ...freshness, mutate: refuse }),
    forWriting: async () => toStores(freshness),
    findUnreadable: () => findUnreadable(postgres),
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
    const { clock, secrets, next, revokesKeys } = options;
    const freshness = toGuest(connection, options, NOTHING);
    return changeWith(freshness, () => rotate({ secrets, next, revokesKeys }, createRecordAudit(clock)));
  });
}

/** Keeps nothing: a rotation reads no memory. */
const NOTHING: Memory = { load: () => Promise.resolve(), apply: () => Promise.resolve() };

function toGuest(
  { postgres, schema }: CommandConnection,
  { clock, onUnconfirmed }: OpenOptions,
  memory: Memory,
): Freshness {
  return createGuestFreshness({ postgres, schema, memory, clock, ids: createSystemIds(), onUnconfirmed });
}

function refuse(): Promise<never> {
  return Promise.reject(new TypeError("the installation was opened to be read"));
}
