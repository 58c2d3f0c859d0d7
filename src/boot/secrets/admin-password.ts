import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import { ADMIN_PASSWORD_NAME } from "#storage/files/data-files.ts";
import { isOnFiles, type Config } from "#boot/settings/config.ts";
import { createSecret, readSecret, replaceSecret } from "./secret-file.ts";
import { ADMIN_PASSWORD_LENGTH_MIN } from "#boot/settings/setting-values.ts";

const ADMIN_PASSWORD_BYTES = 18;

export interface AdminPassword {
  /** Null when password sign-in is turned off. */
  readonly password: string | null;
  /** The file that holds it; null when it came from the environment or is turned off. */
  readonly path: string | null;
}

/** The password of `admin`: `PROXY_ADMIN_PASSWORD`, else the file, which is made when it is missing. */
export function loadAdminPassword(config: Config, ids: Ids): AdminPassword {
  if (!config.adminPasswordEnabled) return { password: null, path: null };
  if (config.adminPassword !== null) return { password: config.adminPassword, path: null };
  if (!isOnFiles(config)) {
    throw new SetupError(
      "configuration",
      "PROXY_ADMIN_PASSWORD has to be set with PostgreSQL (PROXY_DATABASE_URL), to the same value on every replica, or PROXY_ADMIN_PASSWORD_DISABLED to true.",
    );
  }
  const path = join(config.dataDir, ADMIN_PASSWORD_NAME);
  const password = readSecret(path) ?? createSecret(path, generatePassword(ids), ids);
  return { password: requireLong(password, path), path };
}

/** The password that lies in the data folder, and its file; null when there is none yet. */
export function findAdminPassword(config: Config): { readonly text: string; readonly path: string } | null {
  const path = join(config.dataDir, ADMIN_PASSWORD_NAME);
  const text = readSecret(path);
  return text === null ? null : { text: requireLong(text, path), path };
}

/** Reads the password file at `path` again. Throws a `SetupError` when it is gone, unreadable or too short. */
export function readAdminPassword(path: string): string {
  const password = readSecret(path);
  if (password === null) {
    throw new SetupError(
      "configuration",
      `The password file ${path} is gone: make another with lockport admin password rotate.`,
    );
  }
  return requireLong(password, path);
}

/** The file that a password is kept in. Throws a `SetupError` when it is kept elsewhere, or is off. */
export function requirePasswordFile(config: Config): string {
  if (!config.adminPasswordEnabled) {
    throw new SetupError(
      "configuration",
      "Sign-in by password is off (PROXY_ADMIN_PASSWORD_DISABLED): there is no password to rotate.",
    );
  }
  if (!isOnFiles(config)) {
    throw new SetupError(
      "configuration",
      "The password comes from PROXY_ADMIN_PASSWORD: set that to another one, the same on every replica, and start each again.",
    );
  }
  if (config.adminPassword !== null) {
    throw new SetupError(
      "configuration",
      "The password comes from PROXY_ADMIN_PASSWORD: set that to another one and start the server again.",
    );
  }
  return join(config.dataDir, ADMIN_PASSWORD_NAME);
}

/**
 * Puts a new password into the file, in place of the one that it may hold. A reader meets the one or the other, whole.
 * Throws as `requirePasswordFile` does.
 */
export function rotateAdminPassword(config: Config, ids: Ids): void {
  replaceSecret(requirePasswordFile(config), generatePassword(ids), ids);
}

function generatePassword(ids: Ids): string {
  return Buffer.from(ids.randomBytes(ADMIN_PASSWORD_BYTES)).toString("base64url");
}

function requireLong(password: string, path: string): string {
  if (Array.from(password).length >= ADMIN_PASSWORD_LENGTH_MIN) return password;
  throw new SetupError(
    "configuration",
    `The password file ${path} holds fewer than ${ADMIN_PASSWORD_LENGTH_MIN} characters: delete it to have one generated.`,
  );
}
