import { fsyncSync, readFileSync, closeSync, writeSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import { systemCode } from "#kernel/system-code.ts";
import type { WatchedFile } from "#storage/files/file-watch.ts";
import { SPOOL_NAME } from "#storage/files/data-files.ts";
import { openPrivateFile, putAside } from "#storage/files/private-file.ts";
import { syncFolderNow } from "#storage/files/sync-folder.ts";
import { ensureJournalFolder, findSegments } from "#storage/journal/segments.ts";

/** In the folder of the segments: they are what it is the name of, and both are lost or copied together. */
const ID_NAME = "spool-id";
const ID_BYTES = 16;
const ID_PATTERN = /^[0-9a-f]{32}\n?$/;

/** The folder of the segments in a data folder; it may be missing. */
export function toSpoolFolder(dataDir: string): string {
  return join(dataDir, SPOOL_NAME);
}

/**
 * The name of the spool in a data folder, made at its first start: 128 random bits. Throws SetupError for a file that holds
 * something else, for segments without it, and what the file system does.
 */
export function openSpoolFolder(dataDir: string, ids: Pick<Ids, "randomBytes">): string {
  const folder = toSpoolFolder(dataDir);
  ensureJournalFolder(folder);
  const path = join(folder, ID_NAME);
  const id = readSpoolId(path);
  if (id !== null) return id;
  if (findSegments(folder).length > 0) {
    throw new SetupError(
      "configuration",
      `The folder ${folder} holds segments and has lost its ${ID_NAME}: what of them is in the database already would be counted a second time. Put the file back from a copy, or move the segments away, which loses what they alone hold.`,
    );
  }
  return makeSpoolId(folder, path, ids);
}

/** The name of the spool in a data folder; null when no server on PostgreSQL has run from it. */
export function findSpoolId(dataDir: string): string | null {
  return readSpoolId(join(toSpoolFolder(dataDir), ID_NAME));
}

/** What a server looks after: a name that is lost with its file would be replaced by another at the next start. */
export function watchSpoolId(dataDir: string, id: string): WatchedFile {
  const folder = toSpoolFolder(dataDir);
  const path = join(folder, ID_NAME);
  return {
    name: join(SPOOL_NAME, ID_NAME),
    isInPlace: () => readText(path)?.trimEnd() === id,
    restore() {
      ensureJournalFolder(folder);
      putAside(path);
      writeSpoolId(folder, path, id);
    },
  };
}

function readSpoolId(path: string): string | null {
  const text = readText(path);
  if (text === null) return null;
  if (ID_PATTERN.test(text)) return text.trimEnd();
  throw new SetupError(
    "configuration",
    `The file ${path} is damaged: put it back from a copy. Without one, remove it and the segments beside it, which loses what they alone hold.`,
  );
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "latin1");
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") return null;
    throw cause;
  }
}

/** Durable before a segment is written: segments under another name than theirs would be counted a second time. */
function makeSpoolId(folder: string, path: string, ids: Pick<Ids, "randomBytes">): string {
  const id = ids.randomBytes(ID_BYTES).toHex();
  writeSpoolId(folder, path, id);
  return id;
}

function writeSpoolId(folder: string, path: string, id: string): void {
  const file = openPrivateFile(path, "wx");
  try {
    writeSync(file, `${id}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  syncFolderNow(folder);
}
