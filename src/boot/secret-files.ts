import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { SECRET_KEY_BYTES } from "#kernel/crypto.ts";
import { SetupError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import { syncFolderNow } from "#storage/sync-folder.ts";
import type { Config } from "./config.ts";
import { systemCode, toSetupError } from "./data-dir.ts";
import { ADMIN_PASSWORD_LENGTH_MIN, decodeSecretKey } from "./setting-values.ts";

const SECRET_KEY_FILE = "secret.key";
const ADMIN_PASSWORD_FILE = "admin-password";
const USAGE_DATABASE_FILE = "usage.db";
const PRIVATE_FILE_MODE = 0o600;
const ADMIN_PASSWORD_BYTES = 18;
const TEMPORARY_NAME_BYTES = 6;

export interface AdminPassword {
  /** Null when password sign-in is turned off. */
  readonly password: string | null;
  /** The file that holds it; null when it came from the environment or is turned off. */
  readonly path: string | null;
}

/**
 * The secret of the installation: `PROXY_SECRET_KEY`, else the file, which is made only while there is no database.
 * Throws a `SetupError` when it is missing beside existing data: a new one would make every key and credential in there
 * useless without a word.
 */
export function loadSecretKey(config: Config, ids: Ids): Uint8Array {
  if (config.secretKey !== null) return config.secretKey;
  const path = join(config.dataDir, SECRET_KEY_FILE);
  // Looked at before the file is: a process that starts at the same time makes the file first and the database after it.
  const hasData = existsSync(config.databasePath) || existsSync(join(config.dataDir, USAGE_DATABASE_FILE));
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
  const secret = decodeSecretKey(text);
  if (secret === null) {
    throw new SetupError(
      "configuration",
      `The key file ${path} does not hold ${SECRET_KEY_BYTES} bytes in base64: put it back from your backup.`,
    );
  }
  return secret;
}

/** The password of `admin`: `PROXY_ADMIN_PASSWORD`, else the file, which is made when it is missing. */
export function loadAdminPassword(config: Config, ids: Ids): AdminPassword {
  if (!config.adminPasswordEnabled) return { password: null, path: null };
  if (config.adminPassword !== null) return { password: config.adminPassword, path: null };
  const path = join(config.dataDir, ADMIN_PASSWORD_FILE);
  const password =
    readSecret(path) ??
    createSecret(path, Buffer.from(ids.randomBytes(ADMIN_PASSWORD_BYTES)).toString("base64url"), ids);
  if (Array.from(password).length < ADMIN_PASSWORD_LENGTH_MIN) {
    throw new SetupError(
      "configuration",
      `The password file ${path} holds fewer than ${ADMIN_PASSWORD_LENGTH_MIN} characters: delete it to have one generated.`,
    );
  }
  return { password, path };
}

/** The file's text without its line end; null when there is no such file. */
function readSecret(path: string): string | null {
  try {
    return readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") return null;
    throw toSetupError(cause, `The file ${path} cannot be read: give this user access to it.`);
  }
}

/**
 * Writes the secret to disk before anything can depend on it, and returns what the file then holds, which is another
 * process's secret when two start at once: a link, unlike a rename, never replaces a file.
 */
function createSecret(path: string, secret: string, ids: Ids): string {
  const temporary = `${path}.${Buffer.from(ids.randomBytes(TEMPORARY_NAME_BYTES)).toString("hex")}`;
  try {
    const file = openSync(temporary, "wx", PRIVATE_FILE_MODE);
    try {
      writeSync(file, `${secret}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    try {
      linkSync(temporary, path);
    } catch (cause) {
      if (systemCode(cause) !== "EEXIST") throw cause;
    } finally {
      unlinkSync(temporary);
    }
    syncFolderNow(dirname(path));
  } catch (cause) {
    throw toSetupError(cause, `The file ${path} cannot be made: give this user access to its folder.`);
  }
  return readSecret(path) ?? secret;
}
