import { accessSync, constants, statSync } from "node:fs";
import { SetupError } from "#kernel/errors.ts";
import { systemCode } from "#kernel/system-code.ts";
import { makePrivateFile } from "./private-file.ts";

/**
 * Makes the file unless it is there. SQLite would make it with the umask's mode; its -wal and -shm files inherit the mode
 * and the owner of the file itself.
 */
export function ensureDatabaseFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    // Exclusive, and never for a file that exists: closing any descriptor of it would drop the locks that other
    // connections of this process hold on it (sqlite.org/howtocorrupt.html, section 2.2).
    closeIfCreated(path);
    return;
  }
  if (found.isDirectory()) {
    throw new SetupError("configuration", `The database ${path} is a folder: set the path of a file.`);
  }
  // SQLite opens a file that it may not write for reading only, and would say so at the first mutation.
  accessSync(path, constants.R_OK | constants.W_OK);
}

function closeIfCreated(path: string): void {
  try {
    makePrivateFile(path);
  } catch (cause) {
    // Another process that starts at the same moment was first.
    if (systemCode(cause) !== "EEXIST") throw cause;
  }
}
