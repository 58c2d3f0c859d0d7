import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { systemCode } from "#kernel/system-code.ts";
import { PRIVATE_FILE_MODE, PRIVATE_FOLDER_MODE } from "./data-files.ts";

/** Codes of systems that know no owners, or none of this number, and of a root that was denied the right. */
const REFUSALS = new Set(["EPERM", "EINVAL", "ENOSYS", "ENOTSUP", "EROFS"]);

/** A file must be new (`wx`, `wx+` to be read as well) or may be there (`w`). */
export type MakingFlags = "w" | "wx" | "wx+";

/**
 * Opens a file that is its owner's alone (mode 0600), and returns its descriptor. Made by root it belongs to the owner of
 * its folder: a server that runs as that user could not read it otherwise. Throws what the file system does.
 */
export function openPrivateFile(path: string, flags: MakingFlags): number {
  const file = openSync(path, flags, PRIVATE_FILE_MODE);
  try {
    // By the descriptor: the owner of the folder may have put another file under this name meanwhile.
    keepOwner(path, fstatSync(file), (uid, gid) => fchownSync(file, uid, gid));
    return file;
  } catch (cause) {
    closeSync(file);
    throw cause;
  }
}

/** Makes an empty private file. Throws when there is one of that name. */
export function makePrivateFile(path: string): void {
  closeSync(openPrivateFile(path, "wx"));
}

/** Makes a folder that is its owner's alone (mode 0700). Its parent exists. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { mode: PRIVATE_FOLDER_MODE });
  keepOwner(path, lstatSync(path), (uid, gid) => lchownSync(path, uid, gid));
}

/**
 * Makes the file of a database unless it is there. SQLite would make it with the umask's mode; its -wal and -shm files inherit
 * the mode and the owner of the file itself.
 */
export function ensureDatabaseFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) {
    throw new SetupError("configuration", `The database ${path} is a folder: set the path of a file.`);
  }
  // SQLite opens a file that it may not write for reading only, and would say so at the first mutation.
  if (found !== undefined) return accessSync(path, constants.R_OK | constants.W_OK);
  try {
    // Exclusive, and never for a file that exists: closing any descriptor of it would drop the locks that other
    // connections of this process hold on it (sqlite.org/howtocorrupt.html, section 2.2).
    makePrivateFile(path);
  } catch (cause) {
    // Another process that starts at the same moment was first.
    if (systemCode(cause) !== "EEXIST") throw cause;
  }
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Changes the owner if it can: where the system refuses it, the file stays root's, which `doctor` tells. */
function keepOwner(path: string, made: Owner, change: (uid: number, gid: number) => void): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  if (made.uid === uid && made.gid === gid) return;
  try {
    change(uid, gid);
  } catch (cause) {
    if (!REFUSALS.has(systemCode(cause) ?? "")) throw cause;
  }
}

/**
 * Gives a file that lies where a server's own belongs another name beside it, `<path>.found-<number>`, and with it what
 * goes with it by these suffixes. Returns that name; null when there was no such file.
 */
export function putAside(path: string, suffixes: readonly string[] = [""]): string | null {
  if (!existsSync(path)) return null;
  let number = 1;
  while (existsSync(toFoundName(path, number))) number += 1;
  const found = toFoundName(path, number);
  for (const suffix of suffixes) {
    if (existsSync(`${path}${suffix}`)) renameSync(`${path}${suffix}`, `${found}${suffix}`);
  }
  return found;
}

function toFoundName(path: string, number: number): string {
  return `${path}.found-${number}`;
}
