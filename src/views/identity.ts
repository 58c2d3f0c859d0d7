import { type AuditEvent, LOCAL_ACTOR, SCHEDULE_ACTOR } from "#audit/event.ts";
import type { OwnedSecret, SecretTerms } from "#identity/secret.ts";
import type { Principal } from "#identity/principal.ts";
import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { toChangeView } from "./audit-change.ts";

/** Principals, keys, relay tokens and audit events → wire JSON (specification, sections 2.7, 2.8 and 2.11). */

export function toKeyView(key: OwnedSecret, lastUsedAtUs: InstantUs | null) {
  const { models, scopedBy } = key.terms;
  return {
    id: key.id,
    key_suffix: key.suffix,
    ...toUse(key, lastUsedAtUs),
    ...(models !== null && { models: [...models] }),
    ...(scopedBy !== null && { scope: "inference" as const }),
  };
}

/** A key with its owner's name, for lists that span principals. */
export function toOwnedKeyView(key: OwnedSecret, ownerName: string, lastUsedAtUs: InstantUs | null) {
  return { ...toKeyView(key, lastUsedAtUs), principal: ownerName };
}

export function toRelayTokenView(token: OwnedSecret, lastUsedAtUs: InstantUs | null) {
  return { id: token.id, token_suffix: token.suffix, ...toUse(token, lastUsedAtUs) };
}

/** A relay token with its owner's name, for lists that span principals. */
export function toOwnedRelayTokenView(token: OwnedSecret, ownerName: string, lastUsedAtUs: InstantUs | null) {
  return { ...toRelayTokenView(token, lastUsedAtUs), principal: ownerName };
}

function toUse({ label, createdAtUs, terms, tags }: OwnedSecret, lastUsedAtUs: InstantUs | null) {
  return {
    label,
    created_at: formatInstant(createdAtUs),
    last_used_at: lastUsedAtUs === null ? null : formatInstant(lastUsedAtUs),
    ...toTerms(terms),
    ...toFixedTags(tags),
  };
}

/** Absent where nothing is set: clients that were written for 1.0.0 read what they always read. */
function toTerms({ expiresAtUs, pausedBy }: SecretTerms) {
  return {
    ...(expiresAtUs !== null && { expires_at: formatInstant(expiresAtUs) }),
    ...(pausedBy !== null && { enabled: false as const }),
  };
}

function toFixedTags(tags: readonly string[]) {
  return tags.length === 0 ? {} : { tags: [...tags] };
}

/** Section 2.8: what a create answers. */
export function toPrincipalView({ id, name, kind, role, tags }: Principal) {
  return { id, name, kind, role, ...toFixedTags(tags) };
}

/** A row of the list; one that is disabled says so. */
export function toListedPrincipalView(principal: Principal) {
  return {
    ...toPrincipalView(principal),
    created_at: formatInstant(principal.createdAtUs),
    ...(principal.enabled ? {} : { enabled: false as const }),
  };
}

/** The answer to a change of role or of being enabled. */
export function toChangedPrincipalView(principal: Principal) {
  return { ...toListedPrincipalView(principal), enabled: principal.enabled };
}

export function toAdminEventView(event: AuditEvent) {
  return {
    ts: formatInstant(event.atUs),
    actor_principal_id: event.actorPrincipalId,
    actor:
      [LOCAL_ACTOR, SCHEDULE_ACTOR].find(({ principalId }) => principalId === event.actorPrincipalId)?.name ??
      event.actorName,
    action: event.action,
    target_kind: event.targetKind,
    target_ref: event.targetRef,
    change: toChangeView(event),
  };
}
