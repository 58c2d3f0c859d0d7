import { createCatalog, keepRemovingFormer } from "#catalog/catalog.ts";
import { createDiscovery } from "#catalog/discovery.ts";
import { createExchange, type Exchange } from "#forward/exchange.ts";
import { KeptResponses } from "#forward/kept-responses.ts";
import { createModelsCall } from "#forward/models-call.ts";
import { createRelay } from "#forward/relay.ts";
import { OpenRequests } from "#forward/open-requests.ts";
import type { AppDeps } from "#http/deps.ts";
import { createAuthenticator, createRelayAuthenticator } from "#identity/caller.ts";
import { createDevices } from "#identity/attempts.ts";
import { createKeys, createOwnedSecrets } from "#identity/keys.ts";
import { createKeyUse } from "#identity/key-use.ts";
import { createLoginLinks, createLoginLinkSignIn, type LoginLinks } from "#identity/login-links.ts";
import { createPasswordPrint, type PasswordSource, createPasswordSignIn } from "#identity/password.ts";
import { ADMIN_PRINCIPAL_NAME } from "#identity/principal.ts";
import { createPrincipals } from "#identity/principals.ts";
import { createSignInLog } from "#identity/sign-in-log.ts";
import type { SessionsDeps } from "#identity/sessions.ts";
import type { Keyring } from "#kernel/crypto.ts";
import { describeCause } from "#kernel/log.ts";
import { withinLimit } from "#kernel/timer.ts";
import { createPeople } from "#people/people.ts";
import { createLimitAdmin } from "#limits/limit-admin.ts";
import { Limits } from "#limits/limits.ts";
import { createNoticeTrial } from "#notices/trial.ts";
import { startLoopLag } from "#kernel/loop-lag.ts";
import type { Storage } from "#storage/engine.ts";
import { Repricings } from "#stats/repricings.ts";
import { createUsageMetrics } from "#usage/metrics.ts";
import { readAdminPassword, type AdminPassword } from "#boot/secrets/admin-password.ts";
import type { Config } from "#boot/settings/config.ts";
import { createRefusalFile } from "#boot/folder/refusal-file.ts";
import { removeServingAddress, writeServingAddress } from "#boot/folder/serving-address.ts";
import type { System } from "#boot/process/system.ts";
import { createSingleSignOn, type SingleSignOn, type SingleSignOnDeps } from "#identity/sso.ts";
import type { Notices } from "#notices/notices.ts";

/** A stop waits no longer for a database that is to keep the notices; that goes on while the ledger is closed. */
const NOTICES_CLOSE_MS_MAX = 1_000;

export interface Services {
  readonly app: Omit<AppDeps, "assets">;
  readonly exchange: Exchange;
  /** The file that holds the password of `admin`; null when there is none. */
  readonly adminPasswordPath: string | null;
  /** True when no server had run from the folder before, and `admin` is there to sign in. */
  readonly isFirstStart: boolean;
  readonly loginLinks: LoginLinks;
  /** Starts what the ledger's writer does (`Storage.start`), a re-pricing that is under way included. */
  start(): Promise<void>;
  /** Tells commands beside the server where it listens (`http://host:port`), until it is closed. */
  announce(url: string): void;
  /** Fulfilled when another server has taken over the data folder. */
  readonly superseded: Promise<void>;
  close(): Promise<void>;
}

interface Wiring {
  /** The server's origin, once it listens. */
  readonly findOrigin: () => string;
  readonly config: Config;
  readonly system: System;
  readonly secrets: Keyring;
  readonly adminPassword: AdminPassword;
}

