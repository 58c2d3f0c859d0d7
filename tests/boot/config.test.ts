import { describe, expect, test } from "bun:test";
import { parseConfig } from "#boot/settings/config.ts";
import type { Environment } from "#boot/settings/environment.ts";
import { DRAIN_SECONDS_MAX } from "#boot/settings/setting-values.ts";
import { SETTINGS } from "#boot/settings/settings.ts";
import { SetupError } from "#kernel/errors.ts";

const HOME = { HOME: "/home/someone" };

function refusal(env: Environment): string {
  try {
    parseConfig({ ...HOME, ...env });
  } catch (error) {
    if (error instanceof SetupError) return `${error.kind}: ${error.message}`;
    throw error;
  }
  return "accepted";
}

describe("defaults", () => {
  test("an empty environment gives the defaults of the table, and the configuration cannot be changed afterwards", () => {
    const config = parseConfig(HOME);
    expect(config).toEqual({
      host: "127.0.0.1",
      port: 4000,
      publicUrl: null,
      dataDir: "/home/someone/.local/share/lockport",
      database: { kind: "sqlite", path: "/home/someone/.local/share/lockport/catalog.db" },
      secretKey: null,
      adminPassword: null,
      adminPasswordEnabled: true,
      oidc: null,
      messagesBaseUrl: null,
      notices: null,
      noticeSpendFactor: 5,
      maxEmbeddingBatch: 2048,
      maxBodyBytes: 64 * 1024 * 1024,
      maxResponseBytes: 64 * 1024 * 1024,
      sessionTtlSeconds: 7 * 86_400,
      usageRetentionDays: null,
      responsesDays: 30,
      allowedHosts: [],
      ledgerSync: "interval",
      drainTimeoutSeconds: 30,
      apiKey: null,
      logLevel: "info",
      ignoredVariables: [],
    });
    expect(() => Object.assign(config, { port: 1 })).toThrow(TypeError);
  });

  test("an empty variable counts as unset", () => {
    const empty = Object.fromEntries(Object.values(SETTINGS).map(({ name }) => [name, ""]));
    expect(parseConfig({ ...HOME, ...empty })).toEqual(parseConfig(HOME));
  });

  test("the data folder follows XDG_DATA_HOME unless that is relative, and PROXY_DATA_DIR goes before it", () => {
    expect(parseConfig({ ...HOME, XDG_DATA_HOME: "/data" }).dataDir).toBe("/data/lockport");
    expect(parseConfig({ ...HOME, XDG_DATA_HOME: "data" }).dataDir).toBe(
      "/home/someone/.local/share/lockport",
    );
    expect(parseConfig({ ...HOME, XDG_DATA_HOME: "/data", PROXY_DATA_DIR: "/srv" }).dataDir).toBe("/srv");
  });

  test("every setting has a unit and a sentence, and its default passes its own rule", () => {
    for (const { fallback, parse, sentence, unit } of Object.values(SETTINGS)) {
      expect(sentence).toMatch(/^[A-Z].*\.$/);
      expect(unit).not.toBe("");
      if (fallback !== null) expect(() => parse(fallback)).not.toThrow();
    }
  });
});

const POSTGRES = { PROXY_DATABASE_URL: "postgresql://ann@db/models" };
const POSTGRES_DATABASE = { kind: "postgres", url: POSTGRES.PROXY_DATABASE_URL };

