import { type Actor, toAuditEntry } from "#audit/event.ts";
import { isOnFiles, parseConfig } from "#boot/settings/config.ts";
import { engineOf } from "#boot/settings/engine.ts";
import { prepareDataDir } from "#boot/folder/data-dir.ts";
import { loadAdminPassword } from "#boot/secrets/admin-password.ts";
import { loadKeyring } from "#boot/secrets/secret-key.ts";
import { createCatalog, type Catalog } from "#catalog/catalog.ts";
import { OpenRequests } from "#forward/open-requests.ts";
import { createOwnedSecrets, type OwnedSecrets, createKeys } from "#identity/keys.ts";
import { createKeyUse, type KeyUse } from "#identity/key-use.ts";
import { createPrincipals, type Principals } from "#identity/principals.ts";
import { type SsoAccounts, createSsoAccounts } from "#identity/sso.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Ids } from "#kernel/ids.ts";
import { createLog } from "#kernel/log.ts";
import { type LimitDraft, parseLimitDraft } from "#limits/limit-draft.ts";
import { createUsageMetrics } from "#usage/metrics.ts";

/** The product's own parts on a data folder, under a clock that is passed in. */
export interface Installation {
  readonly clock: Clock;
  readonly catalog: Catalog;
  readonly principals: Principals;
  readonly keys: OwnedSecrets;
  readonly relayTokens: OwnedSecrets;
  /** Nothing that is played obeys it: a server counts what is there. */
  createLimit(draft: LimitDraft, actor: Actor): Promise<void>;
  readonly keyUse: KeyUse;
  /** People as single sign-on makes them. */
  readonly ssoAccounts: SsoAccounts;
  /** Makes one usage event for each account: classified, priced and recorded like a proxied request. */
  readonly requests: OpenRequests;
  /** The file with the password of `admin`. */
  readonly adminPasswordPath: string;
  /** Commits what was recorded, seals the days that are over, and lets go of the folder. */
  close(): Promise<void>;
}

/**
 * Opens a data folder as a server does, making it when it is new. Throws a `SetupError` when another process serves from it
 * and when it cannot be written to.
 */
export async function openInstallation(
  dataDir: string,
  { clock, ids }: { readonly clock: Clock; readonly ids: Ids },
): Promise<Installation> {
  // Only the folder: settings of this environment belong to another server.
  const config = parseConfig({ PROXY_DATA_DIR: dataDir });
  if (!isOnFiles(config)) throw new Error("no URL of a database was given");
  prepareDataDir(config);
  const secrets = loadKeyring(config, ids);
  const { path: adminPasswordPath } = loadAdminPassword(config, ids);
  if (adminPasswordPath === null) throw new Error("the admin password has no file");
  const { database } = config;
  const storage = await (
    await engineOf(config)
  ).serve({ database, dataDir, secrets, clock, log, ledgerSync: "interval", usageRetentionDays: null });
  const catalog = createCatalog({ store: storage.catalog, secrets, clock, ids });
  const identity = { store: storage.identity, secrets, clock, ids };
  return {
    clock,
    catalog,
    principals: createPrincipals(identity),
    keys: createKeys(identity),
    relayTokens: createOwnedSecrets("relayTokens", identity),
    async createLimit(draft, actor) {
      const id = ids.uuid();
      const limit = { ...parseLimitDraft(draft), id, createdAtUs: clock.nowUs() };
      const entry = toAuditEntry(actor, { action: "limit.create", targetKind: "limit", targetRef: id });
      await storage.limits.create(limit, entry);
    },
    keyUse: createKeyUse(storage.keyUse, clock),
    ssoAccounts: createSsoAccounts({ ...identity, log }),
    requests: new OpenRequests({
      catalog,
      ledger: storage.ledger,
      metrics: createUsageMetrics(),
      clock,
      log,
    }),
    adminPasswordPath,
    async close() {
      try {
        // Closing waits for the writer only so long, and a machine may be slow.
        await storage.ledger.flush();
        await storage.maintain();
      } finally {
        await storage.close();
      }
    },
  };
}

const log = createLog({
  level: "warn",
  json: false,
  write: (line) => void process.stderr.write(line),
  timestamp: () => "demo",
});
