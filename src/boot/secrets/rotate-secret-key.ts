import { linkSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { formatInstant, type Clock, type InstantUs } from "#kernel/clock.ts";
import { createSecretBox, SECRET_KEY_BYTES } from "#kernel/crypto.ts";
import { SetupError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Log } from "#kernel/log.ts";
import { systemCode } from "#kernel/system-code.ts";
import type { Rotation } from "#storage/engine.ts";
import { FORMER_KEY_PREFIX, SECRET_KEY_NAME } from "#storage/files/data-files.ts";
import { syncFolderNow } from "#storage/files/sync-folder.ts";
import { requireInstallation } from "#boot/folder/data-dir.ts";
import { isOnFiles, type Config, type FileConfig } from "#boot/settings/config.ts";
import { engineOf, locks } from "#boot/settings/engine.ts";
import { replaceSecret } from "./secret-file.ts";
import { findNextSecretKey, loadKeyring, toNextPath } from "./secret-key.ts";

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
  config: FileConfig,
  { clock, ids, log }: { readonly clock: Clock; readonly ids: Ids; readonly log: Log },
  { revokesKeys }: { readonly revokesKeys: boolean },
): Promise<RotatedSecretKey> {
  await requireInstallation(config);
  const path = join(config.dataDir, SECRET_KEY_NAME);
  if (config.secretKey !== null) {
    throw new SetupError(
      "configuration",
      `The secret key comes from PROXY_SECRET_KEY: stop the server, write the variable's value into ${path} (mode 0600), unset it, run this again, set it to what the file holds then, and remove the file.`,
    );
  }
  const lock = locks.tryTakeRotation(config.dataDir);
  if (lock === null) {
    throw new SetupError(
      "failure",
      "Another command rotates the secret key at this moment: nothing was changed by this one.",
    );
  }
  try {
    if (findNextSecretKey(config) !== null) putNextInPlace(config, clock.nowUs());
    const rotation = await rotateToNew(config, { clock, ids, log, revokesKeys });
    return { ...rotation, path, formerPath: putNextInPlace(config, clock.nowUs()) };
  } finally {
    lock.release();
  }
}

interface Rotating {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly revokesKeys: boolean;
}

/** Called with the lock: the next key's file is this process's alone. */
async function rotateToNew(
  config: FileConfig,
  { clock, ids, log, revokesKeys }: Rotating,
): Promise<Rotation> {
  const { dataDir, database } = config;
  const secrets = loadKeyring(config, ids);
  const secret = ids.randomBytes(SECRET_KEY_BYTES);
  const next = createSecretBox(secret);
  // One that a rotation left behind when it was cut off may have been copied with the folder since: it is not taken.
  replaceSecret(toNextPath(config), Buffer.from(secret).toString("base64"), ids);
  try {
    const engine = await engineOf(config);
    return await engine.rotateSecret({ dataDir, database, secrets, clock, log, next, revokesKeys });
  } catch (cause) {
    removeUnusedNext(config);
    throw cause;
  }
}

/** Where the catalog cannot be read, it may have that key: the file stays. */
function removeUnusedNext(config: FileConfig): void {
  try {
    if (findNextSecretKey(config) === null) rmSync(toNextPath(config), { force: true });
  } catch {
    // What stopped the rotation is told; a next rotation does not take the key.
  }
}

/** Puts the next key in its place when a rotation was cut off right before that. One that is still under way does so itself. */
export function finishRotation(config: Config, nowUs: InstantUs): void {
  if (config.secretKey !== null || !isOnFiles(config) || findNextSecretKey(config) === null) return;
  const lock = locks.tryTakeRotation(config.dataDir);
  if (lock === null) return;
  try {
    // Looked at again: a rotation may have ended meanwhile.
    if (findNextSecretKey(config) !== null) putNextInPlace(config, nowUs);
  } finally {
    lock.release();
  }
}

/** The former key stays beside it, for backups from before. */
function putNextInPlace(config: Config, nowUs: InstantUs): string {
  const path = join(config.dataDir, SECRET_KEY_NAME);
  // To the microsecond: a name is never used twice.
  const stamp = formatInstant(nowUs).replaceAll(/[-:]/g, "");
  const formerPath = join(config.dataDir, `${FORMER_KEY_PREFIX}${stamp}`);
  // The former key may be gone: the new one goes to its place all the same.
  try {
    linkSync(path, formerPath);
  } catch (cause) {
    if (systemCode(cause) !== "ENOENT") throw cause;
  }
  renameSync(toNextPath(config), path);
  syncFolderNow(config.dataDir);
  return formerPath;
}
