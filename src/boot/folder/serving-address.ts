import { closeSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { systemCode } from "#kernel/system-code.ts";
import { openPrivateFile } from "#storage/files/private-file.ts";
import type { Config } from "#boot/settings/config.ts";
import type { Environment } from "#boot/settings/environment.ts";
import { locks } from "#boot/settings/engine.ts";
import { formatAddress, toReachable } from "#boot/settings/listen-address.ts";
import { SETTINGS } from "#boot/settings/settings.ts";

/** The address of a data folder's server, whatever settings it was started with. */
interface ServingAddress {
  /** `http://host:port` as bound. */
  readonly url: string;
  /** `PROXY_PUBLIC_URL` of the server; null when it has none. */
  readonly publicUrl: string | null;
}

/** Leaves word in the data folder, for commands beside the server. It counts only while the folder is locked. */
export function writeServingAddress(dataDir: string, { url, publicUrl }: ServingAddress): void {
  const path = toPath(dataDir);
  const unfinished = `${path}.unfinished`;
  const file = openPrivateFile(unfinished, "w");
  try {
    writeFileSync(file, `${JSON.stringify({ url, public_url: publicUrl })}\n`);
  } finally {
    closeSync(file);
  }
  renameSync(unfinished, path);
}

/** Removes the file if it can: one that stays is ignored. */
export function removeServingAddress(dataDir: string): void {
  try {
    rmSync(toPath(dataDir), { force: true });
  } catch {
    return;
  }
}

/** Null when no server runs from the folder, and while it has not said where it listens. Makes no file. */
export function findServingAddress(dataDir: string): ServingAddress | null {
  const text = readText(toPath(dataDir));
  // A killed server leaves its file behind.
  if (text === null || !locks.isTaken(dataDir)) return null;
  return parseAddress(text);
}

/**
 * The URL at which this machine reaches the server itself, past any reverse proxy (`http://host:port`): the port that `env` sets,
 * else where the server that runs from the data folder listens, else where the settings would put one. Null when nobody
 * knows: the port is chosen at the start.
 */
export function findListeningUrl(
  { dataDir, host, port }: Pick<Config, "dataDir" | "host" | "port">,
  env: Environment,
): string | null {
  const isPortSet = (env[SETTINGS.port.name] ?? "") !== "" && port !== 0;
  const serving = isPortSet ? null : findServingUrl(dataDir);
  if (serving !== null) return toReachable(serving);
  return port === 0 ? null : toReachable(`http://${formatAddress({ host, port })}`);
}

/** Null also where the lock cannot be asked, which says nothing of a server. */
function findServingUrl(dataDir: string): string | null {
  try {
    return findServingAddress(dataDir)?.url ?? null;
  } catch (cause) {
    if (cause instanceof SetupError) return null;
    throw cause;
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    // Another user's server: its commands are another user's too.
    if (["ENOENT", "ENOTDIR", "EACCES"].includes(systemCode(cause) ?? "")) return null;
    throw cause;
  }
}

function parseAddress(text: string): ServingAddress | null {
  try {
    const wire: unknown = JSON.parse(text);
    if (typeof wire !== "object" || wire === null) return null;
    if (!("url" in wire) || typeof wire.url !== "string" || !("public_url" in wire)) return null;
    const { url, public_url: publicUrl } = wire;
    return typeof publicUrl === "string" || publicUrl === null ? { url, publicUrl } : null;
  } catch {
    return null;
  }
}

function toPath(dataDir: string): string {
  return join(dataDir, "serving.json");
}
