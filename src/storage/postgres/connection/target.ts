import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { findCertificates } from "#kernel/fields.ts";
import { SetupError } from "#kernel/errors.ts";
import type { DataPlace, PostgresDatabase } from "#storage/engine.ts";

/**
 * Where the data is: `url` is `postgres://user:password@host:port/database?sslmode=…&sslrootcert=…`, where `?host=/folder` is the
 * folder of a unix socket. It holds a password: it is never logged and in no error.
 */
export type PostgresTarget = Pick<PostgresDatabase, "url" | "schema">;

/** The address of a target in the driver's words. Every field but `path` is given: the driver would take one that is missing from the environment. */
export interface Address {
  readonly hostname: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly database: string;
  /** The folder of a unix socket; absent for TCP. */
  readonly path?: string;
  readonly tls: "disable" | Bun.SQL.TLSOptions;
}

type SslMode = "disable" | "require" | "verify-ca" | "verify-full";

const PORT = 5432;
const PARAMETERS = new Set(["sslmode", "sslrootcert", "host"]);
const ENCRYPTED: readonly string[] = ["require", "verify-ca", "verify-full"];

/**
 * Reads PROXY_DATABASE_URL. TCP off loopback needs TLS, since without it passwords of upstreams and keys' hashes can be read
 * and changed on the way. Throws a SetupError that never holds the URL or a part of it but the name of a parameter.
 */
export function toAddress({ url }: PostgresTarget): Address {
  const parsed = parseUrl(url);
  const names = [...parsed.searchParams.keys()];
  const unknown = names.find((name) => !PARAMETERS.has(name));
  if (unknown !== undefined) {
    throw invalid(
      `has the parameter ${unknown}, which is not known: use sslmode, sslrootcert and host alone`,
    );
  }
  // libpq takes the last one: pg_dump would go another way than the server.
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw invalid(`has the parameter ${repeated} twice`);
  const hostname = decode(parsed.hostname).replace(/^\[(.*)\]$/, "$1");
  const named = parsed.searchParams.get("host") ?? hostname;
  if (named.includes("\0")) throw isNoUrl();
  if (named.includes(",")) throw hasManyHosts();
  const isSocket = named.startsWith("/");
  const username = decode(parsed.username);
  if (username === "") throw invalid("names no user: write postgres://user:password@host/database");
  const host = named === "" ? "localhost" : named;
  const sslmode = toSslMode(parsed.searchParams.get("sslmode"), isSocket || isLoopback(host));
  return {
    hostname: isSocket ? "localhost" : host,
    port: parsed.port === "" ? PORT : Number(parsed.port),
    username,
    password: decode(parsed.password),
    database: decode(parsed.pathname.slice(1)) || username,
    ...(isSocket ? { path: named } : {}),
    tls: sslmode === "disable" ? "disable" : toTls(sslmode, host, parsed.searchParams.get("sslrootcert")),
  };
}

function parseUrl(url: string): URL {
  // An authority with several hosts is no URL at all (RFC 3986, section 3.2), though libpq takes it.
  if (/^postgres(ql)?:\/\/[^/?]*,/.test(url)) throw hasManyHosts();
  // libpq takes an empty host behind the credentials, which names a socket's folder by a parameter; a URL may not have one.
  const parsed = URL.parse(url.replace(/^([a-z]+:\/\/[^/?#]*@)(?=[:/?#]|$)/, "$1localhost"));
  if (parsed === null || !/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw isNoUrl();
  }
  return parsed;
}

function decode(part: string): string {
  try {
    const text = decodeURIComponent(part);
    // PostgreSQL ends every text at one (protocol, message formats).
    if (!text.includes("\0")) return text;
  } catch {
    // Malformed escapes: below.
  }
  throw isNoUrl();
}

function toSslMode(given: string | null, isLocal: boolean): SslMode {
  switch (given) {
    case "require":
    case "verify-ca":
    case "verify-full":
      return given;
    case null:
    case "disable":
    case "allow":
    case "prefer":
      if (isLocal) return "disable";
      throw invalid(
        "leads off this machine without TLS: add ?sslmode=verify-full, and &sslrootcert=FILE where its CA is your own",
      );
    default:
      throw invalid(`has an unknown sslmode: use ${ENCRYPTED.join(", ")}, or disable on loopback`);
  }
}

function toTls(sslmode: SslMode, host: string, rootFile: string | null): Bun.SQL.TLSOptions {
  // A mode below verification would accept any certificate, with a CA at hand or without.
  const isVerified = sslmode !== "require" || rootFile !== null;
  return {
    // Set in any case: NODE_TLS_REJECT_UNAUTHORIZED=0 would turn the check off.
    rejectUnauthorized: isVerified,
    ...(isIP(host) === 0 ? { serverName: host } : {}),
    ...(rootFile === null || rootFile === "system" ? {} : { ca: readRoot(rootFile) }),
    ...(sslmode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
  };
}

function readRoot(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new SetupError(
      "configuration",
      "The file that sslrootcert names in PROXY_DATABASE_URL cannot be read.",
      cause,
    );
  }
  const certificates = findCertificates(text);
  if (certificates !== null) return certificates;
  throw invalid("names an sslrootcert that is not a file of one or more PEM certificates");
}

/** True for a host that is this machine without asking a resolver. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function hasManyHosts(): SetupError {
  return invalid(
    "names several hosts, which is not supported: name one that leads to the primary, such as a proxy or a virtual address",
  );
}

function isNoUrl(): SetupError {
  return invalid("is no URL of PostgreSQL: write postgres://user:password@host:5432/database");
}

function invalid(what: string): SetupError {
  return new SetupError("configuration", `PROXY_DATABASE_URL ${what}.`);
}

/** The database of an installation. The settings have picked this engine by it. */
export function toTarget({ database }: Pick<DataPlace, "database">): PostgresDatabase {
  if (database.kind !== "postgres") throw new TypeError(`PostgreSQL was asked for ${database.kind}`);
  return database;
}
