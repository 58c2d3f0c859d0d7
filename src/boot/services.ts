import { createCatalog } from "#catalog/catalog.ts";
import { createDiscovery } from "#catalog/discovery.ts";
import { createExchange, type Exchange } from "#forward/exchange.ts";
import { createModelsCall } from "#forward/models-call.ts";
import { createRelay } from "#forward/relay.ts";
import { createShared } from "#forward/shared.ts";
import type { AppDeps } from "#http/deps.ts";
import { createAuthenticator } from "#identity/caller.ts";
import { createKeyUse } from "#identity/key-use.ts";
import { createKeys } from "#identity/keys.ts";
import { createPasswordSignIn } from "#identity/password.ts";
import { createOpenIdProvider } from "#identity/oidc.ts";
import { createPrincipals } from "#identity/principals.ts";
import { createRelayAuthenticator } from "#identity/relay-caller.ts";
import { createRelayTokens } from "#identity/relay-tokens.ts";
import type { SessionsDeps } from "#identity/sessions.ts";
import { createSingleSignOn, type SingleSignOn } from "#identity/sso.ts";
import { createSecretBox } from "#kernel/crypto.ts";
import type { Log } from "#kernel/log.ts";
import { startLoopLag } from "#kernel/loop-lag.ts";
import { openStorage } from "#storage/storage.ts";
import { createUsageMetrics } from "#usage/metrics.ts";
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
 * `findOrigin` tells where the server listens, once it does.
 */
export async function openServices(
  config: Config,
  system: System,
  findOrigin: () => string,
): Promise<Services> {
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
  const usageMetrics = createUsageMetrics();
  const { ledger } = storage;
  const shared = createShared({ catalog, ledger, metrics: usageMetrics, clock, log });
  const exchange = createExchange(
    {
      catalog,
      ledger,
      metrics: usageMetrics,
      secrets,
      clock,
      log,
      maxEmbeddingBatch: config.maxEmbeddingBatch,
      maxResponseBytes: config.maxResponseBytes,
    },
    shared,
  );
  // The password signs in as `admin`: while it is on, that principal has to exist.
  if (adminPassword.password !== null || (await storage.identity.countPrincipals()) === 0)
    await principals.ensureAdmin();
  const loopLag = startLoopLag(clock);
  const { sessionTtlSeconds } = config;
  const sessions: SessionsDeps = { store: storage.identity, secrets, clock, ids, sessionTtlSeconds };
  return {
    exchange,
    adminPasswordPath: adminPassword.path,
    close() {
      loopLag.stop();
      return storage.close();
    },
    app: {
      config,
      clock,
      log,
      catalog,
      discovery: createDiscovery({
        catalog,
        clock,
        fetchModels: createModelsCall({ clock, secrets, maxResponseBytes: config.maxResponseBytes }),
      }),
      principals,
      keyUse,
      exchange,
      relay:
        config.messagesBaseUrl === null
          ? null
          : {
              relay: createRelay(shared, { baseUrl: config.messagesBaseUrl }),
              authenticator: createRelayAuthenticator({ store: storage.identity, keyUse, secrets }),
            },
      keys: createKeys({ store: storage.identity, secrets, clock, ids }),
      relayTokens: createRelayTokens({ store: storage.identity, secrets, clock, ids }),
      authenticator: createAuthenticator({ store: storage.identity, keyUse, secrets, clock }),
      passwordSignIn: createPasswordSignIn({ ...sessions, password: adminPassword.password }),
      sso: openSingleSignOn(config, { ...sessions, log }, findOrigin),
      identity: storage.identity,
      audit: storage.audit,
      stats: storage.stats,
      metrics: { usage: usageMetrics, exchange, ledger: () => storage.ledgerGauges(), loopLag },
    },
  };
}

/** Null when no issuer is set. The provider is not asked for anything before somebody signs in. */
function openSingleSignOn(
  config: Config,
  deps: SessionsDeps & { readonly log: Log },
  findOrigin: () => string,
): SingleSignOn | null {
  const { oidc, publicUrl } = config;
  if (oidc === null) return null;
  return createSingleSignOn({
    ...deps,
    ...oidc,
    provider: createOpenIdProvider({ ...deps, ...oidc }),
    // Never from a request: whoever sent one would choose where the code goes.
    redirectUri: () => `${publicUrl ?? findOrigin()}/auth/callback`,
  });
}
