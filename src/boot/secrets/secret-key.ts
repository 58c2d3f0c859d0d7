import { existsSync } from "node:fs";
import { join } from "node:path";
import { createSecretBox, SECRET_KEY_BYTES } from "#kernel/crypto.ts";
import { SetupError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import { createKeyring, type Keyring } from "#kernel/keyring.ts";
import { NEXT_SECRET_KEY_NAME, SECRET_KEY_NAME, USAGE_NAME } from "#storage/files/data-files.ts";
import { isOnFiles, type Config, type FilePlace } from "#boot/settings/config.ts";
import { files } from "#boot/settings/engine.ts";
import { createSecret, readSecret } from "./secret-file.ts";
import { decodeSecretKey } from "#boot/settings/setting-values.ts";

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
export function findNextSecretKey(config: FilePlace): Uint8Array | null {
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

/** Where a rotation keeps the next secret key until the catalog has it. */
export function toNextPath({ dataDir }: Pick<Config, "dataDir">): string {
  return join(dataDir, NEXT_SECRET_KEY_NAME);
}

/** The 32 bytes of a key file's text. Throws a `SetupError` that names the file when it holds anything else. */
export function requireSecretKey(text: string, path: string): Uint8Array {
  const secret = decodeSecretKey(text);
  if (secret !== null) return secret;
  throw new SetupError(
    "configuration",
    `The key file ${path} does not hold ${SECRET_KEY_BYTES} bytes in base64: put it back from your backup.`,
  );
}
