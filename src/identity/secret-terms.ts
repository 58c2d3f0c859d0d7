import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { parseWord } from "#kernel/fields.ts";
import { parseInstant } from "#kernel/instant.ts";
import { ALIAS_LENGTH_MAX, ALIAS_PATTERN } from "#kernel/text.ts";
import type { Principal } from "./principal.ts";

/** Who sets terms: an admin, or an owner within what an admin has set. */
export const TERM_SETTERS = ["owner", "admin"] as const;
export type TermSetter = (typeof TERM_SETTERS)[number];

/**
 * What a key reaches: everything that its owner may, or models, the relay and what was used of them alone
 * (`docs/spec/limits.md`, "Keys").
 */
export const KEY_SCOPES = ["full", "inference"] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** What a key or a relay token is good for (`docs/spec/limits.md`, "Keys"); null where nothing is set. */
export interface SecretTerms {
  /** From this moment on it is refused. */
  readonly expiresAtUs: InstantUs | null;
  /** The aliases that it may use, in the order in which they were given; null: all. */
  readonly models: ReadonlySet<string> | null;
  /** Null: it is enabled. */
  readonly pausedBy: TermSetter | null;
  /** Who has narrowed its scope to `inference`; null: it is `full`, as every relay token's. */
  readonly scopedBy: TermSetter | null;
  /** What an admin has set last: its owner's own expiry and models stay within these. */
  readonly adminExpiresAtUs: InstantUs | null;
  readonly adminModels: ReadonlySet<string> | null;
}

export const NO_TERMS: SecretTerms = {
  expiresAtUs: null,
  models: null,
  pausedBy: null,
  scopedBy: null,
  adminExpiresAtUs: null,
  adminModels: null,
};

/** Terms as a client writes them: null lifts the first two, a field that is absent changes nothing. */
export interface TermsDraft {
  /** A UTC date-time as text, or null. */
  readonly expiresAt?: unknown;
  /** A list of aliases, or null. */
  readonly models?: unknown;
  readonly enabled?: boolean | undefined;
  /** One of `KEY_SCOPES`. */
  readonly scope?: string | undefined;
}

export interface TermsChange {
  readonly expiresAtUs?: InstantUs | null;
  readonly models?: ReadonlySet<string> | null;
  readonly enabled?: boolean;
  readonly scope?: KeyScope;
}

export const KEY_MODELS_MAX = 100;

/** With a time, since a date alone does not say at which end of its day. */
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:\d{2})?$/;

/** Throws `invalid_expiry` (param `expires_at`), `invalid_models` (param `models`) and `invalid_request` (param `scope`). */
export function parseTerms({ expiresAt, models, enabled, scope }: TermsDraft, nowUs: InstantUs): TermsChange {
  return {
    ...(expiresAt !== undefined && {
      expiresAtUs: expiresAt === null ? null : parseExpiry(expiresAt, nowUs),
    }),
    ...(models !== undefined && { models: models === null ? null : parseModels(models) }),
    ...(enabled !== undefined && { enabled }),
    ...(scope !== undefined && { scope: parseWord(scope, KEY_SCOPES, "scope") }),
  };
}

function parseExpiry(expiresAt: unknown, nowUs: InstantUs): InstantUs {
  const instant = typeof expiresAt === "string" && DATE_TIME.test(expiresAt) ? parseInstant(expiresAt) : null;
  if (instant === null) {
    throw refuseExpiry("expires_at is a UTC date-time such as 2027-01-31T08:00:00Z.");
  }
  if (instant <= nowUs) throw refuseExpiry("expires_at is in the past: give a later date and time.");
  return instant;
}

function refuseExpiry(message: string): ProxyError {
  return new ProxyError("invalid_expiry", message, { param: "expires_at" });
}

function parseModels(models: unknown): ReadonlySet<string> {
  const isList = Array.isArray(models) && models.length >= 1 && models.length <= KEY_MODELS_MAX;
  if (!isList || !models.every(isAlias)) {
    throw new ProxyError(
      "invalid_models",
      `models is a list of 1 to ${KEY_MODELS_MAX} aliases, or null for every model.`,
      { param: "models" },
    );
  }
  return new Set(models);
}

function isAlias(value: unknown): value is string {
  return typeof value === "string" && value.length <= ALIAS_LENGTH_MAX && ALIAS_PATTERN.test(value);
}

/** As whom a principal sets terms, be it on its own key or on another's. */
export function toTermSetter({ role }: Pick<Principal, "role">): TermSetter {
  return role === "admin" ? "admin" : "owner";
}

/**
 * The terms after a change. What an admin sets holds, and binds the owner. An owner ends sooner, allows fewer models,
 * narrows the scope and pauses, and takes back what it has set itself. Throws `admin_required` (with the field as param) for anything beyond what an admin
 * has set.
 */
export function reviseTerms(before: SecretTerms, change: TermsChange, setter: TermSetter): SecretTerms {
  const { expiresAtUs = before.expiresAtUs, models = before.models } = change;
  const pausedBy = reviseHold(before.pausedBy, change.enabled === undefined ? null : !change.enabled, {
    setter,
    refuse: () => refuseLoosening("enabled", "An admin has paused this: only an admin can resume it."),
  });
  const scopedBy = reviseHold(before.scopedBy, change.scope === undefined ? null : change.scope !== "full", {
    setter,
    refuse: () =>
      refuseLoosening("scope", "An admin has set the scope to inference: only an admin can make it full."),
  });
  if (setter === "admin") {
    return {
      expiresAtUs,
      models,
      pausedBy,
      scopedBy,
      adminExpiresAtUs: change.expiresAtUs === undefined ? before.adminExpiresAtUs : expiresAtUs,
      adminModels: change.models === undefined ? before.adminModels : models,
    };
  }
  if (change.expiresAtUs !== undefined && (expiresAtUs ?? Infinity) > (before.adminExpiresAtUs ?? Infinity)) {
    throw refuseLoosening("expires_at", "An admin has set when this ends: it may only end sooner.");
  }
  if (change.models !== undefined && !isWithin(models, before.adminModels)) {
    throw refuseLoosening("models", "An admin has set which models this may use: it may only use fewer.");
  }
  return { ...before, expiresAtUs, models, pausedBy, scopedBy };
}

/**
 * Who holds a secret back after a change that asks for that (true), for its end (false) or for neither (null). Throws what
 * `refuse` makes when an owner would end what an admin has begun.
 */
function reviseHold(
  heldBy: TermSetter | null,
  isHeld: boolean | null,
  { setter, refuse }: { readonly setter: TermSetter; readonly refuse: () => ProxyError },
): TermSetter | null {
  if (isHeld === null) return heldBy;
  if (setter === "owner" && heldBy === "admin") {
    if (!isHeld) throw refuse();
    return heldBy;
  }
  return isHeld ? setter : null;
}

/** Whether models are all among those of a bound; null: every model. */
export function isWithin(models: ReadonlySet<string> | null, bound: ReadonlySet<string> | null): boolean {
  return bound === null || (models !== null && models.isSubsetOf(bound));
}

function refuseLoosening(param: string, message: string): ProxyError {
  return new ProxyError("admin_required", message, { param });
}
