import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { readManifest } from "#storage/backup/archive-reader.ts";
import {
  hasSecretKey,
  type BackupManifest,
  encodeManifest,
  MANIFEST_NAME,
} from "#storage/backup/manifest.ts";
import { checkSeal } from "#storage/backup/seal.ts";
import { syncFolder } from "#storage/files/sync-folder.ts";
import {
  DATABASE_SUFFIXES,
  PRIVATE_FILE_MODE,
  USAGE_NAME,
  CATALOG_NAME,
  JOURNAL_NAME,
  SECRET_KEY_NAME,
} from "#storage/files/data-files.ts";
import type { FileConfig } from "#boot/settings/config.ts";
import { requireRight, toFileError } from "#boot/folder/permission-problem.ts";
import { withStaging } from "#boot/folder/staging.ts";
import type { System } from "#boot/process/system.ts";
import { formatInstant } from "#kernel/clock.ts";
import { createSecretBox, type SecretBox } from "#kernel/crypto.ts";
import { INTERFACE_VERSION } from "#kernel/version.ts";
import { writeArchive, type ArchiveEntry } from "#storage/backup/archive-writer.ts";
import { files } from "#boot/settings/engine.ts";
import { makePrivateFolder } from "#storage/files/private-file.ts";
import { requireInstallation } from "#boot/folder/data-dir.ts";
import { findSecretKey } from "#boot/secrets/secret-key.ts";

/**
 * Writes a backup of the data folder to `path`, mode 0600, under its name only once it is complete and synced. Works while
 * a server runs. An earlier backup of that name is replaced unless it holds more; any other file, and whatever lies in the
 * data folder, is left alone. A symbolic link stays, and its end is what is written. Throws a `SetupError` that says what
 * to do; nothing stays behind then.
 */
export async function backUpToFile(
  path: string,
  request: BackupRequest,
  { config, system }: { readonly config: FileConfig; readonly system: System },
): Promise<WrittenBackup> {
  await requireSource(config);
  let target = resolve(path);
  try {
    requireFolder(target);
    target = followLinks(target);
    const folder = dirname(target);
    requireFolder(target);
    requireOutside(target, config);
    await requireReplaceable(target, request, config);
    return await withStaging(folder, { system, owner: "process" }, async (staging) => {
      const unfinished = join(staging, "backup.unfinished");
      const file = await open(unfinished, "wx", PRIVATE_FILE_MODE);
      try {
        const written = await writeBackup(request, {
          config,
          system,
          staging,
          write: (bytes) => file.writeFile(bytes),
        });
        await file.sync();
        request.watch.signal.throwIfAborted();
        await rename(unfinished, target);
        await syncFolder(folder);
        return written;
      } finally {
        await file.close();
      }
    });
  } catch (cause) {
    throw toFileError(cause, { path: target, use: "change", task: `The backup ${target} cannot be written` });
  }
}

/** Hands the bytes to `write`, which may throw anything. */
export async function backUpToStream(
  write: (bytes: Uint8Array) => Promise<void>,
  request: BackupRequest,
  { config, system }: { readonly config: FileConfig; readonly system: System },
): Promise<WrittenBackup> {
  await requireSource(config);
  const folder = tmpdir();
  const task = `The backup cannot be prepared in ${folder} (TMPDIR)`;
  requireRight(folder, "fill", task);
  try {
    return await withStaging(folder, { system, owner: "process" }, (staging) =>
      writeBackup(request, { config, system, staging, write }),
    );
  } catch (cause) {
    throw toFileError(cause, { path: join(folder, "backup"), use: "change", task });
  }
}

function requireFolder(target: string): void {
  const folder = dirname(target);
  requireRight(folder, "fill", `The backup ${target} cannot be written`);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new SetupError(
    "failure",
    `There is no folder ${folder} for the backup ${target}: make it, or name another file.`,
  );
}

/** The path a symbolic link leads to, though nothing be there yet. What is no file keeps its own name. */
function followLinks(path: string): string {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return path;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined) return found.isFile() ? realpathSync(path) : path;
  return followLinks(resolve(realpathSync(dirname(path)), readlinkSync(path)));
}

/** The server would take a file of the data folder for its own. */
function requireOutside(target: string, { dataDir, database: { path: databasePath } }: FileConfig): void {
  const real = join(realpathSync(dirname(target)), basename(target));
  const way = relative(realpathSync(dataDir), real);
  const isInside = way !== "" && way !== ".." && !way.startsWith(`..${sep}`);
  const database = realpathSync(databasePath);
  if (!isInside && !DATABASE_SUFFIXES.some((suffix) => real === `${database}${suffix}`)) return;
  throw new SetupError(
    "failure",
    `${target} lies in the installation itself and was left alone: name a file outside of ${dataDir}.`,
  );
}

/** A slip of the hand must not cost a file: only a backup gives way to a backup, and only to one that holds as much. */
async function requireReplaceable(
  path: string,
  { withSecretKey, watch: { signal } }: BackupRequest,
  { dataDir }: FileConfig,
): Promise<void> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isDirectory()) {
    throw new SetupError("failure", `${path} is a folder: name a file for the backup.`);
  }
  requireRight(path, "read", `${path} exists and was left alone`);
  if (found.isFile() && found.size === 0) return;
  const manifest = found.isFile() ? await findManifest(path, signal) : null;
  if (manifest === null) {
    throw new SetupError(
      "failure",
      `${path} exists and is no complete backup, so it was left alone: name another file, or remove it.`,
    );
  }
  if (hasSecretKey(manifest) && !withSecretKey) {
    throw new SetupError(
      "failure",
      `${path} is a backup with the secret key, and this one would be without it, so it was left alone: add --with-secret-key, or name another file.`,
    );
  }
  if (manifest.usageSchema !== null && !existsSync(join(dataDir, USAGE_NAME))) {
    throw new SetupError(
      "failure",
      `${path} is a backup with recorded requests, and this one would be without any, so it was left alone: name another file.`,
    );
  }
}

/** Null when the file is no complete backup. */
async function findManifest(path: string, signal: AbortSignal): Promise<BackupManifest | null> {
  try {
    const seal = await checkSeal(path, { onRead: () => undefined, signal });
    if (seal.kind !== "holds") return null;
    return await readManifest(path, { archiveBytes: seal.archiveBytes, signal });
  } catch {
    return null;
  }
}

/** Progress: the step that runs now, and its share done (0 to 1; null when it is unknown). */
export interface Watch {
  readonly step: (sentence: string, share: number | null) => void;
  readonly signal: AbortSignal;
}

/** SQLite checks a database in one go, in which no signal is heard. */
export function toCheckStep(name: string): string {
  return `checking ${name} (Ctrl-C waits for it)`;
}

interface BackupRequest {
  readonly withSecretKey: boolean;
  readonly watch: Watch;
}

interface BackupWriting {
  readonly config: FileConfig;
  readonly system: System;
  /** A folder with room for a copy of both databases, which its maker removes. */
  readonly staging: string;
  /** Fulfilled when the bytes are taken. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
}

interface WrittenBackup {
  readonly manifest: BackupManifest;
  /** False: there was no secret key of the catalog to make a MAC with. */
  readonly hasMac: boolean;
}

/** Writes a backup to wherever `write` puts it. Throws a `SetupError`, or what `write` throws. */
async function writeBackup(
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
async function requireSource(config: FileConfig): Promise<void> {
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