describe("values", () => {
  const accepted: readonly [Environment, object][] = [
    [
      { PROXY_HOST: "0.0.0.0", PROXY_PORT: "0" },
      { host: "0.0.0.0", port: 0 },
    ],
    [{ PROXY_HOST: "::1" }, { host: "::1" }],
    [{ PROXY_HOST: "[::1]" }, { host: "::1" }],
    [{ PROXY_PUBLIC_URL: "https://Models.example.org/" }, { publicUrl: "https://models.example.org" }],
    [{ PROXY_DATABASE_URL: "sqlite:/srv/a.db" }, { database: { kind: "sqlite", path: "/srv/a.db" } }],
    [{ PROXY_DATABASE_URL: "sqlite:////srv/a.db" }, { database: { kind: "sqlite", path: "/srv/a.db" } }],
    [{ PROXY_DATA_DIR: "/srv/~/~a" }, { dataDir: "/srv/~/~a" }],
    [{ PROXY_DATABASE_URL: "sqlite:///srv/a.db" }, { database: { kind: "sqlite", path: "/srv/a.db" } }],
    [
      { PROXY_DATABASE_URL: "postgres://ann:w%40rd@db:5433/models?sslmode=verify-full" },
      {
        database: {
          kind: "postgres",
          url: "postgres://ann:w%40rd@db:5433/models?sslmode=verify-full",
          schema: "lockport",
          graceMs: 30_000,
        },
      },
    ],
    [
      { ...POSTGRES, PROXY_DATABASE_SCHEMA: "models_2", PROXY_DATABASE_GRACE: "45s" },
      { database: { ...POSTGRES_DATABASE, schema: "models_2", graceMs: 45_000 } },
    ],
    [{ ...POSTGRES, PROXY_DATABASE_GRACE: "0" }, { database: { ...POSTGRES_DATABASE, graceMs: 0 } }],
    [{ ...POSTGRES, PROXY_LEDGER_SYNC: "database" }, { ledgerSync: "database" }],
    [{ PROXY_ADMIN_PASSWORD: "twelve chars" }, { adminPassword: "twelve chars" }],
    [{ PROXY_ADMIN_PASSWORD_DISABLED: "true" }, { adminPasswordEnabled: false }],
    [
      { PROXY_MESSAGES_BASE_URL: "https://api.example.org/x/" },
      { messagesBaseUrl: "https://api.example.org/x" },
    ],
    [
      { PROXY_NOTICE_URL: "https://hooks.example.org/x?sig=1", PROXY_NOTICE_SECRET: "s3cret" },
      { notices: { url: "https://hooks.example.org/x?sig=1", secret: "s3cret" } },
    ],
    [{ PROXY_NOTICE_URL: "http://[::1]:8080" }, { notices: { url: "http://[::1]:8080/", secret: null } }],
    [{ PROXY_NOTICE_SECRET: "signs nothing" }, { notices: null }],
    [{ PROXY_NOTICE_SPEND_FACTOR: "2.125" }, { noticeSpendFactor: 2.125 }],
    [{ PROXY_SESSION_TTL: "90s" }, { sessionTtlSeconds: 90 }],
    [{ PROXY_SESSION_TTL: "15m" }, { sessionTtlSeconds: 900 }],
    [{ PROXY_SESSION_TTL: "12h" }, { sessionTtlSeconds: 43_200 }],
    [{ PROXY_SESSION_TTL: "365d" }, { sessionTtlSeconds: 31_536_000 }],
    [{ PROXY_DRAIN_TIMEOUT: "0s" }, { drainTimeoutSeconds: 0 }],
    [{ PROXY_DRAIN_TIMEOUT: "24h" }, { drainTimeoutSeconds: DRAIN_SECONDS_MAX }],
    [{ PROXY_USAGE_RETENTION_DAYS: "30" }, { usageRetentionDays: 30 }],
    [{ PROXY_RESPONSES_DAYS: "0" }, { responsesDays: 0 }],
    [{ PROXY_RESPONSES_DAYS: "3650" }, { responsesDays: 3650 }],
    [{ PROXY_ALLOWED_HOSTS: "VM, models.lan" }, { allowedHosts: ["vm", "models.lan"] }],
    [
      { PROXY_ALLOWED_HOSTS: "fd00::5,[fd00::6], example.org." },
      { allowedHosts: ["fd00::5", "[fd00::6]", "example.org."] },
    ],
    [
      { PROXY_LEDGER_SYNC: "request", PROXY_LOG: "debug" },
      { ledgerSync: "request", logLevel: "debug" },
    ],
  ];
  for (const [env, values] of accepted) {
    test(`${JSON.stringify(env)} is accepted`, () => {
      expect(parseConfig({ ...HOME, ...env })).toMatchObject(values);
    });
  }

  test("a drain is at most a day: a longer one would overflow the timer and end at once", () => {
    expect(refusal({ PROXY_DRAIN_TIMEOUT: "25d" })).toBe(
      "configuration: PROXY_DRAIN_TIMEOUT must be a duration of at most 24h, such as 30s or 15m.",
    );
  });

  test("a secret key is 32 bytes of base64", () => {
    const secret = Buffer.alloc(32, 7);
    expect(parseConfig({ ...HOME, PROXY_SECRET_KEY: secret.toString("base64") }).secretKey).toEqual(secret);
    expect(refusal({ PROXY_SECRET_KEY: Buffer.alloc(31).toString("base64") })).toStartWith(
      "configuration: PROXY_SECRET_KEY",
    );
    expect(refusal({ PROXY_SECRET_KEY: "x".repeat(43) + "!" })).toStartWith(
      "configuration: PROXY_SECRET_KEY",
    );
  });

  const refused: readonly Environment[] = [
    { PROXY_HOST: "http://127.0.0.1" },
    { PROXY_HOST: "127.0.0.1:4000" },
    { PROXY_PORT: "65536" },
    { PROXY_PORT: "4000x" },
    { PROXY_PORT: "-1" },
    { PROXY_PUBLIC_URL: "vm.example.org" },
    { PROXY_PUBLIC_URL: "https://models.example.org/path" },
    { PROXY_PUBLIC_URL: "https://user@models.example.org" },
    { PROXY_PUBLIC_URL: "ftp://models.example.org" },
    { PROXY_DATABASE_URL: "/srv/a.db" },
    { PROXY_DATABASE_URL: "sqlite:" },
    { PROXY_DATABASE_URL: "sqlite://catalog.db" },
    { PROXY_DATABASE_URL: "sqlite:~/catalog.db" },
    { PROXY_DATA_DIR: "~" },
    { PROXY_DATA_DIR: "~/lockport" },
    { PROXY_DATABASE_URL: "postgres:models" },
    { PROXY_DATABASE_URL: "postgres://ann:a#b@db/models" },
    { PROXY_DATABASE_URL: "mysql://ann@db/models" },
    { PROXY_DATABASE_SCHEMA: "Lockport" },
    { PROXY_DATABASE_SCHEMA: "pg_lockport" },
    { PROXY_DATABASE_SCHEMA: "a;drop" },
    { PROXY_DATABASE_SCHEMA: "a".repeat(64) },
    { PROXY_DATABASE_GRACE: "46s" },
    { PROXY_DATABASE_GRACE: "30" },
    { PROXY_ADMIN_PASSWORD: "elevenchars" },
    { PROXY_ADMIN_PASSWORD_DISABLED: "yes" },
    { PROXY_OIDC_ISSUER: "http://id.example.org", PROXY_OIDC_CLIENT_ID: "x" },
    { PROXY_OIDC_ISSUER: "https://id.example.org?x=1", PROXY_OIDC_CLIENT_ID: "x" },
    { PROXY_OIDC_SCOPES: "profile", PROXY_OIDC_ISSUER: "https://id.example.org", PROXY_OIDC_CLIENT_ID: "x" },
    { PROXY_MESSAGES_BASE_URL: "file:///etc/passwd" },
    { PROXY_MESSAGES_BASE_URL: "https://api.example.org/x?" },
    { PROXY_MESSAGES_BASE_URL: "https://api.example.org/x#" },
    { PROXY_MESSAGES_BASE_URL: "http://169.254.169.254/v1" },
    { PROXY_NOTICE_URL: "hooks.example.org/x" },
    { PROXY_NOTICE_URL: "https://name:word@hooks.example.org/x" },
    { PROXY_NOTICE_URL: "https://name@hooks.example.org/x" },
    { PROXY_NOTICE_URL: "https://hooks.example.org/x#part" },
    { PROXY_NOTICE_URL: "https://hooks.example.org/two words" },
    { PROXY_NOTICE_URL: "file:///etc/passwd" },
    { PROXY_NOTICE_URL: "http://[::ffff:169.254.169.254]/latest" },
    { PROXY_NOTICE_SECRET: "  " },
    { PROXY_OIDC_ISSUER: "https://id.example.org/?", PROXY_OIDC_CLIENT_ID: "x" },
    { PROXY_MAX_EMBEDDING_BATCH: "0" },
    { PROXY_MAX_BODY_BYTES: "64MiB" },
    { PROXY_MAX_RESPONSE_BYTES: "1e6" },
    { PROXY_SESSION_TTL: "0s" },
    { PROXY_SESSION_TTL: "7" },
    { PROXY_SESSION_TTL: "7w" },
    { PROXY_USAGE_RETENTION_DAYS: "-1" },
    { PROXY_RESPONSES_DAYS: "-1" },
    { PROXY_RESPONSES_DAYS: "30d" },
    { PROXY_RESPONSES_DAYS: "3651" },
    { PROXY_ALLOWED_HOSTS: "https://vm" },
    { PROXY_ALLOWED_HOSTS: "vm:80" },
    { PROXY_ALLOWED_HOSTS: "," },
    { PROXY_LEDGER_SYNC: "never" },
    { PROXY_ALLOWED_HOSTS: "vm,.example.org" },
    { PROXY_ALLOWED_HOSTS: "-vm" },
    { PROXY_DRAIN_TIMEOUT: "soon" },
    { PROXY_DRAIN_TIMEOUT: "1441m" },
    { PROXY_DRAIN_TIMEOUT: "25d" },
    { PROXY_LOG: "trace" },
    { PROXY_API_KEY: "   " },
  ];
  for (const env of refused) {
    test(`${JSON.stringify(env)} is refused in one line that names the variable and does not repeat the value`, () => {
      const [name = "", value = ""] = Object.entries(env)[0] ?? [];
      const message = refusal(env);
      expect(message).toStartWith(`configuration: ${name}`);
      expect(message).not.toContain("\n");
      if (value.length > 7) expect(message).not.toContain(value);
    });
  }
});

