/**
 * The whole error catalogue of the interface: code → HTTP status (specification, section 7, and the decisions).
 * A code that is not in this table is a type error.
 */
export const ERROR_STATUS = {
  invalid_json: 400,
  invalid_request: 400,
  model_required: 400,
  endpoint_not_supported: 400,
  invalid_multipart: 400,
  embedding_batch_too_large: 400,
  invalid_endpoint: 400,
  invalid_label: 400,
  invalid_expiry: 400,
  invalid_models: 400,
  invalid_tags: 400,
  invalid_date: 400,
  invalid_bucket: 400,
  range_too_large: 400,
  invalid_outcome: 400,
  invalid_name: 400,
  invalid_wire_format: 400,
  invalid_base_url: 400,
  invalid_override: 400,
  invalid_target: 400,
  invalid_pricing: 400,
  invalid_bill: 400,
  invalid_price_variants: 400,
  invalid_host: 400,
  sso_denied: 400,
  sso_state_mismatch: 400,
  sso_code_missing: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  wrong_password: 401,
  invalid_login_link: 401,
  admin_required: 403,
  scope_required: 403,
  cross_origin_rejected: 403,
  host_not_allowed: 403,
  sso_group_required: 403,
  model_not_found: 404,
  response_not_found: 404,
  provider_not_found: 404,
  former_credential_not_found: 404,
  principal_not_found: 404,
  unknown_endpoint: 404,
  key_not_found: 404,
  relay_token_not_found: 404,
  unknown_relay_token: 404,
  limit_not_found: 404,
  repricing_not_found: 404,
  schedule_not_found: 404,
  request_not_found: 404,
  transparent_relay_disabled: 404,
  password_login_disabled: 404,
  sso_not_configured: 404,
  notices_not_configured: 404,
  alias_exists: 409,
  provider_exists: 409,
  principal_exists: 409,
  model_in_use: 409,
  last_admin: 409,
  too_many_keys: 409,
  too_many_relay_tokens: 409,
  limit_exists: 409,
  repricing_running: 409,
  repricing_outdated: 409,
  too_many_limits: 409,
  too_many_schedules: 409,
  changed_meanwhile: 412,
  request_too_large: 413,
  upgrade_not_supported: 426,
  too_many_changes: 429,
  limit_exceeded: 429,
  internal_error: 500,
  provider_unreachable: 502,
  discovery_failed: 502,
  sso_exchange_failed: 502,
  sso_userinfo_failed: 502,
  reports_busy: 503,
  busy: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERROR_STATUS, value);
}

interface ProxyErrorOptions {
  /** The offending request field, such as `model` or `capabilities[1]`. */
  readonly param?: string;
  /** The header `Retry-After` (RFC 9110, section 10.2.3). */
  readonly retryAfterSeconds?: number;
  /** Further headers of the answer. */
  readonly headers?: { readonly [name: string]: string };
  /** For the log only: a cause never goes on the wire. */
  readonly cause?: unknown;
  /** The model that the request named, for the trace of its refusal. */
  readonly model?: string;
  /** The log says it already, or says it often enough: no line for each. */
  readonly isLogged?: boolean;
}

/**
 * A refusal: something that a caller did, or has to know, with a stable code.
 * The message is read by a person, says what to do, and never holds a secret, a URL with credentials or content.
 */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly retryAfterSeconds: number | null;
  readonly model: string | null;
  readonly headers: { readonly [name: string]: string };
  readonly isLogged: boolean;

  constructor(code: ErrorCode, message: string, options: ProxyErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.param = options.param ?? null;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
    this.model = options.model ?? null;
    this.headers = options.headers ?? {};
    this.isLogged = options.isLogged ?? false;
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

/**
 * Why a process cannot start or a local command cannot run: a setting, the data folder, a database, its key file, or the
 * file that a command was given. `failure` ends with exit code 1, `permission` with 77, `configuration` with 78
 * (sysexits.h: EX_NOPERM, EX_CONFIG). The message is one line that says what to do.
 */
export class SetupError extends Error {
  override readonly name = "SetupError";
  readonly kind: "failure" | "configuration" | "permission";

  constructor(kind: SetupError["kind"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/**
 * What keeps the data did not answer within its limit: nothing is wrong with a request or a setting, and it may answer in a
 * moment. A command ends with exit code 69 (EX_UNAVAILABLE), a server that starts waits.
 */
export class UnreachableError extends Error {
  /** What happened, as a stable word for the log; the engine's. */
  readonly code: string;
  /** True when what was asked for may have been done all the same. */
  readonly mayBeCommitted: boolean;

  constructor(
    message: string,
    { code, mayBeCommitted }: { readonly code: string; readonly mayBeCommitted: boolean },
  ) {
    super(message);
    this.code = code;
    this.mayBeCommitted = mayBeCommitted;
  }
}

/**
 * What keeps the data refused a step, of which nothing was made. `isPassing`: for what may be over in a moment, such as a lock
 * or a full disk. A command ends with 69 then as well, and a server that starts waits.
 */
export abstract class StepRefusedError extends Error {
  abstract readonly code: string;
  abstract readonly isPassing: boolean;
}

/** True for a failure that may be over in a moment, also where a refusal tells of it. */
export function isPassing(cause: unknown): cause is Error {
  if (cause instanceof ProxyError) return isPassing(cause.cause);
  return cause instanceof UnreachableError || (cause instanceof StepRefusedError && cause.isPassing);
}

/** What a request is answered whose data cannot be reached. The log says once that they are away: a line for each request would bury it. */
export function toUnreachableRefusal(cause: Error, mayBeCommitted: boolean): ProxyError {
  const message = mayBeCommitted
    ? "The database cannot be reached: the change may have been made. Look, then try again."
    : "The database cannot be reached. Try again.";
  return new ProxyError("internal_error", message, { cause, isLogged: !mayBeCommitted });
}

/** Judges a resource as it stands within the transaction that would change it; what it throws refuses the change. */
export type Precondition<Resource> = (current: Resource) => void;
