import { rmSync, statfsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { SetupError } from "#kernel/errors.ts";
import { BackupFormatError, readManifest, unpackArchive } from "#storage/backup/archive-reader.ts";
import type { BackupManifest } from "#storage/backup/manifest.ts";
import { checkSeal, type Seal, isArchiveStart } from "#storage/backup/seal.ts";
import { files, locks } from "#boot/settings/engine.ts";
import { CATALOG_NAME, USAGE_NAME, JOURNAL_NAME, PRIVATE_FILE_MODE } from "#storage/files/data-files.ts";
import { makePrivateFolder } from "#storage/files/private-file.ts";
import { toCheckStep, type Watch } from "./backup.ts";
import type { FileConfig } from "#boot/settings/config.ts";
import { makeDataDir } from "#boot/folder/data-dir.ts";
import { findExisting, requireRight, toFileError } from "#boot/folder/permission-problem.ts";
import {
  chooseSecretKey,
  stageFormerKey,
  type SecretKeySource,
  verifyOrigin,
  type VerifiedBy,
} from "./restore-key.ts";
import { takeBackUnfinished, toRestoreMark, putInPlace, requireEmpty } from "#boot/folder/half-restore.ts";
import { withStaging } from "#boot/folder/staging.ts";
import type { System } from "#boot/process/system.ts";
import { open } from "node:fs/promises";

interface RestoreRequest {
  /** The path of a file, or the bytes of one as they come. */
  readonly source: string | AsyncIterable<Uint8Array>;
  /** True: what the folder holds is put aside. */
  readonly force: boolean;
  /** True: a backup that nothing shows to be this installation's is restored as well. */
  readonly allowUnverified: boolean;
  readonly watch: Watch;
}

export interface Restored {
  readonly manifest: BackupManifest;
  readonly secretKeyFrom: SecretKeySource;
  readonly verifiedBy: VerifiedBy;
  /** Folders that hold what was there before. */
  readonly asidePaths: readonly string[];
}

/** A backup whose seal holds. */
interface Backup {
  readonly path: string;
  /** The path as the operator knows it. */
  readonly label: string;
  readonly seal: Seal;
  readonly manifest: BackupManifest;
}

/**
 * Puts the installation of a backup into the data folder. Everything is unpacked beside it and checked before anything is
 * put in place: the seal and its MAC, every hash, both databases, their schemas and the secret key. Throws a `SetupError` that says
 * what to do; the folder is then as it was, and gone when it did not exist.
 */
export async function restoreBackup(
  { source, force, allowUnverified, watch }: RestoreRequest,
  { config, system }: { readonly config: FileConfig; readonly system: System },
): Promise<Restored> {
  // Before anything is made: a file that is no backup leaves no trace.
  const file =
    typeof source === "string"
      ? await readBackup({ path: resolve(source), label: `The backup ${source}` }, watch)
      : null;
  requireEmpty(config, force);
  const madeFolder = findMissing(config.dataDir);
  makeDataDir(config);
  try {
    return await withPlaceErrors(config.dataDir, async () => {
      const lock = locks.take(config.dataDir);
      try {
        await takeBackUnfinished(toRestoreMark(config.dataDir));
        return await withStaging(config.dataDir, { system, owner: "parent" }, async (staging) => {
          const backup = file ?? (await receive(source, staging, watch));
          return unpackInPlace(backup, { staging, watch, config, system, allowUnverified });
        });
      } finally {
        lock.release();
      }
    });
  } catch (cause) {
    if (madeFolder !== null) rmSync(madeFolder, { recursive: true, force: true });
    throw cause;
  }
}

async function receive(source: RestoreRequest["source"], staging: string, watch: Watch): Promise<Backup> {
  if (typeof source === "string") throw new Error("a file is not received");
  const path = join(staging, "received");
  await receiveBackup(source, path, watch);
  return readBackup({ path, label: "The backup on stdin" }, watch);
}

interface Unpacking {
  readonly staging: string;
  readonly allowUnverified: boolean;
  readonly watch: Watch;
  readonly config: FileConfig;
  readonly system: System;
}

async function unpackInPlace(
  { path, label, seal, manifest }: Backup,
  { staging, watch, config, system, allowUnverified }: Unpacking,
): Promise<Restored> {
  requireUnpackingRoom(config.dataDir, manifest);
  makePrivateFolder(join(staging, JOURNAL_NAME));
  await withFormatErrors(label, () =>
    unpackArchive(path, {
      ...seal,
      signal: watch.signal,
      toPath: (name) => join(staging, name),
      onWritten: (doneBytes) => watch.step("unpacking", doneBytes / sumSizes(manifest)),
    }),
  );
  await checkDatabases(staging, { label, manifest, watch });
  const { secretCheckValue } = files.inspect.inspectCatalog(join(staging, CATALOG_NAME));
  const key = chooseSecretKey(staging, { config, manifest, checkValue: secretCheckValue });
  const { from: secretKeyFrom } = key;
  const verifiedBy = verifyOrigin(staging, { config, label, seal, secretKeyFrom, allowUnverified });
  watch.step("putting it in place", null);
  stageFormerKey(staging, key, system.ids);
  const asidePaths = await putInPlace(staging, {
    config,
    nowUs: system.clock.nowUs(),
    withSecretKey: secretKeyFrom === "backup" || secretKeyFrom === "former",
  });
  return { manifest, secretKeyFrom, verifiedBy, asidePaths };
}

async function readBackup(
  { path, label }: Pick<Backup, "path" | "label">,
  { step, signal }: Watch,
): Promise<Backup> {
  try {
    requireRight(path, "read", `${label} cannot be read`);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) {
      throw new SetupError("failure", `There is no file ${path}: name a file that lockport backup wrote.`);
    }
    if (!found.isFile()) {
      throw new SetupError(
        "failure",
        `${path} is no file: name a file that lockport backup wrote, or send it to stdin (lockport restore -).`,
      );
    }
    return await withFormatErrors(label, async () => {
      const seal = await checkSeal(path, {
        onRead: (doneBytes, sizeBytes) => step("reading the backup", doneBytes / sizeBytes),
        signal,
      });
      if (seal.kind === "foreign") {
        throw new SetupError(
          "failure",
          `${label} is no backup of lockport: take what lockport backup wrote.`,
        );
      }
      if (seal.kind === "broken") throw new BackupFormatError("it was cut off or altered");
      return { path, label, seal, manifest: await readManifest(path, { ...seal, signal }) };
    });
  } catch (cause) {
    throw toFileError(cause, { path, use: "read", task: `${label} cannot be read` });
  }
}