describe("rules between variables", () => {
  test("PROXY_LEDGER_SYNC=database is refused with SQLite, whose database is a file beside the journal", () => {
    expect(refusal({ PROXY_LEDGER_SYNC: "database" })).toStartWith(
      "configuration: PROXY_LEDGER_SYNC=database needs PostgreSQL (PROXY_DATABASE_URL)",
    );
    expect(refusal({ PROXY_LEDGER_SYNC: "database", ...POSTGRES })).toBe("accepted");
  });

  test("an unknown PROXY_ variable is refused by name, with the one that was probably meant, and other names are not looked at", () => {
    expect(refusal({ PROXY_PROT: "1" })).toBe(
      "configuration: PROXY_PROT is not a setting (did you mean PROXY_PORT?): correct its name or unset it.",
    );
    expect(refusal({ PROXY_SOMETHING_ELSE: "1" })).toBe(
      "configuration: PROXY_SOMETHING_ELSE is not a setting: correct its name or unset it.",
    );
    expect(refusal({ HTTP_PROXY: "http://127.0.0.1:9", proxy_port: "x" })).toBe("accepted");
  });

  test("variables that other programs commonly set are ignored and listed, and every other unknown one is still refused", () => {
    const names = ["PROXY_USER", "PROXY_PASS", "PROXY_PASSWORD", "PROXY_SERVER", "PROXY_URL"];
    const foreign = Object.fromEntries(names.map((name) => [name, "x"]));
    const { ignoredVariables, ...config } = parseConfig({ ...HOME, ...foreign });
    expect(ignoredVariables).toEqual(names);
    const { ignoredVariables: none, ...plain } = parseConfig({ ...HOME, PROXY_URL: "" });
    expect(none).toEqual([]);
    expect(config).toEqual(plain);
    expect(refusal({ ...foreign, PROXY_USERNAME: "x" })).toContain("PROXY_USERNAME is not a setting");
  });

  test("an unknown PROXY_ variable that is empty counts as unset, as a known one does", () => {
    expect(refusal({ PROXY_SOMETHING_ELSE: "" })).toBe("accepted");
    expect(refusal({ PROXY_SOMETHING_ELSE: "", PROXY_PROT: "1" })).toContain("PROXY_PROT is not a setting");
  });

  test("an issuer needs a client id", () => {
    expect(refusal({ PROXY_OIDC_ISSUER: "https://id.example.org" })).toContain("PROXY_OIDC_CLIENT_ID");
  });

  test("an issuer on a server that is not bound to loopback needs a public URL", () => {
    const sso = { PROXY_OIDC_ISSUER: "http://localhost:9000", PROXY_OIDC_CLIENT_ID: "x" };
    expect(refusal(sso)).toBe("accepted");
    expect(refusal({ ...sso, PROXY_HOST: "0.0.0.0" })).toContain("PROXY_PUBLIC_URL");
    expect(refusal({ ...sso, PROXY_HOST: "0.0.0.0", PROXY_PUBLIC_URL: "https://m.example.org" })).toBe(
      "accepted",
    );
    expect(parseConfig({ ...HOME, ...sso }).oidc).toMatchObject({
      scopes: "openid profile email",
      groupsClaim: "groups",
    });
  });
});
