import { statSync } from "node:fs";
import { join } from "node:path";
import { formatInstant } from "#kernel/clock.ts";
import { createSecretBox, type SecretBox } from "#kernel/crypto.ts";
import { SetupError } from "#kernel/errors.ts";
import { INTERFACE_VERSION } from "#kernel/version.ts";
import { writeArchive, type ArchiveEntry } from "#storage/backup/archive-writer.ts";
import { encodeManifest, MANIFEST_NAME, type BackupManifest } from "#storage/backup/manifest.ts";
import { files } from "#boot/settings/engine.ts";
import { CATALOG_NAME, USAGE_NAME, JOURNAL_NAME, SECRET_KEY_NAME } from "#storage/files/data-files.ts";
import { makePrivateFolder } from "#storage/files/private-file.ts";
import type { FileConfig } from "#boot/settings/config.ts";
import { requireInstallation } from "#boot/folder/data-dir.ts";
import { requireRight } from "#boot/folder/permission-problem.ts";
import { findSecretKey } from "#boot/secrets/secret-key.ts";
import type { System } from "#boot/process/system.ts";

/** Progress: the step that runs now, and its share done (0 to 1; null when it is unknown). */
export interface Watch {
  readonly step: (sentence: string, share: number | null) => void;
  readonly signal: AbortSignal;
}

/** SQLite checks a database in one go, in which no signal is heard. */
export function toCheckStep(name: string): string {
  return `checking ${name} (Ctrl-C waits for it)`;
}

export interface BackupRequest {
  readonly withSecretKey: boolean;
  readonly watch: Watch;
}

export interface BackupWriting {
  readonly config: FileConfig;
  readonly system: System;
  /** A folder with room for a copy of both databases, which its maker removes. */
  readonly staging: string;
  /** Fulfilled when the bytes are taken. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
}

export interface WrittenBackup {
  readonly manifest: BackupManifest;
  /** False: there was no secret key of the catalog to make a MAC with. */
  readonly hasMac: boolean;
}

/** Writes a backup to wherever `write` puts it. Throws a `SetupError`, or what `write` throws. */
export async function writeBackup(
  { withSecretKey, watch }: BackupRequest,
  { config, system, staging, write }: BackupWriting,
): Promise<WrittenBackup> {
  makePrivateFolder(join(staging, JOURNAL_NAME));
  const createdAtUs = system.clock.nowUs();
  const names = await copyParts(staging, { config, watch });
  const catalog = files.inspect.inspectCatalog(join(staging, CATALOG_NAME));
  const usage = names.includes(USAGE_NAME) ? files.inspect.inspectUsage(join(staging, USAGE_NAME)) : null;
  const entries: ArchiveEntry[] = names.map((name) => {
    const content = join(staging, name);
    return { name, content, sizeBytes: statSync(content).size };
  });
  if (withSecretKey) {
    const content = toKeyFile(config, catalog.secretCheckValue);
    entries.push({ name: SECRET_KEY_NAME, content, sizeBytes: content.length });
  }
  const manifest: BackupManifest = {
    createdAt: formatInstant(createdAtUs),
    interfaceVersion: INTERFACE_VERSION,
    catalogSchema: catalog.schema,
    usageSchema: usage?.schema ?? null,
    parts: entries,
  };
  const head = encodeManifest(manifest);
  const secrets = findSecrets(config, catalog.secretCheckValue);
  const totalBytes = entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, head.length);
  await writeArchive([{ name: MANIFEST_NAME, sizeBytes: head.length, content: head }, ...entries], {
    modifiedAtSeconds: Math.floor(createdAtUs / 1e6),
    write,
    onRead: (doneBytes) => watch.step("writing the backup", doneBytes / totalBytes),
    signal: watch.signal,
    toMac: (sha256) => secrets?.macBackup(sha256) ?? null,
  });
  return { manifest, hasMac: secrets !== null };
}

/** Null when this process has no secret key, or another catalog's: a backup without a MAC is better than none. */
function findSecrets(config: FileConfig, checkValue: string | null): SecretBox | null {
  try {
    const secret = findSecretKey(config);
    const secrets = secret === null ? null : createSecretBox(secret);
    return secrets?.checkValue === checkValue ? secrets : null;
  } catch (cause) {
    if (cause instanceof SetupError) return null;
    throw cause;
  }
}

/** Throws a `SetupError` unless there is an installation that this user may read. */
export async function requireSource(config: FileConfig): Promise<void> {
  for (const path of [config.database.path, join(config.dataDir, USAGE_NAME)]) {
    requireRight(path, "read", "The installation cannot be read");
  }
  await requireInstallation(config);
}

/** The ledger first and the catalog after it: a principal, key or model that an event names is in the catalog's copy. */
async function copyParts(
  staging: string,
  { config, watch }: { readonly config: FileConfig; readonly watch: Watch },
): Promise<readonly string[]> {
  const ledgerParts = await copyLedger(staging, { config, watch });
  watch.step("copying catalog.db", null);
  await files.copy.copyCatalog(config.database.path, join(staging, CATALOG_NAME));
  return [CATALOG_NAME, ...ledgerParts];
}

async function copyLedger(
  staging: string,
  { config, watch }: { readonly config: FileConfig; readonly watch: Watch },
): Promise<readonly string[]> {
  const databasePath = join(config.dataDir, USAGE_NAME);
  // Asked of the file itself: a message about the copy would name a temporary folder.
  if (!files.inspect.hasUsageDatabase(databasePath)) return [];
  watch.step("copying usage.db", 0);
  const segments = await files.copy.copyLedger({
    dataDir: config.dataDir,
    target: staging,
    onShare: (share) => watch.step("copying usage.db", share),
    signal: watch.signal,
  });
  watch.step(toCheckStep(USAGE_NAME), null);
  files.inspect.requireIntact(join(staging, USAGE_NAME), databasePath);
  return [USAGE_NAME, ...segments];
}

/** The key as its file in the data folder is written. Throws a `SetupError` when there is none, or the key is another catalog's. */
function toKeyFile(config: FileConfig, checkValue: string | null): Uint8Array {
  const secret = findSecretKey(config);
  if (secret === null) {
    throw new SetupError(
      "configuration",
      `There is no secret key in ${config.dataDir} and PROXY_SECRET_KEY is not set: set it, or leave --with-secret-key out.`,
    );
  }
  if (createSecretBox(secret).checkValue !== checkValue) {
    throw new SetupError(
      "configuration",
      "The secret key is not the one that the catalog was made with: a backup with it would not open.",
    );
  }
  return Buffer.from(`${Buffer.from(secret).toString("base64")}\n`);
}
