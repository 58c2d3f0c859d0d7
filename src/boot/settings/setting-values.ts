import { parseUpstreamUrl, toBaseUrl } from "#catalog/upstream-url.ts";
import { SECRET_KEY_BYTES } from "#kernel/crypto.ts";
import { LOG_LEVELS, type LogLevel } from "#kernel/log.ts";
import { isLoopback } from "#kernel/host-name.ts";
import { LEDGER_SYNCS, type LedgerSync } from "#storage/engine.ts";

/*
 * Text of a variable → value. Each throws a RangeError whose message completes "<name> must be …".
 * None repeats what was given: it may be a secret put into the wrong variable.
 */

export const ADMIN_PASSWORD_LENGTH_MIN = 12;
/** limits.h of Linux: PATH_MAX without its NUL, and NAME_MAX. */
const PATH_BYTES_MAX = 4095;
const NAME_BYTES_MAX = 255;
const PORT_MAX = 65_535;
const DAYS_MAX = 3_650;
const SESSION_SECONDS_MAX = DAYS_MAX * 86_400;
/** A timer above 24.8 days (2³¹ ms) overflows and is due at once. */
export const DRAIN_SECONDS_MAX = 86_400;
const GRACE_SECONDS_MAX = 45;
const SECONDS_PER_UNIT: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3_600, d: 86_400 };

export function toText(text: string): string {
  if (text.trim() === "") throw new RangeError("a text that is not blank");
  return text;
}

export function toPath(text: string): string {
  if (text.trim() === "" || text.includes("\0")) throw new RangeError("a path");
  refuseTilde(text);
  refuseTooLong(text);
  return text;
}

export function toHost(text: string): string {
  if (!isHostName(text)) throw new RangeError("an IP address or a host name, without a scheme and a port");
  return text.startsWith("[") ? text.slice(1, -1) : text;
}

export function toPort(text: string): number {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : -1;
  if (port < 0 || port > PORT_MAX) throw new RangeError(`a port from 0 to ${PORT_MAX}`);
  return port;
}

/** RFC 6454: scheme, host and port; a single slash at the end is forgiven. */
export function toOrigin(text: string): string {
  const url = parseHttpUrl(text);
  if (url === null || url.pathname !== "/" || hasMoreThanPath(url)) {
    throw new RangeError("an origin such as https://models.example.org, without a path");
  }
  return url.origin;
}

/** OpenID Connect Discovery 1.0, section 2: https; http is accepted on loopback only. */
export function toIssuer(text: string): string {
  const url = parseHttpUrl(text);
  if (url === null || hasMoreThanPath(url) || (url.protocol === "http:" && !isLoopback(url.hostname))) {
    throw new RangeError("an https URL (http on loopback only) without user, query and fragment");
  }
  return text;
}

/** By the rule of a provider's base URL: a path is appended to it. */
export function toMessagesBaseUrl(text: string): string {
  const url = toBaseUrl(text);
  if (url === null) {
    throw new RangeError(
      "a full http or https URL without user, query, fragment and blanks, and no cloud metadata address",
    );
  }
  return url;
}

/** By the rule of a provider's base URL, but for the query: some webhooks keep their token there. */
export function toNoticeUrl(text: string): string {
  const url = parseUpstreamUrl(text, { allowQuery: true });
  if (url === null) {
    throw new RangeError(
      "a full http or https URL without user, fragment and blanks, and no cloud metadata address",
    );
  }
  return url;
}

const SPEND_FACTOR_MAX = 1_000;

/** Exact to three decimals. */
export function toSpendFactor(text: string): number {
  const factor = /^[0-9]{1,4}(\.[0-9]{1,3})?$/.test(text) ? Number(text) : 0;
  if (factor < 1 || factor > SPEND_FACTOR_MAX)
    throw new RangeError(`a number from 1 to ${SPEND_FACTOR_MAX}, with up to three decimals`);
  return factor;
}

/** The catalog's file, or the URL of a PostgreSQL database as it was given. */
export type DatabaseUrl =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };

export function toDatabaseUrl(text: string): DatabaseUrl {
  if (!/^postgres(ql)?:/.test(text)) return { kind: "sqlite", path: toSqlitePath(text) };
  // Its parts are looked at where it is used, by the rules of libpq. A password with # in it would be cut off there.
  if (!/^postgres(ql)?:\/\/[^#\s]+$/.test(text)) {
    throw new RangeError(
      "postgres://USER:PASSWORD@HOST:PORT/DATABASE, with characters such as @, / and # of the password escaped (%40)",
    );
  }
  return { kind: "postgres", url: text };
}

/** As PostgreSQL keeps a name that is not quoted; what begins with pg_ is its own. */
export function toSchemaName(text: string): string {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(text) || text.startsWith("pg_")) {
    throw new RangeError(
      "a plain name: small letters, digits and underscores, at most 63, without pg_ in front",
    );
  }
  return text;
}

/** Milliseconds. A change waits as long for a replica that is silent, and proxies give an answer about a minute. */
export function toGraceMs(text: string): number {
  const seconds = text === "0" ? 0 : parseSeconds(text);
  if (seconds === null || seconds > GRACE_SECONDS_MAX) {
    throw new RangeError(`0, or a duration of at most ${GRACE_SECONDS_MAX}s, such as 30s`);
  }
  return seconds * 1000;
}

