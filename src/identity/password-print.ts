import { equalsConstantTime, type SecretBox } from "#kernel/crypto.ts";

/** Null when sign-in by password is switched off. One that may change while the process runs is asked for each time. */
export type PasswordSource = string | (() => string) | null;

/** Tells which password made a session, so that the session ends when the password is another one. */
export interface PasswordPrint {
  /** A keyed hash: it tells nothing without the installation's secret key. */
  of(password: string): string;
  /** Whether this is the print of the password in force; reading its file takes 8 µs. */
  isInForce(print: string): boolean;
}

/** 132 bits of base64url. */
const PRINT_LENGTH = 22;

export function createPasswordPrint(
  password: PasswordSource,
  secrets: Pick<SecretBox, "hashToken">,
): PasswordPrint {
  const of = (text: string): string =>
    Buffer.from(secrets.hashToken(`admin password ${text}`), "hex")
      .toString("base64url")
      .slice(0, PRINT_LENGTH);
  return {
    of,
    isInForce(print) {
      const current = readPassword(password);
      return current !== null && equalsConstantTime(print, of(current));
    },
  };
}

/** Null also when the file is gone or holds no password: then nothing says that it is the same one. */
function readPassword(password: PasswordSource): string | null {
  try {
    return typeof password === "function" ? password() : password;
  } catch {
    return null;
  }
}
