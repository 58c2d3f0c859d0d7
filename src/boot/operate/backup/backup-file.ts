import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { readManifest } from "#storage/backup/archive-reader.ts";
import { hasSecretKey, type BackupManifest } from "#storage/backup/manifest.ts";
import { checkSeal } from "#storage/backup/seal.ts";
import { syncFolder } from "#storage/files/sync-folder.ts";
import { DATABASE_SUFFIXES, PRIVATE_FILE_MODE, USAGE_NAME } from "#storage/files/data-files.ts";
import { requireSource, writeBackup, type BackupRequest, type WrittenBackup } from "./backup.ts";
import type { FileConfig } from "#boot/settings/config.ts";
import { requireRight, toFileError } from "#boot/folder/permission-problem.ts";
import { withStaging } from "#boot/folder/staging.ts";
import type { System } from "#boot/process/system.ts";

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

/** Where a symbolic link leads, though nothing be there yet. What is no file is told by its own name. */
function followLinks(path: string): string {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return path;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined) return found.isFile() ? realpathSync(path) : path;
  return followLinks(resolve(realpathSync(dirname(path)), readlinkSync(path)));
}

/** What lies there under a name that means something to the server would be taken for its own. */
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