/** Wires every part to the next, on the storage that is open. The principal `admin` is made where it is missing. */
export async function wireServices(
  storage: Storage,
  { config, system, secrets, adminPassword, findOrigin }: Wiring,
): Promise<Services> {
  const { clock, ids, log } = system;
  let isSuperseded = false;
  void storage.superseded.then(() => (isSuperseded = true));
  const catalog = createCatalog({ store: storage.catalog, secrets, clock, ids });
  const principals = createPrincipals({ store: storage.identity, clock, ids });
  const keyUse = createKeyUse(storage.keyUse, clock);
  const usageMetrics = createUsageMetrics();
  const { ledger } = storage;
  const notices = await openNotices(config, storage, system);
  const limits = new Limits({
    store: storage.limits,
    ledger: storage.limitLedger,
    clock,
    log,
    board: storage.limitBoard,
    ...(notices !== null && { watch: notices.uses }),
  });
  await limits.start();
  await limits.exchange();
  const repricings = new Repricings({
    store: storage.repricings,
    audit: storage.audit,
    clock,
    ids,
    log,
    isShared: storage.limitBoard !== null,
    async onCosts(change) {
      if (change === "going") return limits.renew();
      // What was used is read anew, behind a watermark of the journal.
      limits.distrust();
      await limits.follow();
    },
  });
  const limitAdmin = createLimitAdmin({ store: storage.limits, limits, clock, ids });
  const requests = new OpenRequests({
    catalog,
    ledger,
    metrics: usageMetrics,
    limits,
    ...(notices !== null && { watch: notices.usage }),
    lane: storage.lane,
    clock,
    log,
  });
  const responses = new KeptResponses({
    store: storage.responses,
    secrets,
    settlements: requests.settlements,
    catalog,
    metrics: usageMetrics,
    clock,
    log,
    lane: storage.lane,
    days: config.responsesDays,
  });
  const exchange = createExchange(
    {
      catalog,
      ledger,
      metrics: usageMetrics,
      slots: storage.slots,
      secrets,
      clock,
      log,
      maxEmbeddingBatch: config.maxEmbeddingBatch,
      maxResponseBytes: config.maxResponseBytes,
      responses,
    },
    requests,
  );
  const isEmpty = (await storage.identity.countPrincipals()) === 0;
  // The password signs in as `admin`: while it is on, that principal has to exist.
  if (adminPassword.password !== null || isEmpty) await principals.ensureAdmin();
  const isFirstStart =
    !storage.wasServed && (await principals.findByName(ADMIN_PRINCIPAL_NAME))?.enabled === true;
  responses.start();
  const endRemoving = keepRemovingFormer(catalog, log);
  const loopLag = startLoopLag(clock);
  const { sessionTtlSeconds } = config;
  const sessions: SessionsDeps = { store: storage.identity, secrets, clock, ids, sessionTtlSeconds };
  const signIns = createSignInLog(log, clock);
  const password = toPasswordSource(adminPassword);
  const passwordPrint = createPasswordPrint(password, secrets);
  return {
    exchange,
    adminPasswordPath: adminPassword.path,
    isFirstStart,
    loginLinks: createLoginLinks(sessions),
    async start() {
      await storage.start();
      repricings.start();
    },
    announce(url) {
      try {
        writeServingAddress(config.dataDir, { url, publicUrl: config.publicUrl });
      } catch (cause) {
        // Commands fall back to their settings: no reason to stop serving.
        log.warn("where the server listens could not be left in the data folder", describeCause(cause));
      }
    },
    superseded: storage.superseded,
    async close() {
      loopLag.stop();
      limits.close();
      await Promise.all([responses.close(), repricings.close(), endRemoving()]);
      // The address in the folder is that of the server which has taken over.
      if (!isSuperseded) removeServingAddress(config.dataDir);
      if (notices !== null) await withinLimit(notices.close(), NOTICES_CLOSE_MS_MAX, () => undefined);
      await storage.close();
    },
    app: {
      config,
      clock,
      log,
      lane: storage.lane,
      catalog,
      discovery: createDiscovery({
        catalog,
        clock,
        secrets,
        fetchModels: createModelsCall({ clock, secrets, maxResponseBytes: config.maxResponseBytes }),
      }),
      principals,
      keyUse,
      exchange,
      relay:
        config.messagesBaseUrl === null
          ? null
          : {
              relay: createRelay(requests, { baseUrl: config.messagesBaseUrl }),
              authenticator: createRelayAuthenticator({ store: storage.identity, keyUse, secrets, clock }),
            },
      keys: createKeys({ store: storage.identity, secrets, clock, ids }),
      relayTokens: createOwnedSecrets("relayTokens", { store: storage.identity, secrets, clock, ids }),
      authenticator: createAuthenticator({
        store: storage.identity,
        keyUse,
        secrets,
        clock,
        passwordPrint,
        signIns,
        usedStates: storage.usedStates,
      }),
      devices: createDevices({ secrets, clock, ids }),
      passwordSignIn: createPasswordSignIn({
        ...sessions,
        signIns,
        sharedAttempts: storage.sharedAttempts,
        password,
        passwordPrint,
      }),
      loginLinkSignIn: createLoginLinkSignIn({
        ...sessions,
        signIns,
        sharedAttempts: storage.sharedAttempts,
      }),
      sso: await openSingleSignOn(
        config,
        { ...sessions, log, signIns, usedStates: storage.usedStates },
        findOrigin,
      ),
      limits: limitAdmin,
      people: createPeople({ store: storage.people, limits: limitAdmin, secrets, clock, ids }),
      notices: createNoticeTrial({ target: config.notices, clock, ids }),
      identity: storage.identity,
      audit: storage.audit,
      refusalStore: createRefusalFile(config.dataDir, log),
      stats: storage.stats,
      repricings,
      installation: {
        usageRetentionDays: config.usageRetentionDays,
        sessionTtlSeconds,
        measure: () => storage.measure(),
      },
      metrics: {
        usage: usageMetrics,
        limits,
        notices,
        exchange,
        ledger: () => storage.ledgerGauges(),
        health: () => storage.health(),
        loopLag,
      },
    },
  };
}

/** A password that lies in a file is read again at each attempt: `admin password rotate` holds at once. */
function toPasswordSource({ password, path }: AdminPassword): PasswordSource {
  return path === null ? password : () => readAdminPassword(path);
}

/** Null when no webhook is set. */
async function openNotices(
  { notices: target, noticeSpendFactor: factor }: Config,
  { notices: store, spendLedger: ledger, identity }: Pick<Storage, "notices" | "spendLedger" | "identity">,
  { clock, ids, log }: System,
): Promise<Notices | null> {
  if (target === null) return null;
  // Loaded here and not above: most servers have no webhook.
  const { openNotices: open } = await import("#notices/notices.ts");
  const spend = {
    ledger,
    factor,
    findLabels: (keyIds: readonly string[]) => identity.keys.findNames(keyIds),
  };
  return open({ target, store, spend, clock, ids, log });
}

/** Null when no issuer is set. The provider is not asked for anything before the first sign-in. */
async function openSingleSignOn(
  config: Config,
  deps: SessionsDeps & Pick<SingleSignOnDeps, "log" | "signIns" | "usedStates">,
  findOrigin: () => string,
): Promise<SingleSignOn | null> {
  const { oidc, publicUrl } = config;
  if (oidc === null) return null;
  // Loaded here and not above: most servers have no issuer.
  const { createOpenIdProvider } = await import("#identity/oidc.ts");
  return createSingleSignOn({
    ...deps,
    ...oidc,
    provider: createOpenIdProvider({ ...deps, ...oidc }),
    // Never from a request: its sender would choose where the code goes.
    redirectUri: () => `${publicUrl ?? findOrigin()}/auth/callback`,
  });
}
