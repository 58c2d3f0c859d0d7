import type { AuditStore } from "#audit/event.ts";
import { createCatalog, type Catalog } from "#catalog/catalog.ts";
import { createDiscovery, type Discovery } from "#catalog/discovery.ts";
import { createModelsCall } from "#forward/models-call.ts";
import type { RefusalStore } from "#http/door/refusals.ts";
import { createKeys, type Keys, createOwnedSecrets, type OwnedSecrets } from "#identity/keys.ts";
import { createLoginLinks, type LoginLinks } from "#identity/login-links.ts";
import { createPrincipals, type Principals } from "#identity/principals.ts";
import type { IdentityStore } from "#identity/store.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { createLimitAdmin, type LimitAdmin } from "#limits/limit-admin.ts";
import { Limits } from "#limits/limits.ts";
import { createPeople, type People } from "#people/people.ts";
import { createNoticeTrial, type NoticeTrial } from "#notices/trial.ts";
import type { CatalogStores, LedgerReader, LocalStorage } from "#storage/engine.ts";
import { isOnFiles, type Config } from "#boot/settings/config.ts";
import { engineOf } from "#boot/settings/engine.ts";
import { prepareDataDir, requireInstallation } from "#boot/folder/data-dir.ts";
import { goBackBeforeRestore } from "#boot/folder/half-restore.ts";
import { createRefusalFile } from "#boot/folder/refusal-file.ts";
import { loadKeyring } from "#boot/secrets/secret-key.ts";
import type { System } from "#boot/process/system.ts";

/** The parts that a command on this machine works on: the catalog database, and the usage ledger for reading only. */
export interface LocalServices {
  readonly audit: AuditStore;
  readonly secrets: SecretBox;
  readonly catalog: Catalog;
  readonly discovery: Discovery;
  readonly identity: IdentityStore;
  readonly principals: Principals;
  readonly keys: Keys;
  readonly relayTokens: OwnedSecrets;
  readonly loginLinks: LoginLinks;
  readonly limits: LimitAdmin;
  readonly people: People;
  readonly notices: NoticeTrial;
  readonly ledger: Pick<LedgerReader, "settle" | "loadLastUsed" | "stats">;
  readonly refusalStore: RefusalStore;
}

/**
 * An installation that is opened to look at it, also while a server runs on it: no file of it is made or changed. The
 * ledger's files are first touched when a report is asked for.
 */
export interface Local extends LocalServices {
  /**
   * The installation opened for changes: the catalog's schema is brought up to date first. Throws a `SetupError` while a server of an
   * older version runs on it.
   */
  forWriting(): Promise<LocalServices>;
  /** See `LocalStorage.findUnreadable`. */
  readonly findUnreadable: LocalStorage["findUnreadable"];
  close(): Promise<void>;
}

/** Opens an installation. Throws a `SetupError` when there is none, and when it cannot be used. */
export async function openLocal(config: Config, system: System): Promise<Local> {
  await requireInstallation(config);
  const engine = await engineOf(config);
  const opening = prepareOpening(config, system);
  const storage = await engine.openLocal(opening.storageOptions);
  let writing: Promise<LocalServices> | null = null;
  return {
    ...opening.wire(storage.reading, storage.ledger),
    forWriting: () =>
      (writing ??= storage.forWriting().then((stores) => opening.wire(stores, storage.ledger))),
    findUnreadable: () => storage.findUnreadable(),
    close: () => storage.close(),
  };
}

/** Opens an installation for the command that may come first: makes the data folder, the key and the catalog when there is no installation. */
export async function makeLocal(config: Config, system: System): Promise<Local> {
  if (isOnFiles(config)) await goBackBeforeRestore(config, system.log);
  prepareDataDir(config);
  const engine = await engineOf(config);
  if ((await engine.findCatalogAge(config)) === "none") {
    await engine.makeCatalog(prepareOpening(config, system).storageOptions);
  }
  return openLocal(config, system);
}

function prepareOpening(config: Config, system: System) {
  const { clock, ids, log, onUnconfirmed } = system;
  const secrets = loadKeyring(config, ids);
  const fetchModels = createModelsCall({ clock, secrets, maxResponseBytes: config.maxResponseBytes });
  return {
    storageOptions: {
      dataDir: config.dataDir,
      database: config.database,
      secrets,
      clock,
      log,
      ...(onUnconfirmed !== undefined && { onUnconfirmed }),
    },
    wire(stores: CatalogStores, ledger: LedgerReader): LocalServices {
      const { identity } = stores;
      const catalog = createCatalog({ store: stores.catalog, secrets, clock, ids });
      const limits = new Limits({ store: stores.limits, ledger: ledger.limitLedger, clock, log });
      const limitAdmin = createLimitAdmin({ store: stores.limits, limits, clock, ids });
      const secretsDeps = { store: identity, secrets, clock, ids };
      return {
        audit: stores.audit,
        secrets,
        catalog,
        discovery: createDiscovery({ catalog, clock, secrets, fetchModels }),
        identity,
        principals: createPrincipals({ store: identity, clock, ids }),
        keys: createKeys(secretsDeps),
        relayTokens: createOwnedSecrets("relayTokens", secretsDeps),
        loginLinks: createLoginLinks(secretsDeps),
        limits: limitAdmin,
        people: createPeople({ store: stores.people, limits: limitAdmin, secrets, clock, ids }),
        notices: createNoticeTrial({ target: config.notices, clock, ids }),
        ledger,
        refusalStore: createRefusalFile(config.dataDir, log),
      };
    },
  };
}
