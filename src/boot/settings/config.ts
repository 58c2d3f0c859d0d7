import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { LogLevel } from "#kernel/log.ts";
import { SetupError } from "#kernel/errors.ts";
import { isLoopback } from "#kernel/host-name.ts";
import { findNearest } from "#kernel/nearest.ts";
import type { NoticeTarget } from "#notices/post.ts";
import { CATALOG_NAME } from "#storage/files/data-files.ts";
import type { Database, LedgerSync, PostgresDatabase, SqliteDatabase } from "#storage/engine.ts";
import type { Environment } from "./environment.ts";
import type { DatabaseUrl } from "./setting-values.ts";
import { SETTINGS, type Setting } from "./settings.ts";

/** The settings of an installation: parsed once, at start, and never changed. */
export interface Config {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** An origin (`https://models.example.org`), never with a path. */
  readonly publicUrl: string | null;
  /** Absolute. */
  readonly dataDir: string;
  readonly database: Database;
  /** 32 bytes; null: kept in `secret.key` in the data folder, and missing where the database is no file. */
  readonly secretKey: Uint8Array | null;
  /** Null: kept in `admin-password` in the data folder, and missing where the database is no file. */
  readonly adminPassword: string | null;
  readonly adminPasswordEnabled: boolean;
  /** Null: single sign-on is off. */
  readonly oidc: OidcConfig | null;
  /** Without a trailing slash; null: the relay is off. */
  readonly messagesBaseUrl: string | null;
  readonly maxEmbeddingBatch: number;
  readonly maxBodyBytes: number;
  readonly maxResponseBytes: number;
  readonly sessionTtlSeconds: number;
  /** Null keeps the request log for ever. */
  readonly usageRetentionDays: number | null;
  /** Days in which a response is found by its id; 0 keeps no ids. */
  readonly responsesDays: number;
  /** Lower-case host names without a port. */
  readonly allowedHosts: readonly string[];
  readonly ledgerSync: LedgerSync;
  readonly drainTimeoutSeconds: number;
  /** Null: no notices are sent. */
  readonly notices: NoticeTarget | null;
  /** A cost of an hour that is more than so many times the usual one is worth a notice. */
  readonly noticeSpendFactor: number;
  readonly apiKey: string | null;
  readonly logLevel: LogLevel;
  /** Names that other programs give their variables, and that are set. */
  readonly ignoredVariables: readonly string[];
}

export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | null;
  readonly scopes: string;
  readonly requiredGroup: string | null;
  readonly adminGroup: string | null;
  readonly groupsClaim: string;
}

/**
 * The environment as a frozen `Config`. Throws a `SetupError` that names the variable when one is malformed, missing for
 * another, or a `PROXY_*` that does not exist. An empty variable counts as unset. No message repeats a value.
 */
export function parseConfig(env: Environment): Config {
  refuseUnknown(env);
  const dataDir = resolve(read(env, SETTINGS.dataDir) ?? dataDirDefault(env));
  const config: Config = {
    host: need(env, SETTINGS.host),
    port: need(env, SETTINGS.port),
    publicUrl: read(env, SETTINGS.publicUrl),
    dataDir,
    database: parseDatabase(env, dataDir),
    secretKey: read(env, SETTINGS.secretKey),
    adminPassword: read(env, SETTINGS.adminPassword),
    adminPasswordEnabled: !need(env, SETTINGS.adminPasswordDisabled),
    oidc: parseOidc(env),
    messagesBaseUrl: read(env, SETTINGS.messagesBaseUrl),
    maxEmbeddingBatch: need(env, SETTINGS.maxEmbeddingBatch),
    maxBodyBytes: need(env, SETTINGS.maxBodyBytes),
    maxResponseBytes: need(env, SETTINGS.maxResponseBytes),
    sessionTtlSeconds: need(env, SETTINGS.sessionTtl),
    usageRetentionDays: read(env, SETTINGS.usageRetentionDays),
    responsesDays: need(env, SETTINGS.responsesDays),
    allowedHosts: read(env, SETTINGS.allowedHosts) ?? [],
    ledgerSync: need(env, SETTINGS.ledgerSync),
    drainTimeoutSeconds: need(env, SETTINGS.drainTimeout),
    notices: parseNotices(env),
    noticeSpendFactor: need(env, SETTINGS.noticeSpendFactor),
    apiKey: read(env, SETTINGS.apiKey),
    logLevel: need(env, SETTINGS.log),
    ignoredVariables: Object.freeze(FOREIGN_NAMES.filter((name) => isSet(env, name))),
  };
  if (config.oidc !== null && config.publicUrl === null && !isLoopback(config.host)) {
    throw new SetupError(
      "configuration",
      "PROXY_OIDC_ISSUER needs PROXY_PUBLIC_URL when PROXY_HOST is not a loopback address: the redirect URI never comes from a request.",
    );
  }
  if (config.ledgerSync === "database" && config.database.kind === "sqlite") {
    throw new SetupError(
      "configuration",
      "PROXY_LEDGER_SYNC=database needs PostgreSQL (PROXY_DATABASE_URL): with SQLite, request keeps each response until its event is on the disk.",
    );
  }
  return Object.freeze(config);
}

/** The settings of an installation whose data are files in its folder. */
export interface FileConfig extends Config {
  readonly database: SqliteDatabase;
}

export type FilePlace = Pick<FileConfig, "dataDir" | "database">;

export function isOnFiles(config: Config): config is FileConfig {
  return config.database.kind === "sqlite";
}

