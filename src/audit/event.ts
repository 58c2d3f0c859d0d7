import type { InstantUs } from "#kernel/clock.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { AuditChange } from "./change.ts";

export const AUDIT_ACTIONS = [
  "provider.create",
  "provider.update",
  "provider.delete",
  "credential.restore",
  "model.create",
  "model.update",
  "model.delete",
  "principal.create",
  "principal.update",
  "principal.delete",
  "key.create",
  "key.update",
  "key.rotate",
  "key.delete",
  "relay_token.create",
  "relay_token.update",
  "relay_token.delete",
  "session.revoke",
  "limit.create",
  "limit.update",
  "limit.delete",
  "secret_key.rotate",
  "pricing.load",
  "pricing.unschedule",
  "pricing.drop",
  "repricing.apply",
  "repricing.revert",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export const AUDIT_TARGET_KINDS = [
  "provider",
  "model",
  "principal",
  "api_key",
  "relay_token",
  "limit",
  "secret_key",
  "pricing_feed",
  "repricing",
] as const;
export type AuditTargetKind = (typeof AUDIT_TARGET_KINDS)[number];

/**
 * The record of a mutation (specification, section 2.11): identifiers, what has changed beside them, and never a secret. It is
 * committed in the mutation's own transaction.
 */
export interface AuditEntry {
  readonly actorPrincipalId: string;
  readonly action: AuditAction;
  readonly targetKind: AuditTargetKind;
  /** Provider name, model alias, principal id, key id, feed version, id of a re-pricing, or the name of the secret key's file. */
  readonly targetRef: string;
  /** Absent: the store that carries the mutation out tells it, since it knows the target before and after. */
  readonly change?: AuditChange | null;
}

/** The one that asks for a mutation: a principal, or `LOCAL_ACTOR`; null leaves no entry. */
export type Actor = { readonly principalId: string } | null;

/** A command beside the data folder: whoever may write there. Ids of principals are UUIDs and names have no parentheses. */
export const LOCAL_ACTOR = { principalId: "local", name: "(local command)" } as const satisfies Actor & {
  readonly name: string;
};

/** Prices to come, at their moment: what becomes of them then is nobody's mutation. */
export const SCHEDULE_ACTOR = {
  principalId: "schedule",
  name: "(price schedule)",
} as const satisfies Actor & {
  readonly name: string;
};

/** The entry of one mutation by this actor, or null where there is none to be. */
export function toAuditEntry(actor: Actor, of: Omit<AuditEntry, "actorPrincipalId">): AuditEntry | null {
  return actor === null ? null : { actorPrincipalId: actor.principalId, ...of };
}

export interface AuditEvent extends AuditEntry {
  readonly atUs: InstantUs;
  /** The actor's name; null when that principal is gone. */
  readonly actorName: string | null;
  /** Null for entries of before changes were kept, and for mutations that change no field. */
  readonly change: AuditChange | null;
}

export interface AuditStore {
  /** For a mutation of what is in no catalog: it is recorded before the first of it is committed. */
  record(entry: AuditEntry): Promise<void>;
  /** Newest first. */
  listEvents(page: Page): Promise<Paged<AuditEvent>>;
}
