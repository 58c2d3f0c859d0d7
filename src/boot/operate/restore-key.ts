import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createSecretBox } from "#kernel/crypto.ts";
import { SetupError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import { hasSecretKey, type BackupManifest } from "#storage/backup/manifest.ts";
import { FORMER_KEY_PREFIX, SECRET_KEY_NAME } from "#storage/files/data-files.ts";
import type { Config } from "#boot/settings/config.ts";
import { createSecret, readSecret } from "#boot/secrets/secret-file.ts";
import { decodeSecretKey } from "#boot/settings/setting-values.ts";
import type { Seal } from "#storage/backup/seal.ts";

/** `former`: a key from before a rotation that lies in the folder. */
export type SecretKeySource = "backup" | "folder" | "former" | "environment";

interface ChosenKey {
  readonly from: SecretKeySource;
  /** A former key, which has to become the folder's again; null with any other source. */
  readonly former: Uint8Array | null;
}

interface KeyChoice {
  readonly config: Config;
  readonly manifest: BackupManifest;
  readonly checkValue: string | null;
}

/**
 * Which secret key the restored installation has. The variable goes before the file at every start, so it is what has to
 * fit when it is set. Throws a `SetupError` when none fits the catalog's check value.
 */
export function chooseSecretKey(staging: string, { config, manifest, checkValue }: KeyChoice): ChosenKey {
  const fits = (secret: Uint8Array | null) =>
    secret !== null && createSecretBox(secret).checkValue === checkValue;
  if (config.secretKey !== null) {
    if (fits(config.secretKey)) return { from: "environment", former: null };
    throw new SetupError(
      "configuration",
      "PROXY_SECRET_KEY is not the secret key of this backup: set it to the one that the installation had, or unset it.",
    );
  }
  if (hasSecretKey(manifest)) {
    if (fits(readKeyFile(join(staging, SECRET_KEY_NAME)))) return { from: "backup", former: null };
    throw new SetupError(
      "configuration",
      "The secret key in the backup is not that of its catalog: take another backup.",
    );
  }
  const path = join(config.dataDir, SECRET_KEY_NAME);
  if (fits(readKeyFile(path))) return { from: "folder", former: null };
  const former = listFormerKeys(config.dataDir).find(fits);
  if (former !== undefined) return { from: "former", former };
  throw new SetupError(
    "configuration",
    existsSync(path)
      ? `The secret key in ${path} is not the one of this backup: put the one that the installation had there, or set PROXY_SECRET_KEY.`
      : `The secret key is not in this backup: put the secret.key that the installation had into ${config.dataDir}, or set PROXY_SECRET_KEY, and restore again.`,
  );
}

/** The keys that rotations have left in the folder. */
function listFormerKeys(dataDir: string): readonly Uint8Array[] {
  return readdirSync(dataDir)
    .filter((name) => name.startsWith(FORMER_KEY_PREFIX))
    .flatMap((name) => readKeyFile(join(dataDir, name)) ?? []);
}

/** Lays a former key beside what was unpacked, to be put in place with it. */
export function stageFormerKey(staging: string, { former }: ChosenKey, ids: Ids): void {
  if (former === null) return;
  createSecret(join(staging, SECRET_KEY_NAME), Buffer.from(former).toString("base64"), ids);
}

/** The key as a start reads it: null when there is no such file, and when it holds no key. */
function readKeyFile(path: string): Uint8Array | null {
  const text = readSecret(path);
  return text === null ? null : decodeSecretKey(text);
}

/** The key by which a backup's MAC was checked; null: it was not, and the operator said that it may be so. */
export type VerifiedBy = SecretKeySource | null;

interface Origin {
  readonly config: Config;
  readonly label: string;
  readonly seal: Seal;
  readonly secretKeyFrom: SecretKeySource;
  readonly allowUnverified: boolean;
}

/**
 * Checks who made a backup, once it is unpacked into `staging` and its key was chosen. A MAC that does not hold is refused
 * always. Without one, and with the key of another installation than the one that is here, an operator has to say that the
 * backup is trusted: anybody could have made it. Throws a `SetupError`.
 */
export function verifyOrigin(
  staging: string,
  { config, label, seal, secretKeyFrom, allowUnverified }: Origin,
): VerifiedBy {
  const here = config.secretKey ?? readKeyFile(join(config.dataDir, SECRET_KEY_NAME));
  const inBackup = readKeyFile(join(staging, SECRET_KEY_NAME));
  const holds = (secret: Uint8Array | null) =>
    secret !== null &&
    seal.mac !== null &&
    crypto.timingSafeEqual(createSecretBox(secret).macBackup(seal.sha256), seal.mac);
  if (holds(here)) return config.secretKey === null ? "folder" : "environment";
  if (listFormerKeys(config.dataDir).some(holds)) return "former";
  if (seal.mac === null) {
    if (allowUnverified) return null;
    throw new SetupError(
      "failure",
      `${label} carries no MAC, as those of earlier executables and those that were made without the secret key: it is whole, and nothing shows who made it. If you know that, restore it with --allow-unverified.`,
    );
  }
  if (secretKeyFrom !== "backup" || !holds(inBackup)) {
    throw new SetupError(
      "failure",
      `${label} is damaged or was altered (its MAC does not hold): take another one. Nothing was changed.`,
    );
  }
  if (here === null) return "backup";
  if (allowUnverified) return null;
  throw new SetupError(
    "failure",
    `${label} was made with another secret key than the one in ${config.dataDir}: it is another installation's, or this one's from before \`lockport secrets rotate\`. If you know where it comes from, restore it with --allow-unverified.`,
  );
}
