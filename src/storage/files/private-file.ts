import {
  closeSync,
  fchownSync,
  fstatSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { systemCode } from "#kernel/system-code.ts";
import { PRIVATE_FILE_MODE, PRIVATE_FOLDER_MODE } from "./data-files.ts";

/** What systems answer that know no owners, or none of this number, and to a root that was denied the right. */
const REFUSALS = new Set(["EPERM", "EINVAL", "ENOSYS", "ENOTSUP", "EROFS"]);

/** What a file that must be new (`wx`, `wx+` to be read as well) or may be there (`w`) is opened for. */
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
