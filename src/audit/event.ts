import type { InstantUs } from "#kernel/clock.ts";

export const AUDIT_ACTIONS = [
  "provider.create",
  "provider.update",
  "provider.delete",
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
  "pricing.load",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export const AUDIT_TARGET_KINDS = [
  "provider",
  "model",
  "principal",
  "api_key",
  "relay_token",
  "limit",
  "pricing_feed",
] as const;
export type AuditTargetKind = (typeof AUDIT_TARGET_KINDS)[number];

/**
 * What a mutation says of itself (specification, section 2.11): identifiers only, never payloads. It is committed in the
 * mutation's own transaction. Local commands pass `null` instead: they are not audited.
 */
export interface AuditEntry {
  readonly actorPrincipalId: string;
  readonly action: AuditAction;
  readonly targetKind: AuditTargetKind;
  /** Provider name, model alias, principal id, key id, or feed version. */
  readonly targetRef: string;
}

/** The principal that asks for a mutation; null for a local command, which is not audited. */
export type Actor = { readonly principalId: string } | null;

/** The entry of one mutation by this actor, or null for a local command. */
export function toAuditEntry(actor: Actor, of: Omit<AuditEntry, "actorPrincipalId">): AuditEntry | null {
  return actor === null ? null : { actorPrincipalId: actor.principalId, ...of };
}

export interface AuditEvent extends AuditEntry {
  readonly atUs: InstantUs;
  /** The actor's name; null when that principal is gone. */
  readonly actorName: string | null;
}
