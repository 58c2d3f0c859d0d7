/** Codes of the system for a missing permission, as opposed to a wrong setting. */
const RIGHTS_CODES = new Set(["EACCES", "EPERM", "EROFS"]);
const DISK_FULL_CODES = new Set(["ENOSPC", "EDQUOT", "SQLITE_FULL"]);

/** The code that the system, the runtime or SQLite gave with a failure, such as `ENOENT`; null when it has none. */
export function systemCode(cause: unknown): string | null {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : null;
}

/** The system's code of a failure, or of the failure that caused it. */
export function findCode(cause: unknown): string | null {
  if (!(cause instanceof Error)) return null;
  return systemCode(cause) ?? findCode(cause.cause);
}

/** Whether a code of the file system says that this user lacks a right. */
export function isRightsCode(code: string | null): boolean {
  return code !== null && RIGHTS_CODES.has(code);
}

/** Whether a failure, or its cause, is a full disk. */
export function isDiskFull(cause: unknown): boolean {
  return DISK_FULL_CODES.has(findCode(cause) ?? "");
}
