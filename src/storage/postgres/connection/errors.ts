import { SetupError, StepRefusedError, UnreachableError } from "#kernel/errors.ts";

/**
 * PostgreSQL did not answer within the limit of a call, or the connection was refused or lost. The next call makes its own
 * connection. The message holds no address, no credentials and no SQL.
 */
export class DatabaseUnreachableError extends UnreachableError {
  override readonly name = "DatabaseUnreachableError";

  /**
   * The code is `limit`, `busy`, `closed`, `refused`, `unresolved`, or the SQLSTATE that the server gave. `mayBeCommitted`: the
   * statement, or the COMMIT, had been sent.
   */
  constructor(code: string, { mayBeCommitted }: { readonly mayBeCommitted: boolean }) {
    super(`${SENTENCES[code] ?? "PostgreSQL cannot be reached"} (${code}).`, { code, mayBeCommitted });
  }
}

/** The server takes no changes: it was a primary and became a standby, or is kept from writing. */
export const STANDBY = "25006";

/** Where a code does not say it by itself. */
const SENTENCES: { readonly [code: string]: string } = {
  [STANDBY]: "PostgreSQL takes no changes, since it is a standby or kept from writing",
  unresolved: "The name of the host in PROXY_DATABASE_URL leads to no address",
};

/**
 * SQLSTATE, or its class, of failures that may be over in a moment: conflicts, a lack of room, memory or locks, another session's lock,
 * a time limit, and what a disk refused.
 */
const PASSING_SENTENCES: { readonly [state: string]: string } = {
  "40": "PostgreSQL refused a step since another one was in its way",
  "53": "PostgreSQL lacks disk space, memory or another resource, which its log names",
  "55P03": "PostgreSQL did not give a lock in time that another session holds",
  "57014": "PostgreSQL ended a statement that took too long, or waited for a lock of another session",
  "58": "PostgreSQL cannot read or write its files, of which its log says more",
};

/** A statement that PostgreSQL refused: a constraint, a conflict between transactions, a limit of the server, or a fault of the statement. */
export class StatementError extends StepRefusedError {
  override readonly name = "StatementError";
  /** The SQLSTATE, such as `23505` for a unique violation, `40001` and `40P01` for conflicts, `57014` for the time limit. */
  readonly code: string;
  readonly isPassing: boolean;

  /** `constraint`: its name; null where none was violated. */
  constructor(code: string, constraint: string | null) {
    const passing = PASSING_SENTENCES[code] ?? PASSING_SENTENCES[code.slice(0, 2)];
    const place = constraint === null ? "" : `, ${constraint}`;
    super(`${passing ?? "PostgreSQL refused a statement"} (SQLSTATE ${code}${place}).`);
    this.code = code;
    this.isPassing = passing !== undefined;
  }
}

/**
 * The server ends or refuses a connection with these: it stops, starts, is full, has become a standby, or has seen a transaction
 * idle for too long, as that of a process that got no processor.
 */
const AWAY_STATES = new Set([STANDBY, "25P03", "25P04", "53300", "57P01", "57P02", "57P03", "57P05"]);

/** The statement was refused, or never left: nothing of it was made. */
const UNSENT_STATES = new Set([STANDBY, "25P03", "25P04", "53300", "57P03"]);
const UNSENT_CODES = new Set([
  "ERR_POSTGRES_CONNECTION_REFUSED",
  "ERR_POSTGRES_CONNECTION_FAILED",
  "ERR_POSTGRES_CONNECTION_TIMEOUT",
]);

const configuration = (what: string): SetupError => new SetupError("configuration", what);

/** A role that may not use a schema is not refused: it does not see what is in it. */
export function toRightError(): SetupError {
  return new SetupError(
    "permission",
    "The PostgreSQL role lacks a right: let it own the schema, or run `lockport migrate` as a role that may create tables and grant this one the rights on them.",
  );
}

/** The oldest that the tests run on. */
export const SERVER_VERSION_MIN = 15;

