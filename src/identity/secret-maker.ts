import { ProxyError } from "#kernel/errors.ts";
import type { OwnedSecret } from "./secret.ts";
import { isWithin, type SecretTerms, type TermsChange, type TermSetter } from "./secret-terms.ts";

/**
 * As whom a secret is made or changed, and by which key. A key that has an expiry or models makes keys that are never wider than
 * itself, and only narrows others: who has one key has no more than that. A key for inference makes and changes none: the door
 * refuses it. A session and a local command have no key.
 */
export interface SecretMaker {
  /** Default `owner`. */
  readonly setter?: TermSetter;
  /** Default null. */
  readonly key?: OwnedSecret | null;
}

/**
 * The terms of a key that `key` makes: what is left out is inherited. Throws `admin_required` (with the field as param) for
 * what would be wider.
 */
export function inheritTerms(asked: TermsChange, key: OwnedSecret | null): TermsChange {
  if (key === null) return asked;
  const { expiresAtUs, models } = key.terms;
  const made = {
    ...asked,
    ...(expiresAtUs !== null && asked.expiresAtUs === undefined && { expiresAtUs }),
    ...(models !== null && asked.models === undefined && { models }),
  };
  if ((made.expiresAtUs ?? Infinity) > (expiresAtUs ?? Infinity)) {
    throw refuse("What this key makes ends no later than the key itself.", "expires_at");
  }
  if (!isWithin(made.models ?? null, models)) {
    throw refuse("What this key makes may use no other models than the key itself.", "models");
  }
  return made;
}

/** `inheritTerms` for a relay token, which cannot be held to aliases: the names on the relay are the provider's. */
export function inheritRelayTerms(asked: TermsChange, key: OwnedSecret | null): TermsChange {
  if (key !== null && key.terms.models !== null) {
    throw refuse("This key may use some models only, and a relay token reaches any: sign in to make one.");
  }
  return inheritTerms(asked, key);
}

/** Throws `admin_required` (with the field as param) when a key that has terms would widen a secret. */
export function requireNarrower(before: SecretTerms, after: SecretTerms, key: OwnedSecret | null): void {
  if (key === null || !hasTerms(key)) return;
  if ((after.expiresAtUs ?? Infinity) > (before.expiresAtUs ?? Infinity)) {
    throw refuse("This key has limits of its own: it may only set an earlier end.", "expires_at");
  }
  if (!isWithin(after.models, before.models)) {
    throw refuse("This key has limits of its own: it may only take models away.", "models");
  }
  if (before.pausedBy !== null && after.pausedBy === null) {
    throw refuse("This key has limits of its own: it cannot resume what is paused.", "enabled");
  }
  if (before.scopedBy !== null && after.scopedBy === null) {
    throw refuse("This key has limits of its own: it cannot widen a scope.", "scope");
  }
}

/** Throws `admin_required` when a key that has terms would change fixed tags. */
export function requireSameTags(key: OwnedSecret | null): void {
  if (key === null || !hasTerms(key)) return;
  throw refuse("This key has limits of its own: it cannot change fixed tags.", "tags");
}

/**
 * Throws `admin_required` when a key with terms, or an owner's key with fixed tags, rotates another: the new secret would be
 * one without them.
 */
export function requireOwnRotation(id: string, { setter = "owner", key = null }: SecretMaker): void {
  if (key === null || key.id === id) return;
  if (!hasTerms(key) && (setter === "admin" || key.tags.length === 0)) return;
  throw refuse("This key has limits of its own: it may rotate only itself.");
}

function hasTerms({ terms }: OwnedSecret): boolean {
  return terms.expiresAtUs !== null || terms.models !== null;
}

function refuse(message: string, param?: string): ProxyError {
  return new ProxyError("admin_required", message, param === undefined ? {} : { param });
}
