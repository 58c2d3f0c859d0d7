import { existsSync, linkSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createSecretBox, SECRET_KEY_BYTES, createKeyring, type Keyring } from "#kernel/crypto.ts";
import { SetupError, UnreachableError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import {
  NEXT_SECRET_KEY_NAME,
  SECRET_KEY_NAME,
  USAGE_NAME,
  FORMER_KEY_PREFIX,
} from "#storage/files/data-files.ts";
import { isOnFiles, type Config, type FilePlace, type FileConfig } from "#boot/settings/config.ts";
import { files, engineOf, locks, examineDatabase } from "#boot/settings/engine.ts";
import { createSecret, readSecret, replaceSecret } from "./secret-file.ts";
import { decodeSecretKey } from "#boot/settings/setting-values.ts";
import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import type { System } from "#boot/process/system.ts";
import { systemCode } from "#kernel/system-code.ts";
import type { Rotation, PostgresDatabase } from "#storage/engine.ts";
import { syncFolderNow } from "#storage/files/sync-folder.ts";
import { requireInstallation, makeDataDir } from "#boot/folder/data-dir.ts";
import { toCounted } from "#kernel/text.ts";

/**
 * The secret of the installation: `PROXY_SECRET_KEY`, else the file, which is made only while there is no database.
 * Throws a `SetupError` when it is missing beside existing data: a new one would make every key and credential in there
 * useless without a word.
 */
export function loadSecretKey(config: Config, ids: Ids): Uint8Array {
  if (config.secretKey !== null) return config.secretKey;
  if (!isOnFiles(config)) {
    throw new SetupError(
      "configuration",
      "PROXY_SECRET_KEY has to be set with PostgreSQL (PROXY_DATABASE_URL), to the same value on every replica: make one with openssl rand -base64 32.",
    );
  }
  const path = join(config.dataDir, SECRET_KEY_NAME);
  // Before the other file: a rotation that ends meanwhile moves the next key there.
  const next = findNextSecretKey(config);
  if (next !== null) return next;
  // Looked at before the file is: a process that starts at the same time makes the file first and the database after it.
  const hasData = existsSync(config.database.path) || existsSync(join(config.dataDir, USAGE_NAME));
  const text =
    readSecret(path) ??
    (hasData
      ? null
      : createSecret(path, Buffer.from(ids.randomBytes(SECRET_KEY_BYTES)).toString("base64"), ids));
  if (text === null) {
    throw new SetupError(
      "configuration",
      `The key file ${path} is missing beside existing data: put it back from your backup, or set PROXY_SECRET_KEY to its content.`,
    );
  }
  return requireSecretKey(text, path);
}

/** The secret that there is: `PROXY_SECRET_KEY`, else what the file holds; null when there is neither. Makes nothing. */
export function findSecretKey(config: Config): Uint8Array | null {
  if (config.secretKey !== null || !isOnFiles(config)) return config.secretKey;
  const next = findNextSecretKey(config);
  if (next !== null) return next;
  const path = join(config.dataDir, SECRET_KEY_NAME);
  const text = readSecret(path);
  return text === null ? null : requireSecretKey(text, path);
}

/** The key of a rotation that was cut off when the catalog had it already; null when there is none. */
function findNextSecretKey(config: FilePlace): Uint8Array | null {
  const path = toNextPath(config);
  const secret = existsSync(path) ? decodeSecretKey(readSecret(path) ?? "") : null;
  if (secret === null || files.inspect.findCatalogAge(config.database.path) === "none") return null;
  const { secretCheckValue } = files.inspect.inspectCatalog(config.database.path);
  return createSecretBox(secret).checkValue === secretCheckValue ? secret : null;
}

/**
 * The keyring of a process that opens the catalog, with the secret of `loadSecretKey`. When another process rotates the
 * secret, it is looked for where that process puts it.
 */
export function loadKeyring(config: Config, ids: Ids): Keyring {
  return createKeyring(loadSecretKey(config, ids), (checkValue, isOpening) =>
    // A variable that is not the catalog's key is a mistake, which a file beside it must not hide.
    isOpening && config.secretKey !== null ? null : findSecretKeyOf(config, checkValue),
  );
}

/** The secret key with this check value among those that there are; null when it is none of them. */
function findSecretKeyOf(config: Config, checkValue: string): Uint8Array | null {
  if (!isOnFiles(config)) return null;
  // In this order: a rotation moves the next key to the place of the other, and one that has gone from here is there.
  const texts = [readSecret(toNextPath(config)), readSecret(join(config.dataDir, SECRET_KEY_NAME))];
  const secrets = [config.secretKey, ...texts.map((text) => (text === null ? null : decodeSecretKey(text)))];
  const isIt = (secret: Uint8Array | null) =>
    secret !== null && createSecretBox(secret).checkValue === checkValue;
  return secrets.find(isIt) ?? null;
}

/** The file in which a rotation keeps the next secret key until the catalog has it. */
function toNextPath({ dataDir }: Pick<Config, "dataDir">): string {
  return join(dataDir, NEXT_SECRET_KEY_NAME);
}

/** The 32 bytes of a key file's text. Throws a `SetupError` that names the file when it holds anything else. */
function requireSecretKey(text: string, path: string): Uint8Array {
  const secret = decodeSecretKey(text);
  if (secret !== null) return secret;
  throw new SetupError(
    "configuration",
    `The key file ${path} does not hold ${SECRET_KEY_BYTES} bytes in base64: put it back from your backup.`,
  );
}

interface RotatedSecretKey extends Rotation {
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
  system: System,
  { revokesKeys }: { readonly revokesKeys: boolean },
): Promise<RotatedSecretKey> {
  const { clock } = system;
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
    const rotation = await rotateToNew(config, system, {
      secrets: loadKeyring(config, system.ids),
      revokesKeys,
      onFailure: () => removeUnusedNext(config),
    });
    return { ...rotation, path, formerPath: putNextInPlace(config, clock.nowUs()) };
  } finally {
    lock.release();
  }
}

