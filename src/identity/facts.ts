import type { Facts } from "#audit/change.ts";
import { formatInstant } from "#kernel/clock.ts";
import type { Principal } from "./principal.ts";
import type { ListedSecret, OwnedSecret, SecretName } from "./secret.ts";

/** The fields of principals, keys and relay tokens that the audit log tells, in the words of requests. */

export function toPrincipalFacts({ kind, role, enabled, tags }: Principal): Facts {
  return { kind, role, enabled, tags };
}

/** A rotation shows as another suffix; neither the plaintext nor its hash is here. */
export function toSecretFacts({ suffix, label, terms, tags }: OwnedSecret): Facts {
  const { expiresAtUs, models, pausedBy, scopedBy } = terms;
  return {
    label,
    suffix,
    enabled: pausedBy === null,
    expires_at: expiresAtUs === null ? null : formatInstant(expiresAtUs),
    scope: scopedBy === null ? "full" : "inference",
    models: models === null ? null : [...models],
    tags,
  };
}

export function toSecretLabel(secret: Pick<ListedSecret, keyof SecretName | "principalName">): string {
  return `${toSecretName(secret)} of ${secret.principalName}`;
}

export function toSecretName({ label, suffix }: SecretName): string {
  return label === "" ? `***${suffix}` : label;
}
