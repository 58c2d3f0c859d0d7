/** What the system answers when the user, not the setting, is what stands in the way. */
const RIGHTS_CODES = new Set(["EACCES", "EPERM", "EROFS"]);
const DISK_FULL_CODES = new Set(["ENOSPC", "EDQUOT", "SQLITE_FULL"]);

/** The code that the system, the runtime or SQLite gave with a failure, such as `ENOENT`; null when it has none. */
export function systemCode(cause: unknown): string | null {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : null;
}

/** The same of a failure or of what caused it. */
export function findCode(cause: unknown): string | null {
  if (!(cause instanceof Error)) return null;
  return systemCode(cause) ?? findCode(cause.cause);
}

/** Whether a code of the file system says that this user lacks a right. */
export function isRightsCode(code: string | null): boolean {
  return code !== null && RIGHTS_CODES.has(code);
}

/** Whether it was for want of room, here or in what caused it. */
export function isDiskFull(cause: unknown): boolean {
  return DISK_FULL_CODES.has(findCode(cause) ?? "");
}
