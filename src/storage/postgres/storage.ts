import { hostname } from "node:os";
import { join } from "node:path";
import { createSystemIds } from "#kernel/ids.ts";
import type { Keyring } from "#kernel/keyring.ts";
import { PRODUCT_VERSION } from "#kernel/version.ts";
import type { ServeOptions, Storage } from "#storage/engine.ts";
import type { StorageHealth } from "#usage/health.ts";
import type { OpenedLedger } from "#storage/threads/ledger-parts.ts";
import { SPOOL_NAME, measureFiles } from "#storage/files/data-files.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { lockDataFolder, type ServerLock } from "#storage/files/folder-lock.ts";
import { createMemory } from "./catalog/memory.ts";
import { requireOwnSecret } from "./catalog/secret-state.ts";
import { createStores } from "./catalog/stores.ts";
import { withLockWatch } from "./connection/lock-watch.ts";
import { MIGRATIONS, migrate } from "./connection/migrate.ts";
import { openPostgres, type Postgres } from "./connection/postgres.ts";
import { PURPOSES } from "./connection/limits.ts";
import { openLedger } from "./ledger/ledger.ts";
import { claimSpool, toHolder } from "./ledger/spool-claim.ts";
import { openSpoolFolder } from "./ledger/spool-folder.ts";
import { toTarget } from "./place.ts";
import { measureTables } from "./table-size.ts";
import { openPresence, type Presence } from "#storage/replicas/presence.ts";
import { createSharedAttempts, createSharedStates } from "#storage/replicas/sign-in.ts";

/** What is closed again, the last one first. */
class Closers {
  readonly #closers: (() => void | Promise<void>)[] = [];

  add<Opened>(opened: Opened, close: (opened: Opened) => void | Promise<void>): Opened {
    this.#closers.push(() => close(opened));
    return opened;
  }

  /** Each, also when one before it has failed, which is thrown at the end. */
  async close(): Promise<void> {
    let failure: { readonly cause: unknown } | null = null;
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close();
      } catch (cause) {
        failure ??= { cause };
      }
    }
    if (failure !== null) throw failure.cause;
  }
}

/** Opens everything for one replica (`StorageEngine.serve`). */
export async function openStorage(options: ServeOptions): Promise<Storage> {
  const closers = new Closers();
  try {
    return await open(options, closers);
  } catch (cause) {
    await closers.close().catch(() => undefined);
    throw cause;
  }
}

async function open(options: ServeOptions, closers: Closers): Promise<Storage> {
  const { dataDir, log } = options;
  const { target } = toTarget(options);
  const lock = closers.add(lockDataFolder(dataDir), (held: ServerLock) => held.release());
  const connect = async (purpose: "serve" | "presence") =>
    closers.add(await openPostgres({ target, ...PURPOSES[purpose], log }), (opened: Postgres) =>
      opened.close(),
    );
  const postgres = await connect("serve");
  const pulse = await connect("presence");
  const purposes = [PURPOSES.serve.purpose, PURPOSES.presence.purpose];
  return withLockWatch(pulse, { log, purposes }, () => openOn({ postgres, pulse, lock }, options, closers));
}

interface Held {
  readonly postgres: Postgres;
  readonly pulse: Postgres;
  readonly lock: ServerLock;
}

async function openOn(
  { postgres, pulse, lock }: Held,
  options: ServeOptions,
  closers: Closers,
): Promise<Storage> {
  const { dataDir, secrets, clock, log } = options;
  const { target, graceMs } = toTarget(options);
  const ids = createSystemIds();
  await migrate(postgres, target.schema);
  await requireOwnSecret(postgres, secrets);
  const spoolId = withSetupErrors(join(dataDir, SPOOL_NAME), () => openSpoolFolder(dataDir, ids), "journal");
  const spool = await claimSpool(postgres, { id: spoolId, holder: toHolder(lock.file) });
  const memory = createMemory(secrets, log, { hasSecrets: true });
  const presence = closers.add(
    await openPresence({
      identity: {
        lane: spool.lane,
        name: hostname(),
        graceMs,
        schema: MIGRATIONS.at(-1)?.name ?? "",
        version: PRODUCT_VERSION,
      },
      pulse,
      postgres,
      schema: target.schema,
      memory,
      clock,
      ids,
      log,
    }),
    (opened: Presence) => opened.close(),
  );
  const usage = closers.add(
    await openLedger({
      dataDir,
      target,
      postgres,
      lock,
      spoolId,
      spool,
      clock,
      log,
      sync: options.ledgerSync,
      retentionDays: options.usageRetentionDays,
    }),
    async (opened: OpenedLedger) => {
      // Nothing is served any more: a database that is silent is waited for by both at once.
      const leaving = presence.close();
      await opened.close();
      await leaving;
    },
  );
  return {
    ...createStores({ postgres, memory, freshness: presence.freshness, clock }),
    ledger: usage.ledger,
    keyUse: usage.keyUse,
    stats: usage.stats,
    limitLedger: usage.limitLedger,
    sharedAttempts: createSharedAttempts({ sql: postgres, clock, log }),
    usedStates: createSharedStates(postgres, clock),
    limitBoard: presence.limitBoard,
    slots: presence.slots,
    lane: spool.lane,
    wasServed: spool.run > 1 || (await hasPeers(postgres)),
    ledgerGauges: () => usage.gauges(),
    health: () => toHealth(presence, usage, secrets),
    measure: async () => ({
      ...(await measureTables(postgres)),
      journalBytes: await measureFiles(join(dataDir, SPOOL_NAME)),
    }),
    maintain: () => usage.maintain(),
    superseded: usage.superseded,
    close: () => closers.close(),
  };
}

/** Whether another server has run on the data, now or before. */
async function hasPeers(postgres: Postgres): Promise<boolean> {
  const [found] = await postgres.all<{ spools: number }>("SELECT count(*) AS spools FROM spool");
  return found !== undefined && found.spools > 1;
}

function toHealth(
  presence: Presence,
  usage: OpenedLedger,
  { isPresent }: Pick<Keyring, "isPresent">,
): StorageHealth {
  const { isServing, isDatabaseUp, trustLeftMs, barrierMs } = presence.health();
  const { journalUncommittedBytes, filesMissing } = usage.gauges();
  return {
    // What is recorded in a file without a name ends with the process, and without the secret key of the database no stored
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
