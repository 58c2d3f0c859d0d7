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

/** True when a code of the file system says that this user lacks a right. */
export function isRightsCode(code: string | null): boolean {
  return code !== null && RIGHTS_CODES.has(code);
}

/** True when a failure, or its cause, is a full disk. */
export function isDiskFull(cause: unknown): boolean {
  return DISK_FULL_CODES.has(findCode(cause) ?? "");
}

/** Why a provider gave no answer, as far as the runtime tells it. Never told to a caller: it says what stands behind this server. */
export const CONNECTION_FAILURES = [
  "refused",
  "name_not_found",
  "no_route",
  "tls",
  "connect_timeout",
  "read_timeout",
  "queue_timeout",
  "reset",
  "malformed",
] as const;
export type ConnectionFailure = (typeof CONNECTION_FAILURES)[number];

const BY_CODE: { readonly [code: string]: ConnectionFailure } = {
  ECONNREFUSED: "refused",
  ENOTFOUND: "name_not_found",
  ENODATA: "name_not_found",
  ESERVFAIL: "name_not_found",
  EAI_AGAIN: "name_not_found",
  EAI_NODATA: "name_not_found",
  EAI_NONAME: "name_not_found",
  EHOSTUNREACH: "no_route",
  EHOSTDOWN: "no_route",
  ENETUNREACH: "no_route",
  ENETDOWN: "no_route",
  ETIMEDOUT: "connect_timeout",
  ECONNRESET: "reset",
  EPIPE: "reset",
  InvalidContentLength: "malformed",
  InvalidHTTPResponse: "malformed",
  Malformed_HTTP_Response: "malformed",
};
/** Codes of OpenSSL and BoringSSL, and what an answer without TLS is to them. */
const TLS_CODE = /CERT|SSL|TLS|ISSUER|SIGNATURE|SELF_SIGNED|^EPROTO$/;

/** The reason that a code of the system or of the runtime stands for; undefined for a code that tells none. */
export function toConnectionFailure(code: string | null): ConnectionFailure | undefined {
  if (code === null) return undefined;
  return BY_CODE[code] ?? (TLS_CODE.test(code) ? "tls" : undefined);
}
