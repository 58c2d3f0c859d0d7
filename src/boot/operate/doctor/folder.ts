import { existsSync, readdirSync, statfsSync, statSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { isOnFiles, type Config } from "#boot/settings/config.ts";
import { toOwnSentence, findHalfRestore } from "#boot/folder/half-restore.ts";
import { findExisting, type Use } from "#boot/folder/permission-problem.ts";
import { findSecretKey } from "#boot/secrets/secret-key.ts";
import { SECRET_KEY_NAME, JOURNAL_NAME, SPOOL_NAME } from "#storage/files/data-files.ts";
import {
  toFailure,
  toOk,
  toWarning,
  type Check,
  findRightsFailure,
  standAlone,
  toDiagnosis,
  type Look,
} from "./check.ts";

const FOLDER = "data folder";
const OTHERS_MODE = 0o077;
/** The ledger refuses requests when the disk is full; a busy day writes some hundred megabytes. */
const FREE_BYTES_FAIL = 50_000_000;
const FREE_BYTES_WARN = 1_000_000_000;

/** File systems of Linux in which no folder can be made, by the number that statfs(2) gives them (linux/magic.h). */
const KERNEL_FILE_SYSTEMS = new Set([
  0x9fa0, // proc
  0x62656572, // sysfs
  0x27e0eb, // cgroup
  0x63677270, // cgroup2
  0x1cd1, // devpts
]);

interface FolderFound {
  readonly check: Check;
  /** True when its content can be looked at. */
  readonly isOpen: boolean;
}

export function checkFolder(config: Config): FolderFound {
  const { dataDir } = config;
  try {
    return lookAtFolder(config);
  } catch (cause) {
    const look: Look = {
      name: FOLDER,
      needs: [[dataDir, "keep"]],
      advice: "Set PROXY_DATA_DIR to a folder.",
    };
    return { check: toDiagnosis(look, cause), isOpen: false };
  }
}

function lookAtFolder(config: Config): FolderFound {
  const { dataDir } = config;
  const name = FOLDER;
  const closed = (check: Check): FolderFound => ({ check, isOpen: false });
  const existing = findExisting(dataDir);
  if (!statSync(existing).isDirectory()) {
    return closed(toFailure(name, `${existing} is no folder`, "Set PROXY_DATA_DIR to a folder."));
  }
  const refused = findRightsFailure({ name, needs: [[dataDir, "keep"]] });
  if (refused !== null) return closed(refused);
  if (existing !== dataDir) return closed(checkMakeable(dataDir, existing));
  const half = isOnFiles(config) ? findHalfRestore(config) : null;
  if (half !== null) return closed(toFailure(name, half.finding, toOwnSentence(half.advice)));
  const opened = (check: Check): FolderFound => ({ check, isOpen: true });
  // A file that another user made, such as root by a command, keeps the server from starting.
  const needs = readdirSync(dataDir, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry): readonly [string, Use] => [join(dataDir, entry.name), "change"]);
  const foreign = findRightsFailure({ name, needs });
  if (foreign !== null) return opened(foreign);
  const owner = findOwnerCheck(name, dataDir);
  if (owner !== null) return opened(owner);
  const { mode } = statSync(dataDir);
  if (isOpenToOthers(mode)) {
    const finding = `${dataDir} is open to other users (mode ${toMode(mode)})`;
    return opened(toWarning(name, finding, `chmod 700 ${dataDir}`));
  }
  return opened(toOk(name, `${dataDir}, writable, ${whose(dataDir)} alone`));
}

function checkMakeable(dataDir: string, existing: string): Check {
  const name = FOLDER;
  const refused = findRightsFailure({ name, needs: [[existing, "fill"]] });
  if (refused !== null) {
    return { ...refused, finding: `${dataDir} does not exist and cannot be made: ${refused.finding}` };
  }
  if (KERNEL_FILE_SYSTEMS.has(statfsSync(existing).type)) {
    const finding = `${dataDir} does not exist and cannot be made: ${existing} holds no files of users`;
    return toFailure(name, finding, "Set PROXY_DATA_DIR to a folder on a disk.");
  }
  return toWarning(name, `${dataDir} does not exist yet`, "lockport serve makes it, or set --data-dir.");
}

