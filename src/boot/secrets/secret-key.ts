import { existsSync } from "node:fs";
import { join } from "node:path";
import { SECRET_KEY_BYTES } from "#kernel/crypto.ts";
import { SetupError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import { SECRET_KEY_NAME, USAGE_NAME } from "#storage/files/data-files.ts";
import type { Config } from "#boot/settings/config.ts";
import { createSecret, readSecret } from "./secret-file.ts";
import { decodeSecretKey } from "#boot/settings/setting-values.ts";

/**
 * The secret of the installation: `PROXY_SECRET_KEY`, else the file, which is made only while there is no database.
 * Throws a `SetupError` when it is missing beside existing data: a new one would make every key and credential in there
 * useless without a word.
 */
export function loadSecretKey(config: Config, ids: Ids): Uint8Array {
  if (config.secretKey !== null) return config.secretKey;
  const path = join(config.dataDir, SECRET_KEY_NAME);
  // Looked at before the file is: a process that starts at the same time makes the file first and the database after it.
  const hasData = existsSync(config.databasePath) || existsSync(join(config.dataDir, USAGE_NAME));
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
  if (config.secretKey !== null) return config.secretKey;
  const path = join(config.dataDir, SECRET_KEY_NAME);
  const text = readSecret(path);
  return text === null ? null : requireSecretKey(text, path);
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
