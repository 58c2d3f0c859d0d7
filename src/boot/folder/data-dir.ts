import { accessSync, constants, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { isOnFiles, type Config, type FileConfig, type FilePlace } from "#boot/settings/config.ts";
import { engineOf, files } from "#boot/settings/engine.ts";
import { PRIVATE_FOLDER_MODE, USAGE_NAME, CATALOG_NAME, JOURNAL_NAME } from "#storage/files/data-files.ts";
import { findHalfRestore, type Finding } from "./half-restore.ts";
import { findExisting, requireRight, toFileError } from "./permission-problem.ts";
import { isRightsCode, systemCode } from "#kernel/system-code.ts";

/**
 * Makes the data folder (mode 0700) unless it exists. Throws a `SetupError` when it or a database in it cannot be
 * written to, when a restore into it was cut off (its files are then of two installations), and when one of its databases
 * is gone.
 */
export function prepareDataDir(config: Config): void {
  makeDataDir(config);
  if (!isOnFiles(config)) return;
  for (const path of [config.database.path, join(config.dataDir, USAGE_NAME)])
    requireRight(path, "change", `The database ${path} cannot be opened`);
  refuseHalfRestored(config);
  refuseMissingData(config);
}

/**
 * For commands that work on an installation that there is: a wrong folder's name must not make another one. Makes nothing.
 * Throws a `SetupError` when there is none, when a restore into it was cut off, and when one of its databases is gone.
 */
export async function requireInstallation(config: Config): Promise<void> {
  if (isOnFiles(config)) {
    requireFiles(config);
    return;
  }
  const engine = await engineOf(config);
  if ((await engine.findCatalogAge(config)) !== "none") return;
  throw new SetupError(
    "configuration",
    "There is no Lockport installation in the schema that PROXY_DATABASE_SCHEMA names: correct it or PROXY_DATABASE_URL, or make one there with lockport serve or lockport admin bootstrap.",
  );
}

function requireFiles({ dataDir, database }: FileConfig): void {
  const databasePath = database.path;
  refuseFile(findExisting(dataDir), "PROXY_DATA_DIR");
  refuseFile(findExisting(dirname(databasePath)), "PROXY_DATABASE_URL");
  requireRight(databasePath, "read", `The installation in ${dataDir} cannot be opened`);
  refuseHalfRestored({ dataDir, database });
  refuseMissingData({ dataDir, database });
  if (files.inspect.findCatalogAge(databasePath) !== "none") return;
  const isInside = dirname(databasePath) === dataDir;
  throw new SetupError(
    "configuration",
    isInside
      ? `There is no Lockport installation in ${dataDir}: name its folder with --data-dir or PROXY_DATA_DIR, or make one there with lockport serve or lockport admin bootstrap.`
      : `There is no Lockport installation at ${databasePath}: correct PROXY_DATABASE_URL, or make one there with lockport serve or lockport admin bootstrap.`,
  );
}

function refuseHalfRestored(place: FilePlace): void {
  const half = findHalfRestore(place);
  if (half !== null) throw new SetupError("configuration", `${half.finding}: ${half.advice}.`);
}

/** Another one in its place would be an empty one, without a word. */
function refuseMissingData(place: FilePlace): void {
  const missing = findMissingData(place);
  if (missing !== null) throw new SetupError("configuration", `${missing.finding}: ${missing.advice}.`);
}

/** Makes the folders of the data for a restore, which finds them empty. */
export function makeDataDir({ dataDir, database }: Config): void {
  makeFolder(dataDir, "PROXY_DATA_DIR");
  if (database.kind === "sqlite") makeFolder(dirname(database.path), "PROXY_DATABASE_URL");
}

function makeFolder(path: string, variable: string): void {
  refuseFile(findExisting(path), variable);
  try {
    mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER_MODE });
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    const task = `The folder ${path} cannot be written to (${variable})`;
    throw toFileError(cause, { path, use: "keep", task, kind: "configuration" });
  }
}

function refuseFile(path: string, variable: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== false) return;
  throw new SetupError("configuration", `${path} is a file, and no folder: name another one (${variable}).`);
}

/** A database that had been there, in words. */
interface MissingData extends Finding {
  readonly database: typeof CATALOG_NAME | typeof USAGE_NAME;
}

/**
 * The database that an installation has lost; null when it is whole, and while its first start is to come or was cut off: that makes
 * the catalog first, the usage database after it, and the journal last. Throws a `SetupError` for a catalog that cannot be
 * looked at.
 */
export function findMissingData({
  dataDir,
  database: { path: databasePath },
}: FilePlace): MissingData | null {
  const usagePath = join(dataDir, USAGE_NAME);
  const journal = join(dataDir, JOURNAL_NAME);
  const hasUsage = hasContent(usagePath);
  const hasJournal = files.inspect.hasJournal(journal);
  if (!hasUsage && !hasJournal) return null;
  const back = "restore a backup (lockport restore FILE --force), or put the file back";
  if (files.inspect.findCatalogAge(databasePath) === "none") {
    const setting = dirname(databasePath) === dataDir ? "" : ", or correct PROXY_DATABASE_URL";
    return {
      database: CATALOG_NAME,
      finding: `${databasePath} is missing beside ${hasUsage ? usagePath : journal}, so all keys and providers would be gone`,
      advice: `${back}${setting}; to begin with an empty installation, move ${usagePath}* and ${journal} away`,
    };
  }
  if (hasUsage) return null;
  return {
    database: USAGE_NAME,
    finding: `${usagePath} is missing beside ${journal}, so all recorded requests would be gone`,
    advice: `${back}; to go on without them, move ${journal} away`,
  };
}

/** An empty file is what a first start leaves that was cut off. Of a folder that is closed to this user nothing is known. */
function hasContent(path: string): boolean {
  try {
    return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
  } catch (cause) {
    if (isRightsCode(systemCode(cause))) return false;
    throw cause;
  }
}