export async function checkKeyFile(config: Config): Promise<Check> {
  const name = "secret key";
  const path = join(config.dataDir, SECRET_KEY_NAME);
  if (config.secretKey !== null) return toOk(name, "from PROXY_SECRET_KEY");
  if (!isOnFiles(config)) {
    const advice = "Set it to the same value on every replica; the first time: openssl rand -base64 32";
    return toFailure(name, "PROXY_SECRET_KEY is not set, which PostgreSQL needs", advice);
  }
  return standAlone({ name, needs: [[path, "read"]], advice: "Nothing opens without it." }, () => {
    if (findSecretKey(config) === null) {
      return existsSync(config.database.path)
        ? toFailure(
            name,
            `${path} is missing beside existing data`,
            "Put it back from where it is kept, or set PROXY_SECRET_KEY.",
          )
        : toOk(name, "made at the first start");
    }
    const { mode } = statSync(path);
    if (!isOpenToOthers(mode)) return toOk(name, `${path}, ${whose(path)} alone`);
    return toFailure(name, `${path} can be read by other users (mode ${toMode(mode)})`, `chmod 600 ${path}`);
  });
}

export async function checkDisk({ dataDir }: Config): Promise<Check> {
  const name = "disk space";
  // A folder that is not there yet will be made on this disk.
  const path = findExisting(dataDir);
  return standAlone({ name, needs: [[path, "enter"]], advice: "Look at it with df." }, () => {
    const { bavail, bsize, blocks } = statfsSync(path);
    if (blocks === 0) return toOk(name, `the file system of ${path} does not tell`);
    const freeBytes = bavail * bsize;
    const finding = `${(freeBytes / 1e9).toFixed(1)} GB of ${((blocks * bsize) / 1e9).toFixed(1)} GB free at ${path}`;
    if (freeBytes >= FREE_BYTES_WARN) return toOk(name, finding);
    const advice =
      "Make room, or set PROXY_USAGE_RETENTION_DAYS: requests are refused when the disk is full.";
    return freeBytes < FREE_BYTES_FAIL ? toFailure(name, finding, advice) : toWarning(name, finding, advice);
  });
}

/** Root may use a folder that is another's. */
function whose(path: string): string {
  const { uid } = statSync(path);
  return process.getuid === undefined || process.getuid() === uid ? "this user's" : `uid ${uid}'s`;
}

/** Windows has no such modes. */
function isOpenToOthers(mode: number): boolean {
  return process.platform !== "win32" && (mode & OTHERS_MODE) !== 0;
}

function toMode(mode: number): string {
  return (mode & 0o777).toString(8).padStart(3, "0");
}

/**
 * The finding for a data folder that is not this user's, and for files in it that are not its owner's, as commands of root
 * have left it: root notices nothing of either. Null when there is nothing to say.
 */
function findOwnerCheck(name: string, dataDir: string): Check | null {
  // Windows has no such owners.
  const uid = process.getuid?.() ?? null;
  const folder = statSync(dataDir);
  if (uid === null) return null;
  if (uid !== 0 && uid !== folder.uid) {
    const finding = `${dataDir} belongs to uid ${folder.uid}, and this user is uid ${uid}`;
    const advice = `Run as its owner (sudo -u '#${folder.uid}' …), or give it to this user: chown -R ${uid} ${dataDir}`;
    return toWarning(name, finding, advice);
  }
  // To any user but root, another user's file is a question of rights.
  if (uid !== 0) return null;
  const foreign = listFiles(dataDir)
    .map((path) => ({ path, uid: lstatSync(path).uid }))
    .find((file) => file.uid !== folder.uid);
  if (foreign === undefined) return null;
  const finding = `${foreign.path} belongs to uid ${foreign.uid}, and the folder ${dataDir} to uid ${folder.uid}`;
  // Root may use what is others': the server's user is then not known.
  return folder.uid === 0
    ? toWarning(name, finding, `Give all of it to the user that the server runs as: chown -R USER ${dataDir}`)
    : toFailure(
        name,
        finding,
        `Give it to the folder's owner: chown -R ${folder.uid}:${folder.gid} ${dataDir}`,
      );
}

function listFiles(dataDir: string): readonly string[] {
  const journals = [JOURNAL_NAME, SPOOL_NAME]
    .map((name) => join(dataDir, name))
    .filter((path) => existsSync(path) && statSync(path).isDirectory());
  return [dataDir, ...journals].flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
}