/** `found` as the server tells it, such as `14.9 (Debian 14.9-1)`. */
export function toVersionError(found: string): SetupError {
  return configuration(`PostgreSQL ${SERVER_VERSION_MIN} or newer is needed, and this one is ${found}.`);
}

/** The server makes no connection, such as one to a database that takes none. */
export function toConnectionError(refusal: StatementError): SetupError {
  return configuration(
    `PostgreSQL makes no connection (SQLSTATE ${refusal.code}): version ${SERVER_VERSION_MIN} or newer is needed, and a database that takes connections; its log says more.`,
  );
}

/** A session of PostgreSQL keeps what it is given at its start; one behind a pooler that shares connections does not. */
export function toPoolerError(): SetupError {
  return configuration(
    "A connection pooler (PgBouncer) stands before PostgreSQL and does not keep a session's settings: name PostgreSQL itself in PROXY_DATABASE_URL.",
  );
}

/** SQLSTATE or Bun's code → what an operator has to change. */
const SETUP_SENTENCES: { readonly [code: string]: string } = {
  "28000": "PostgreSQL refuses this user: check PROXY_DATABASE_URL and pg_hba.conf.",
  "28P01": "PostgreSQL refuses the password: check the user and password of PROXY_DATABASE_URL.",
  "3D000": "The database that PROXY_DATABASE_URL names does not exist: create it, or name another one.",
  ERR_POSTGRES_TLS_NOT_AVAILABLE:
    "PostgreSQL does not offer TLS: turn on `ssl` in postgresql.conf, or connect through loopback or a unix socket.",
  ERR_POSTGRES_UNSUPPORTED_AUTHENTICATION_METHOD:
    "PostgreSQL asks for a way to sign in that is not supported: use scram-sha-256 in pg_hba.conf.",
};

const CERTIFICATE_SENTENCE =
  "The certificate of PostgreSQL is not trusted for the host that PROXY_DATABASE_URL names: set sslrootcert to the file of its CA, and check the host name.";
const CERTIFICATE_CODE = /CERT|SELF_SIGNED|SIGNATURE|ISSUER|TLS_VERIFY|ALTNAME/;

/**
 * Makes one of our own errors of the driver's; another error is returned as it is. The driver's message, `detail`, `hint`
 * and `where` hold values of rows and settings, so none of them is kept, and the driver's error is no `cause`. See `Statement` for
 * the options.
 */
export function toDatabaseError(
  thrown: unknown,
  { commits, isReadOnly = false }: { readonly commits: boolean; readonly isReadOnly?: boolean },
): Error {
  if (!(thrown instanceof Bun.SQL.PostgresError)) {
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
    if (CERTIFICATE_CODE.test(code)) return configuration(CERTIFICATE_SENTENCE);
    return thrown instanceof Error ? thrown : new TypeError("the driver threw no error");
  }
  const state = thrown.errno;
  if (state === "42501") return toRightError();
  const setup = SETUP_SENTENCES[state ?? thrown.code];
  if (setup !== undefined) return configuration(setup);
  if (CERTIFICATE_CODE.test(thrown.code)) return configuration(CERTIFICATE_SENTENCE);
  // PgBouncer, which passes on neither the schema nor the limits of a session.
  if (state === "08P01" && thrown.message.includes("startup parameter")) return toPoolerError();
  if (state === undefined) {
    const isUnsent = UNSENT_CODES.has(thrown.code);
    return new DatabaseUnreachableError(isUnsent ? "refused" : "closed", {
      mayBeCommitted: commits && !isUnsent,
    });
  }
  const isAway = state.startsWith("08") || AWAY_STATES.has(state);
  if (isAway && !(state === STANDBY && isReadOnly)) {
    return new DatabaseUnreachableError(state, { mayBeCommitted: commits && !UNSENT_STATES.has(state) });
  }
  return new StatementError(state, thrown.constraint ?? null);
}