function toSqlitePath(text: string): string {
  const path = text.startsWith("sqlite:") ? text.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "") : "";
  // What follows two slashes is a host in a URL: `sqlite://catalog.db` would be a file at the root of the file system.
  if (path === "" || path.includes("\0") || path.includes("?") || /^sqlite:\/\/[^/]/.test(text))
    throw new RangeError("sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE");
  refuseTilde(path);
  refuseTooLong(path);
  return path;
}

/** Shells replace it, and not behind `--data-dir=` or in a file of settings: a folder of that name would be made. */
function refuseTilde(path: string): void {
  if (/^~(?:\/|$)/.test(path))
    throw new RangeError("a path that is written out, without ~ for the home folder");
}

/** Beyond it no system takes a path, and Linux tells so in a different way for each use. */
function refuseTooLong(path: string): void {
  const isTooLong = (text: string, bytesMax: number) => Buffer.byteLength(text) > bytesMax;
  if (!isTooLong(path, PATH_BYTES_MAX) && !path.split("/").some((name) => isTooLong(name, NAME_BYTES_MAX)))
    return;
  throw new RangeError(
    `a path of at most ${PATH_BYTES_MAX} bytes, each name in it of at most ${NAME_BYTES_MAX}`,
  );
}

export function toSecretKey(text: string): Uint8Array {
  const bytes = decodeSecretKey(text);
  if (bytes === null)
    throw new RangeError(`${SECRET_KEY_BYTES} bytes in base64 (for example from: openssl rand -base64 32)`);
  return bytes;
}

/** Null unless `text` is the base64 of exactly 32 bytes. */
export function decodeSecretKey(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, "base64");
  // Buffer skips what is not base64; only a text that encodes back to itself was one.
  const same = bytes.toString("base64").replace(/=+$/, "") === text.replace(/=+$/, "");
  return same && bytes.byteLength === SECRET_KEY_BYTES ? bytes : null;
}

export function toAdminPassword(text: string): string {
  if (Array.from(text).length < ADMIN_PASSWORD_LENGTH_MIN) {
    throw new RangeError(`at least ${ADMIN_PASSWORD_LENGTH_MIN} characters long`);
  }
  return text;
}

export function toBoolean(text: string): boolean {
  if (text !== "true" && text !== "false") throw new RangeError("true or false");
  return text === "true";
}

export function toScopes(text: string): string {
  const scopes = text.split(" ").filter((scope) => scope !== "");
  if (!scopes.includes("openid")) throw new RangeError("space-separated scopes, one of which is openid");
  return scopes.join(" ");
}

/** A whole number above zero. */
export function toCount(text: string): number {
  const count = /^[0-9]{1,15}$/.test(text) ? Number(text) : 0;
  if (count < 1) throw new RangeError("a whole number above zero");
  return count;
}

export function toResponseDays(text: string): number {
  const days = /^[0-9]{1,4}$/.test(text) ? Number(text) : DAYS_MAX + 1;
  if (days > DAYS_MAX) throw new RangeError(`a whole number of days from 0 to ${DAYS_MAX}`);
  return days;
}

export function toDrainSeconds(text: string): number {
  const seconds = parseSeconds(text);
  if (seconds === null || seconds > DRAIN_SECONDS_MAX) {
    throw new RangeError("a duration of at most 24h, such as 30s or 15m");
  }
  return seconds;
}

/** Compared with the clock at each use, and never a timer. */
export function toSessionSeconds(text: string): number {
  const seconds = parseSeconds(text) ?? 0;
  if (seconds === 0 || seconds > SESSION_SECONDS_MAX) {
    throw new RangeError("a duration above zero and at most 3650d, such as 90s, 15m, 12h or 7d");
  }
  return seconds;
}

export function toHostNames(text: string): readonly string[] {
  const names = text
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "");
  if (names.length === 0 || !names.every(isHostName)) {
    throw new RangeError("comma-separated host names, without schemes and ports");
  }
  return names;
}

export function toLedgerSync(text: string): LedgerSync {
  const sync = LEDGER_SYNCS.find((candidate) => candidate === text);
  if (sync === undefined) throw new RangeError("interval, request or database");
  return sync;
}

export function toLogLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((candidate) => candidate === text);
  if (level === undefined) throw new RangeError("debug, info, warn or error");
  return level;
}

function parseSeconds(text: string): number | null {
  const [, amount, unit] = /^([0-9]{1,9})([smhd])$/.exec(text) ?? [];
  const unitSeconds = SECONDS_PER_UNIT[unit ?? ""];
  return unitSeconds === undefined ? null : Number(amount) * unitSeconds;
}

function isHostName(text: string): boolean {
  const bracketed = text.includes(":") && !text.startsWith("[") ? `[${text}]` : text;
  if (!/^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][A-Za-z0-9._-]*)$/.test(bracketed)) return false;
  return URL.canParse(`http://${bracketed}/`);
}

function parseHttpUrl(text: string): URL | null {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "http:" || url.protocol === "https:") ? url : null;
}

/** An empty query or fragment leaves its sign in the URL, and what is appended would stand behind it. */
function hasMoreThanPath({ username, password, href }: URL): boolean {
  return username !== "" || password !== "" || href.includes("?") || href.includes("#");
}
