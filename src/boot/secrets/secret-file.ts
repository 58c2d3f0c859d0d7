import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import { systemCode } from "#kernel/system-code.ts";
import { openPrivateFile } from "#storage/files/private-file.ts";
import { syncFolderNow } from "#storage/files/sync-folder.ts";
import { toFileError } from "#boot/folder/permission-problem.ts";

const TEMPORARY_NAME_BYTES = 6;
/** Far more than a key or a password that a person chose. */
const SECRET_FILE_BYTES_MAX = 64_000;

/** The file's text without its line end; null when there is no such file. Throws a `SetupError` when it is no such text. */
export function readSecret(path: string): string | null {
  let bytes: Buffer;
  try {
    bytes = readStart(path, SECRET_FILE_BYTES_MAX + 1);
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") return null;
    throw toFileError(cause, {
      path,
      use: "read",
      task: `The file ${path} cannot be read`,
      kind: "configuration",
    });
  }
  if (bytes.length <= SECRET_FILE_BYTES_MAX) return bytes.toString("utf8").replace(/\r?\n$/, "");
  throw new SetupError(
    "configuration",
    `The file ${path} holds more than ${SECRET_FILE_BYTES_MAX} bytes, which is no secret: put it back from your backup.`,
  );
}

/**
 * Writes the secret unless there is one, and returns what the file then holds, which is another process's secret when two
 * start at once: a link, unlike a rename, never replaces a file.
 */
export function createSecret(path: string, secret: string, ids: Ids): string {
  const place = (temporary: string) => {
    try {
      linkSync(temporary, path);
    } catch (cause) {
      if (systemCode(cause) !== "EEXIST") throw cause;
    } finally {
      unlinkSync(temporary);
    }
  };
  writeNew(path, secret, { ids, place });
  return readSecret(path) ?? secret;
}

/** Writes the secret in place of what the file may hold: a reader meets the one or the other, whole. */
export function replaceSecret(path: string, secret: string, ids: Ids): void {
  writeNew(path, secret, { ids, place: renameSync });
}

/** The first bytes of a file, which may be one without an end. */
function readStart(path: string, bytesMax: number): Buffer {
  const bytes = Buffer.alloc(bytesMax);
  const file = openSync(path, "r");
  try {
    let sizeBytes = 0;
    for (let read = -1; read !== 0 && sizeBytes < bytesMax; sizeBytes += read)
      read = readSync(file, bytes, sizeBytes, bytesMax - sizeBytes, null);
    return bytes.subarray(0, sizeBytes);
  } finally {
    closeSync(file);
  }
}

interface Placing {
  readonly ids: Ids;
  /** Puts the finished file where it belongs. */
  readonly place: (temporary: string, path: string) => void;
}

/** On disk, and private, before anything can depend on it. */
function writeNew(path: string, secret: string, { ids, place }: Placing): void {
  const temporary = `${path}.${Buffer.from(ids.randomBytes(TEMPORARY_NAME_BYTES)).toString("hex")}`;
  try {
    const file = openPrivateFile(temporary, "wx");
    try {
      try {
        writeFileSync(file, `${secret}\n`);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      place(temporary, path);
    } catch (cause) {
      rmSync(temporary, { force: true });
      throw cause;
    }
    syncFolderNow(dirname(path));
  } catch (cause) {
    throw toFileError(cause, {
      path,
      use: "change",
      task: `The file ${path} cannot be made`,
      kind: "configuration",
    });
  }
}
