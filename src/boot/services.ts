import { createCatalog } from "#catalog/catalog.ts";
import { createExchange, type Exchange } from "#forward/exchange.ts";
import type { AppDeps } from "#http/deps.ts";
import { createAuthenticator } from "#identity/caller.ts";
import { createKeyUse } from "#identity/key-use.ts";
import { createKeys } from "#identity/keys.ts";
import { createPasswordSignIn } from "#identity/password.ts";
import { createPrincipals } from "#identity/principals.ts";
import { createSecretBox } from "#kernel/crypto.ts";
import { openStorage } from "#storage/storage.ts";
import type { Config } from "./config.ts";
import { prepareDataDir } from "./data-dir.ts";
import { loadAdminPassword, loadSecretKey } from "./secret-files.ts";
import type { System } from "./system.ts";

export interface Services {
  readonly app: AppDeps;
  readonly exchange: Exchange;
  /** The file that holds the password of `admin`; null when there is none. */
  readonly adminPasswordPath: string | null;
  close(): Promise<void>;
}

/**
 * Opens the data folder, the databases and the ledger, and wires every part to the next. At first start it makes the
 * secret key, the password file and the principal `admin`. Throws a `SetupError` when the data cannot be opened.
 */
export async function openServices(config: Config, system: System): Promise<Services> {
  const { clock, ids, log } = system;
  prepareDataDir(config);
  const secrets = createSecretBox(loadSecretKey(config, ids));
  const adminPassword = loadAdminPassword(config, ids);
  const storage = await openStorage({
    databasePath: config.databasePath,
    dataDir: config.dataDir,
    secretCheckValue: secrets.checkValue,
    ledgerSync: config.ledgerSync,
    usageRetentionDays: config.usageRetentionDays,
    clock,
    log,
  });
  const catalog = createCatalog({ store: storage.catalog, secrets, clock, ids });
  const principals = createPrincipals({ store: storage.identity, clock, ids });
  const keyUse = createKeyUse(storage.keyUse, clock);
  const exchange = createExchange({
    catalog,
    ledger: storage.ledger,
    secrets,
    clock,
    log,
    maxEmbeddingBatch: config.maxEmbeddingBatch,
    maxResponseBytes: config.maxResponseBytes,
  });
  // The password signs in as `admin`: while it is on, that principal has to exist.
  if (adminPassword.password !== null || (await storage.identity.countPrincipals()) === 0)
    await principals.ensureAdmin();
  return {
    exchange,
    adminPasswordPath: adminPassword.path,
    close: () => storage.close(),
    app: {
      config,
      clock,
      log,
      catalog,
      principals,
      keyUse,
      exchange,
      keys: createKeys({ store: storage.identity, secrets, clock, ids }),
      authenticator: createAuthenticator({ store: storage.identity, keyUse, secrets, clock }),
      passwordSignIn: createPasswordSignIn({
        password: adminPassword.password,
        store: storage.identity,
        secrets,
        clock,
        ids,
        sessionTtlSeconds: config.sessionTtlSeconds,
      }),
      identity: storage.identity,
      audit: storage.audit,
      stats: storage.stats,
    },
  };
}