/** The first folder on the way that is not there yet; null when all are. */
function findMissing(path: string): string | null {
  const existing = findExisting(path);
  let missing: string | null = null;
  for (let at = path; at !== existing; at = dirname(at)) missing = at;
  return missing;
}

function requireUnpackingRoom(dataDir: string, manifest: BackupManifest): void {
  const { bavail, bsize } = statfsSync(dataDir);
  const [freeBytes, neededBytes] = [bavail * bsize, sumSizes(manifest)];
  if (freeBytes > neededBytes) return;
  throw new SetupError(
    "failure",
    `The backup needs ${neededBytes} bytes and the disk of ${dataDir} has ${freeBytes}: make room, or restore to another disk.`,
  );
}

interface Checking {
  readonly label: string;
  readonly manifest: BackupManifest;
  readonly watch: Watch;
}

async function checkDatabases(staging: string, { label, manifest, watch }: Checking): Promise<void> {
  const catalogPath = join(staging, CATALOG_NAME);
  const usagePath = join(staging, USAGE_NAME);
  try {
    watch.step(toCheckStep(CATALOG_NAME), null);
    files.inspect.inspectCatalog(catalogPath);
    files.inspect.requireIntact(catalogPath);
    await hearSignals(watch);
    if (manifest.usageSchema === null) return;
    watch.step(toCheckStep(USAGE_NAME), null);
    files.inspect.inspectUsage(usagePath);
    files.inspect.requireIntact(usagePath);
    await hearSignals(watch);
  } catch (cause) {
    if (!(cause instanceof SetupError)) throw cause;
    // The path is that of a copy which is about to go.
    const sentence = cause.message
      .replaceAll(`${staging}/`, "")
      .replace("restore it from a backup", "take another backup");
    throw new SetupError(cause.kind, `${label} cannot be restored by this version. ${sentence}`, cause);
  }
}

/** One that came while a database was checked is heard when the event loop turns. Throws when it did. */
async function hearSignals({ signal }: Watch): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}

function sumSizes({ parts }: BackupManifest): number {
  return parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

async function withPlaceErrors<Result>(dataDir: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    const task = `The files could not be put in place, and ${dataDir} is as it was`;
    throw toFileError(cause, { path: join(dataDir, CATALOG_NAME), use: "change", task });
  }
}

async function withFormatErrors<Result>(label: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof BackupFormatError)) throw cause;
    throw new SetupError(
      "failure",
      `${label} is damaged (${cause.message}): take another one. Nothing was changed.`,
      cause,
    );
  }
}

const START_BYTES = 4;
/** Left free on the disk, for whatever else lives there. */
const RESERVE_BYTES = 64 * 1024 * 1024;
/** The disk is looked at each time that so much has come. */
const LOOK_BYTES = 8 * 1024 * 1024;

/**
 * Writes a backup that comes as a stream to `path`, which must not exist: reading one needs its end first. Throws a
 * `SetupError` when it does not begin as a backup, and before it fills the disk.
 */
async function receiveBackup(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
  { step, signal }: Watch,
): Promise<void> {
  const file = await open(path, "wx", PRIVATE_FILE_MODE);
  try {
    let start = Buffer.alloc(0);
    let receivedBytes = 0;
    let lookedAtBytes = -LOOK_BYTES;
    for await (const bytes of untilAborted(chunks, signal)) {
      if (start.length < START_BYTES) {
        start = Buffer.concat([start, bytes]).subarray(0, START_BYTES);
        requireStart(start);
      }
      if (receivedBytes - lookedAtBytes >= LOOK_BYTES) {
        requireReceivingRoom(dirname(path), bytes.length);
        lookedAtBytes = receivedBytes;
      }
      await file.writeFile(bytes);
      receivedBytes += bytes.length;
      step(`receiving the backup, ${Math.floor(receivedBytes / 1e6)} MB`, null);
    }
  } finally {
    await file.close();
  }
}

function requireStart(start: Buffer): void {
  if (start.length < START_BYTES || isArchiveStart(start)) return;
  throw new SetupError(
    "failure",
    "What comes on stdin is no backup of lockport: send what lockport backup wrote.",
  );
}

function requireReceivingRoom(folder: string, sizeBytes: number): void {
  const { bavail, bsize, blocks } = statfsSync(folder);
  if (blocks === 0 || bavail * bsize > RESERVE_BYTES + LOOK_BYTES + sizeBytes) return;
  throw new SetupError(
    "failure",
    `The disk of ${folder} has no room for the backup on stdin: make room, or restore to another disk.`,
  );
}

/** Ends a read as well that waits for a sender which sends nothing. */
async function* untilAborted(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await Promise.race([iterator.next(), aborted.promise]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
