import { accessSync, constants, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { SetupError } from "#kernel/errors.ts";

const PRIVATE_FOLDER_MODE = 0o700;
/** What the system answers when the user, not the setting, is what stands in the way. */
const PERMISSION_CODES = new Set(["EACCES", "EPERM", "EROFS"]);

/** Makes the data folder (mode 0700) unless it exists, and throws a `SetupError` when it cannot be written to. */
export function prepareDataDir(paths: { readonly dataDir: string; readonly databasePath: string }): void {
  makeFolder(paths.dataDir, "PROXY_DATA_DIR");
  makeFolder(dirname(paths.databasePath), "PROXY_DATABASE_URL");
}

function makeFolder(path: string, variable: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER_MODE });
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw toSetupError(
      cause,
      `The folder ${path} cannot be written to: give this user access to it, or set ${variable} to another one.`,
    );
  }
}

/** A failure of the file system as a `SetupError` with this sentence, its system code and the exit code that fits. */
export function toSetupError(cause: unknown, sentence: string): SetupError {
  const code = systemCode(cause);
  const kind = code !== null && PERMISSION_CODES.has(code) ? "permission" : "configuration";
  return new SetupError(kind, code === null ? sentence : `${sentence} (${code})`, cause);
}

export function systemCode(cause: unknown): string | null {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : null;
}