interface Rotating {
  readonly secrets: Keyring;
  readonly revokesKeys: boolean;
  /** Removes the next key's file where the catalog cannot have that key. */
  readonly onFailure: (cause: unknown) => void;
}

/** Makes a key, which lies in the next key's file before the catalog has it. */
async function rotateToNew(
  config: Config,
  { clock, ids, log }: System,
  { secrets, revokesKeys, onFailure }: Rotating,
): Promise<Rotation> {
  const { dataDir, database } = config;
  const secret = ids.randomBytes(SECRET_KEY_BYTES);
  const next = createSecretBox(secret);
  // One that a rotation left behind when it was cut off may have been copied with the folder since: it is not taken.
  replaceSecret(toNextPath(config), Buffer.from(secret).toString("base64"), ids);
  try {
    const engine = await engineOf(config);
    return await engine.rotateSecret({ dataDir, database, secrets, clock, log, next, revokesKeys });
  } catch (cause) {
    onFailure(cause);
    throw cause;
  }
}

/** The file stays where the catalog cannot be read: it may have that key. */
function removeUnusedNext(config: FileConfig): void {
  try {
    if (findNextSecretKey(config) === null) rmSync(toNextPath(config), { force: true });
  } catch {
    // The operator is told of what stopped the rotation; a next one does not take this key.
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

/** A replica that was heard of within it may still serve. */
const IDLE_SECONDS_MIN = 60;

interface SharedKeyRotation extends Rotation {
  /** The file that holds the new key, until every replica is given it. */
  readonly path: string;
}

/**
 * Makes a new secret key for an installation whose replicas have theirs from PROXY_SECRET_KEY. They have to be stopped: none
 * could know the next key, and what it sealed meanwhile would not open. The new one lies in the data folder of this command
 * before the database has it. Throws a `SetupError`, and has changed nothing, when it cannot be done.
 */
export async function rotateSharedKey(
  config: Config,
  system: System,
  { revokesKeys }: { readonly revokesKeys: boolean },
): Promise<SharedKeyRotation> {
  const { database } = config;
  if (database.kind !== "postgres") throw new TypeError("the key of files is rotated beside them");
  await requireInstallation(config);
  const secrets = loadKeyring(config, system.ids);
  await requireNobodyServes(database, system);
  makeDataDir(config);
  const path = toNextPath(config);
  const rotation = await rotateToNew(config, system, {
    secrets,
    revokesKeys,
    // While the database may have it, the only copy stays.
    onFailure(cause) {
      if (!(cause instanceof UnreachableError && cause.mayBeCommitted)) rmSync(path, { force: true });
    },
  });
  return { ...rotation, path };
}

async function requireNobodyServes(database: PostgresDatabase, { clock, log }: System): Promise<void> {
  const { replicas } = await examineDatabase({ database, clock, log });
  const serving = replicas.filter(({ idleSeconds }) => idleSeconds < IDLE_SECONDS_MIN).length;
  if (serving === 0) return;
  throw new SetupError(
    "failure",
    `${toCounted(serving, "replica")} ${serving === 1 ? "serves" : "serve"} from this database: stop all of them first (${IDLE_SECONDS_MIN} s must have passed since one was killed), since none knows the next key before it is started with it.`,
  );
}