/** The settings of an installation whose data are in PostgreSQL. */
export interface PostgresConfig extends Config {
  readonly database: PostgresDatabase;
}

export function isOnPostgres(config: Config): config is PostgresConfig {
  return config.database.kind === "postgres";
}

/** As `parseConfig`; a flag precedes its variable and has to satisfy the same rule. */
export function configWith(
  env: Environment,
  flags: { readonly [variable: string]: string | undefined },
): Config {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  return parseConfig({ ...env, ...Object.fromEntries(given) });
}

function parseDatabase(env: Environment, dataDir: string): Database {
  const given: DatabaseUrl = read(env, SETTINGS.databaseUrl) ?? {
    kind: "sqlite",
    path: join(dataDir, CATALOG_NAME),
  };
  const schema = need(env, SETTINGS.databaseSchema);
  const graceMs = need(env, SETTINGS.databaseGrace);
  return Object.freeze(
    given.kind === "sqlite" ? { kind: "sqlite", path: resolve(given.path) } : { ...given, schema, graceMs },
  );
}

function parseOidc(env: Environment): OidcConfig | null {
  const issuer = read(env, SETTINGS.oidcIssuer);
  const clientId = read(env, SETTINGS.oidcClientId);
  if (issuer === null) return null;
  if (clientId === null) {
    throw new SetupError(
      "configuration",
      "PROXY_OIDC_ISSUER needs PROXY_OIDC_CLIENT_ID: set both, or neither.",
    );
  }
  return Object.freeze({
    issuer,
    clientId,
    clientSecret: read(env, SETTINGS.oidcClientSecret),
    scopes: need(env, SETTINGS.oidcScopes),
    requiredGroup: read(env, SETTINGS.oidcRequiredGroup),
    adminGroup: read(env, SETTINGS.oidcAdminGroup),
    groupsClaim: need(env, SETTINGS.oidcGroupsClaim),
  });
}

function parseNotices(env: Environment): NoticeTarget | null {
  const url = read(env, SETTINGS.noticeUrl);
  const secret = read(env, SETTINGS.noticeSecret);
  return url === null ? null : Object.freeze({ url, secret });
}

/** The value, or the default's, or null when there is neither. */
function read<Value>(env: Environment, setting: Setting<Value>): Value | null {
  const given = env[setting.name];
  const text = given === undefined || given === "" ? setting.fallback : given;
  if (text === null) return null;
  try {
    return setting.parse(text);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new SetupError("configuration", `${setting.name} must be ${cause.message}.`);
  }
}

/** For settings that have a default. */
function need<Value>(env: Environment, setting: Setting<Value>): Value {
  const value = read(env, setting);
  if (value === null) throw new Error(`${setting.name} has no default`);
  return value;
}

/** Variables that other programs commonly set for an outgoing proxy (decisions, amendments). */
export const FOREIGN_NAMES: readonly string[] = [
  "PROXY_USER",
  "PROXY_PASS",
  "PROXY_PASSWORD",
  "PROXY_SERVER",
  "PROXY_URL",
];

/** An empty variable counts as unset. */
function isSet(env: Environment, name: string): boolean {
  return env[name] !== undefined && env[name] !== "";
}

function refuseUnknown(env: Environment): void {
  const known = new Set<string>(Object.values(SETTINGS).map((setting) => setting.name));
  const unknown = Object.keys(env).find(
    (name) =>
      name.startsWith("PROXY_") && isSet(env, name) && !known.has(name) && !FOREIGN_NAMES.includes(name),
  );
  if (unknown === undefined) return;
  const near = findNearest(unknown, [...known]);
  throw new SetupError(
    "configuration",
    `${unknown} is not a setting${near === null ? "" : ` (did you mean ${near}?)`}: correct its name or unset it.`,
  );
}

/** XDG Base Directory Specification: a relative XDG_DATA_HOME is to be ignored. */
function dataDirDefault(env: Environment): string {
  const xdg = env["XDG_DATA_HOME"];
  if (xdg !== undefined && isAbsolute(xdg)) return join(xdg, "lockport");
  const home = env["HOME"];
  return join(home !== undefined && isAbsolute(home) ? home : findHome(), ".local", "share", "lockport");
}

/** A user without an entry in the system's list, as containers have them, has no home. */
function findHome(): string {
  try {
    return homedir();
  } catch (cause) {
    throw new SetupError(
      "configuration",
      "This user has no home folder: set PROXY_DATA_DIR to a folder for the data.",
      cause,
    );
  }
}

/**
 * For `backup` and `restore`, which know files. Throws a `SetupError` that names PostgreSQL's own command otherwise: its copy is one
 * moment of all tables, and what reaches the server is told to it by its own variables.
 */
export function requireOnFiles(config: Config, task: "backup" | "restore"): FileConfig {
  if (isOnFiles(config)) return config;
  const { database } = config;
  const schema = database.kind === "postgres" ? database.schema : "";
  const commands = {
    backup: `pg_dump --schema=${schema} --format=custom --file=lockport.dump`,
    restore: `psql -c 'DROP SCHEMA IF EXISTS ${schema} CASCADE' && pg_restore --dbname="$PGDATABASE" --single-transaction --exit-on-error lockport.dump`,
  };
  throw new SetupError(
    "configuration",
    `This installation is in PostgreSQL (PROXY_DATABASE_URL), where lockport ${task} has no files to work on. Set PGHOST, PGPORT, PGUSER, PGDATABASE and PGPASSWORD (or a service file) to what that URL says, and use: ${commands[task]}`,
  );
}
