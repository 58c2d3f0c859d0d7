import { linkSync, renameSync } from "node:fs";
import { join } from "node:path";
import { formatInstant, type Clock, type InstantUs } from "#kernel/clock.ts";
import { createSecretBox, SECRET_KEY_BYTES } from "#kernel/crypto.ts";
import { SetupError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Log } from "#kernel/log.ts";
import { systemCode } from "#kernel/system-code.ts";
import type { Rotation } from "#storage/engine.ts";
import { SECRET_KEY_NAME } from "#storage/files/data-files.ts";
import { syncFolderNow } from "#storage/files/sync-folder.ts";
import { requireInstallation } from "#boot/folder/data-dir.ts";
import type { Config } from "#boot/settings/config.ts";
import { engine } from "#boot/settings/engine.ts";
import { createSecret } from "./secret-file.ts";
import { findNextSecretKey, loadKeyring, requireSecretKey, toNextPath } from "./secret-key.ts";

export interface RotatedSecretKey extends Rotation {
  /** The file that holds the new key. */
  readonly path: string;
  /** The file that holds the former one, which backups from before need. */
  readonly formerPath: string;
}

/**
 * Makes a new secret key for an installation, also while a server runs on it. The new one lies in `secret.key.next` before
 * the catalog has it, and takes the place of `secret.key` afterwards: whenever this is cut off, one of the two is the
 * catalog's, and the next start finds out which. Throws a `SetupError`, and has changed nothing, when it cannot be done.
 */
export async function rotateSecretKey(
  config: Config,
  { clock, ids, log }: { readonly clock: Clock; readonly ids: Ids; readonly log: Log },
  { revokesKeys }: { readonly revokesKeys: boolean },
): Promise<RotatedSecretKey> {
  requireInstallation(config);
  const path = join(config.dataDir, SECRET_KEY_NAME);
  if (config.secretKey !== null) {
    throw new SetupError(
      "configuration",
      `The secret key comes from PROXY_SECRET_KEY: stop the server, write the variable's value into ${path} (mode 0600), unset it, run this again, set it to what the file holds then, and remove the file.`,
    );
  }
  finishRotation(config, clock.nowUs());
  const secrets = loadKeyring(config, ids);
  const nextPath = toNextPath(config);
  // One that an earlier rotation left behind was never in use, and serves as well: a file that is there is not replaced,
  // so that of two rotations at once neither loses the key that the other has put into the catalog.
  const text = createSecret(nextPath, Buffer.from(ids.randomBytes(SECRET_KEY_BYTES)).toString("base64"), ids);
  const next = createSecretBox(requireSecretKey(text, nextPath));
  const { dataDir, databasePath } = config;
  const rotation = await engine.rotateSecret({
    dataDir,
    databasePath,
    secrets,
    clock,
    log,
    next,
    revokesKeys,
  });
  return { ...rotation, path, formerPath: putNextInPlace(config, clock.nowUs()) };
}

/** Puts the next key in its place when a rotation was cut off right before that. */
export function finishRotation(config: Config, nowUs: InstantUs): void {
  if (config.secretKey === null && findNextSecretKey(config) !== null) putNextInPlace(config, nowUs);
}

/** The former key stays beside it, for backups from before. */
function putNextInPlace(config: Config, nowUs: InstantUs): string {
  const path = join(config.dataDir, SECRET_KEY_NAME);
  // To the microsecond: a name is never used twice.
  const stamp = formatInstant(nowUs).replaceAll(/[-:]/g, "");
  const formerPath = `${path}.until-${stamp}`;
  // The former key may be gone: the new one goes to its place all the same.
  unlessMissing(() => linkSync(path, formerPath));
  // Another process that met the same state may have been quicker.
  unlessMissing(() => renameSync(toNextPath(config), path));
  syncFolderNow(config.dataDir);
  return formerPath;
}

function unlessMissing(step: () => void): void {
  try {
    step();
  } catch (cause) {
    if (systemCode(cause) !== "ENOENT") throw cause;
  }
}
