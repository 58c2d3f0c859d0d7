import {
  ADMIN_PASSWORD_LENGTH_MIN,
  toAdminPassword,
  toBoolean,
  toCount,
  toDatabaseUrl,
  toDrainSeconds,
  toGraceMs,
  toHost,
  toHostNames,
  toIssuer,
  toLedgerSync,
  toLogLevel,
  toMessagesBaseUrl,
  toNoticeUrl,
  toOrigin,
  toPath,
  toPort,
  toResponseDays,
  toSchemaName,
  toScopes,
  toSecretKey,
  toSessionSeconds,
  toSpendFactor,
  toText,
} from "./setting-values.ts";

/** One row of the table of settings; `docs/configuration.md` is made from these. */
export interface Setting<Value> {
  readonly name: `PROXY_${string}`;
  /** The default as an operator would write it; null: unset means "none", or what the sentence says. */
  readonly fallback: string | null;
  readonly unit: string;
  readonly sentence: string;
  /** Throws a `RangeError` whose message completes "<name> must be …", and never repeats the value. */
  readonly parse: (text: string) => Value;
}

/** Every variable there is. One that is not here is refused by name. */
export const SETTINGS = {
  host: setting("PROXY_HOST", "127.0.0.1", "address", "Address or host name to listen on.", toHost),
  port: setting("PROXY_PORT", "4000", "port", "Port to listen on; 0 takes a free one.", toPort),
  publicUrl: setting(
    "PROXY_PUBLIC_URL",
    null,
    "origin",
    "The origin under which browsers reach this server: redirect URI of single sign-on, `Origin` check, `Secure` cookie.",
    toOrigin,
  ),
  dataDir: setting(
    "PROXY_DATA_DIR",
    null,
    "path",
    "Folder of the databases, the secret key, the password file and the usage journal; made with mode 0700. Unset: `$XDG_DATA_HOME/lockport`, else `~/.local/share/lockport`.",
    toPath,
  ),
  databaseUrl: setting(
    "PROXY_DATABASE_URL",
    null,
    "sqlite:PATH or postgres://…",
    "Where the catalog database lies, or the PostgreSQL database that any number of replicas share. Unset: `catalog.db` in the data folder.",
    toDatabaseUrl,
  ),
  databaseSchema: setting(
    "PROXY_DATABASE_SCHEMA",
    "lockport",
    "name",
    "The schema of the PostgreSQL database that everything lies in; made when it is missing.",
    toSchemaName,
  ),
  databaseGrace: setting(
    "PROXY_DATABASE_GRACE",
    "30s",
    "duration",
    "How long requests are served while PostgreSQL is away, and how long a change waits for a replica that is silent; at most 45s. 0 asks PostgreSQL at each request.",
    toGraceMs,
  ),
  secretKey: setting(
    "PROXY_SECRET_KEY",
    null,
    "32 bytes, base64",
    "Secret from which the keys for hashing, sealing and signing are derived. Unset: generated to `secret.key` (mode 0600) at first start; with PostgreSQL it has to be set.",
    toSecretKey,
  ),
  adminPassword: setting(
    "PROXY_ADMIN_PASSWORD",
    null,
    `at least ${ADMIN_PASSWORD_LENGTH_MIN} characters`,
    "Password of the principal `admin`. Unset: generated to `admin-password` (mode 0600) at first start; with PostgreSQL it has to be set, or `PROXY_ADMIN_PASSWORD_DISABLED`.",
    toAdminPassword,
  ),
  adminPasswordDisabled: setting(
    "PROXY_ADMIN_PASSWORD_DISABLED",
    "false",
    "true or false",
    "Turns password sign-in off.",
    toBoolean,
  ),
  oidcIssuer: setting(
    "PROXY_OIDC_ISSUER",
    null,
    "URL",
    "Turns single sign-on on: the issuer of an OpenID provider (https, or http on loopback).",
    toIssuer,
  ),
  oidcClientId: setting("PROXY_OIDC_CLIENT_ID", null, "text", "Client id at the OpenID provider.", toText),
  oidcClientSecret: setting(
    "PROXY_OIDC_CLIENT_SECRET",
    null,
    "text",
    "Client secret at the OpenID provider; unset for a public client.",
    toText,
  ),
  oidcScopes: setting(
    "PROXY_OIDC_SCOPES",
    "openid profile email",
    "space-separated",
    "Scopes asked of the OpenID provider; `openid` is one of them.",
    toScopes,
  ),
  oidcRequiredGroup: setting(
    "PROXY_OIDC_REQUIRED_GROUP",
    null,
    "group",
    "Only members of this group may sign in. Unset: all users of the OpenID provider.",
    toText,
  ),
  oidcAdminGroup: setting(
    "PROXY_OIDC_ADMIN_GROUP",
    null,
    "group",
    "Members of this group are admins; the role follows at every sign-in. Unset: new people are members.",
    toText,
  ),
  oidcGroupsClaim: setting(
    "PROXY_OIDC_GROUPS_CLAIM",
    "groups",
    "claim",
    "The claim that lists the groups: an array, or a space- or comma-separated text.",
    toText,
  ),
  messagesBaseUrl: setting(
    "PROXY_MESSAGES_BASE_URL",
    null,
    "URL",
    "Base URL of the messages API that the transparent relay reaches. Unset: the relay is off.",
    toMessagesBaseUrl,
  ),
  maxEmbeddingBatch: setting(
    "PROXY_MAX_EMBEDDING_BATCH",
    "2048",
    "items",
    "Longest `input` array of an embeddings request.",
    toCount,
  ),
  maxBodyBytes: setting(
    "PROXY_MAX_BODY_BYTES",
    "67108864",
    "bytes",
    "Largest request body; a larger one is 413 `request_too_large`. Those over 512 KiB share 128 MiB of memory, or one such body if that is more.",
    toCount,
  ),
  maxResponseBytes: setting(
    "PROXY_MAX_RESPONSE_BYTES",
    "67108864",
    "bytes",
    "Largest unary response body of a provider; a larger one is 502 naming `response_too_large`.",
    toCount,
  ),
  sessionTtl: setting(
    "PROXY_SESSION_TTL",
    "7d",
    "duration",
    "How long a browser session lives.",
    toSessionSeconds,
  ),
  usageRetentionDays: setting(
    "PROXY_USAGE_RETENTION_DAYS",
    null,
    "days",
    "Request-log rows older than this are removed; the totals stay. Unset: they are kept for ever.",
    toCount,
  ),
  responsesDays: setting(
    "PROXY_RESPONSES_DAYS",
    "30",
    "days",
    "How long callers may ask for a response by its id (`GET /v1/responses/{id}`), of which a keyed hash is kept; providers keep its content. 0 keeps none, and answers in the background are not accounted for.",
    toResponseDays,
  ),
  allowedHosts: setting(
    "PROXY_ALLOWED_HOSTS",
    null,
    "comma-separated host names",
    "Further host names under which this server may be used (guard against DNS rebinding): by browsers, and on loopback by every client.",
    toHostNames,
  ),
  ledgerSync: setting(
    "PROXY_LEDGER_SYNC",
    "interval",
    "interval, request or database",
    "When a usage event is kept for good: the journal is synced to disk about every 50 ms, or before each response ends, or each response ends when its event is committed in PostgreSQL.",
    toLedgerSync,
  ),
  drainTimeout: setting(
    "PROXY_DRAIN_TIMEOUT",
    "30s",
    "duration",
    "How long running requests may finish after SIGTERM; at most 24h.",
    toDrainSeconds,
  ),
  noticeUrl: setting(
    "PROXY_NOTICE_URL",
    null,
    "URL",
    "Webhook that is told of limits, keys, prices and providers that need a look. Unset: nothing is sent.",
    toNoticeUrl,
  ),
  noticeSecret: setting(
    "PROXY_NOTICE_SECRET",
    null,
    "text",
    "Secret by which notices are signed (`x-proxy-signature`). Unset: they are not signed.",
    toText,
  ),
  noticeSpendFactor: setting(
    "PROXY_NOTICE_SPEND_FACTOR",
    "5",
    "number",
    "A person, key or tag that costs more than so many times its median of the same hour in the last four weeks, and at least 1, is a notice (`spend.unusual`); from 1 to 1000, with up to three decimals.",
    toSpendFactor,
  ),
  apiKey: setting(
    "PROXY_API_KEY",
    null,
    "text",
    "Former name of `LOCKPORT_API_KEY`, which precedes it. A server does not use it.",
    toText,
  ),
  log: setting(
    "PROXY_LOG",
    "info",
    "debug, info, warn or error",
    "Least level of the log lines on stderr.",
    toLogLevel,
  ),
} as const;

function setting<Value>(
  name: Setting<Value>["name"],
  fallback: string | null,
  unit: string,
  sentence: string,
  parse: (text: string) => Value,
): Setting<Value> {
  return { name, fallback, unit, sentence, parse };
}
