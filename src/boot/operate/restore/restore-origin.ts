import { join } from "node:path";
import { createSecretBox } from "#kernel/crypto.ts";
import { SetupError } from "#kernel/errors.ts";
import type { Seal } from "#storage/backup/seal.ts";
import { SECRET_KEY_NAME } from "#storage/files/data-files.ts";
import type { Config } from "#boot/settings/config.ts";
import { listFormerKeys, readKeyFile, type SecretKeySource } from "./restore-key.ts";

/** The key by which a backup's MAC was checked; null: it was not, and the operator said that it may be so. */
export type VerifiedBy = SecretKeySource | null;

export interface Origin {
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
