import type { Principal } from "#identity/principal.ts";
import { SECRETS_PER_PRINCIPAL_MAX } from "#identity/secret.ts";
import { type ErrorCode, ProxyError } from "#kernel/errors.ts";
import { LIMITS_MAX } from "#limits/store.ts";

/** Whether an enabled admin would be missing afterwards; null: the principal is gone. */
export function losesAdmin(before: Principal, after: Principal | null): boolean {
  return isEnabledAdmin(before) && (after === null || !isEnabledAdmin(after));
}

function isEnabledAdmin({ role, enabled }: Principal): boolean {
  return role === "admin" && enabled;
}

export function toPrincipalNotFound(): ProxyError {
  return new ProxyError("principal_not_found", "No principal has this id.");
}

export function toPrincipalExists(): ProxyError {
  return new ProxyError("principal_exists", "A principal of this name exists already.", { param: "name" });
}

export function toLastAdmin({ name }: Principal): ProxyError {
  return new ProxyError("last_admin", `"${name}" is the last enabled admin: make another one first.`);
}

/** What is thrown for an id that is not there, and for a principal that has `SECRETS_PER_PRINCIPAL_MAX` of them. */
export interface SecretRefusals {
  readonly toMissing: () => ProxyError;
  readonly toFull: () => ProxyError;
}

export const KEY_REFUSALS = toSecretRefusals("key", "key_not_found", "too_many_keys");
export const RELAY_TOKEN_REFUSALS = toSecretRefusals(
  "relay token",
  "relay_token_not_found",
  "too_many_relay_tokens",
);

function toSecretRefusals(noun: string, missing: ErrorCode, full: ErrorCode): SecretRefusals {
  return {
    toMissing: () => new ProxyError(missing, `No ${noun} has this id.`),
    toFull: () =>
      new ProxyError(
        full,
        `A principal has ${SECRETS_PER_PRINCIPAL_MAX} ${noun}s at most: delete one that is not used.`,
      ),
  };
}

export function toLimitNotFound(): ProxyError {
  return new ProxyError("limit_not_found", "No limit has this id.");
}

export function toLimitExists(): ProxyError {
  return new ProxyError("limit_exists", "A limit of this name exists already.", { param: "name" });
}

export function toTooManyLimits(): ProxyError {
  return new ProxyError("too_many_limits", `There are ${LIMITS_MAX} limits at most: remove one first.`);
}

const MISSING_SUBJECTS = {
  principal: ["principal_not_found", "principal"],
  key: ["key_not_found", "key"],
  relay_token: ["relay_token_not_found", "relay token"],
} as const;

/** A limit whose subject is not there. */
export function toMissingSubject(kind: keyof typeof MISSING_SUBJECTS): ProxyError {
  const [code, noun] = MISSING_SUBJECTS[kind];
  return new ProxyError(code, `No such ${noun}.`, { param: "subject" });
}
