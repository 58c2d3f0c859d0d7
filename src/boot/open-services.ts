import { isOnFiles, type Config } from "#boot/settings/config.ts";
import { engineOf } from "#boot/settings/engine.ts";
import { prepareDataDir } from "#boot/folder/data-dir.ts";
import { goBackBeforeRestore } from "#boot/folder/half-restore.ts";
import { loadAdminPassword } from "#boot/secrets/admin-password.ts";
import { finishRotation } from "#boot/secrets/rotate-secret-key.ts";
import { loadKeyring } from "#boot/secrets/secret-key.ts";
import type { System } from "#boot/process/system.ts";
import { untilReachable } from "#boot/process/waiting.ts";
import { describeCause } from "#kernel/log.ts";
import { type Services, wireServices } from "./services.ts";

export interface Opening {
  /** Where the server listens, once it does. */
  readonly findOrigin: () => string;
  /** Ends a start that waits for its database. */
  readonly end: AbortSignal;
}

/**
 * Opens the data folder, the databases and the ledger, and wires every part to the next. At first start it makes the
 * secret key, the password file and the principal `admin`. Throws a `SetupError` when the data cannot be opened, and an
 * `UnreachableError` when the database has not answered for `START_WAIT_MS_MAX`; `StepRefusedError` when it refused all that time.
 */
export async function openServices(
  config: Config,
  system: System,
  { findOrigin, end }: Opening,
): Promise<Services> {
  const { clock, ids, log } = system;
  if (isOnFiles(config)) await goBackBeforeRestore(config, log);
  prepareDataDir(config);
  finishRotation(config, clock.nowUs());
  const secrets = loadKeyring(config, ids);
  const adminPassword = loadAdminPassword(config, ids);
  const engine = await engineOf(config);
  const { database, dataDir, ledgerSync, usageRetentionDays } = config;
  const serving = { database, dataDir, secrets, ledgerSync, usageRetentionDays, clock, log };
  const waiting = { monotonicMs: () => clock.monotonicMs(), log, signal: end };
  return untilReachable(async () => {
    const storage = await engine.serve(serving);
    try {
      return await wireServices(storage, { config, system, secrets, adminPassword, findOrigin });
    } catch (cause) {
      // A lock, a spool and a replica's row would stay taken for as long as the process lives.
      await storage
        .close()
        .catch((failure: unknown) =>
          log.warn("what a start had opened could not be closed", describeCause(failure)),
        );
      throw cause;
    }
  }, waiting);
}
