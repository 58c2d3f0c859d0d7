import type { ListedSecret, OwnedSecret } from "#identity/secret.ts";
import type { SecretTerms } from "#identity/secret-terms.ts";
import type { FoundSecret } from "#identity/store.ts";
import type { apiKeys, principals } from "./schema.ts";

/** API keys and relay tokens have the same columns, and are two tables so that neither is ever found as the other. */
export type SecretTable = typeof apiKeys;
type SecretRow = SecretTable["$inferSelect"];

export function toListedSecret({
  secret,
  principalName,
}: {
  readonly secret: SecretRow;
  readonly principalName: string;
}): ListedSecret {
  return { ...toSecret(secret), principalName };
}

/** The hash is looked for, never handed out. */
function toSecret(row: SecretRow): OwnedSecret {
  const { id, principalId, suffix, label, createdAtUs } = row;
  return { id, principalId, suffix, label, createdAtUs, terms: toTerms(row) };
}

export function toFoundSecret(row: SecretRow, principal: typeof principals.$inferSelect): FoundSecret {
  const secret = toSecret(row);
  const { pausedBy, expiresAtUs } = secret.terms;
  const endsAtUs = pausedBy === null ? (expiresAtUs ?? Infinity) : -Infinity;
  return { secret, principal, endsAtUs };
}

export function toTermColumns({ models, adminModels, ...terms }: SecretTerms) {
  return { ...terms, models: toJsonList(models), adminModels: toJsonList(adminModels) };
}

function toTerms({ expiresAtUs, models, pausedBy, adminExpiresAtUs, adminModels }: SecretRow): SecretTerms {
  return {
    expiresAtUs,
    models: toAliases(models),
    pausedBy,
    adminExpiresAtUs,
    adminModels: toAliases(adminModels),
  };
}

function toJsonList(aliases: ReadonlySet<string> | null): string | null {
  return aliases === null ? null : JSON.stringify([...aliases]);
}

/** A list that cannot be read allows nothing. */
function toAliases(text: string | null): ReadonlySet<string> | null {
  if (text === null) return null;
  const list: unknown = JSON.parse(text);
  return new Set(Array.isArray(list) ? list.filter((alias) => typeof alias === "string") : []);
}
