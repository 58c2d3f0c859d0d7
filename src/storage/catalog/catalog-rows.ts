import type { Model } from "#catalog/model.ts";
import type { Principal } from "#identity/principal.ts";
import type { ListedSecret, NewSecret, OwnedSecret } from "#identity/secret.ts";
import type { FoundSecret, Rotation, SecretChange } from "#identity/store.ts";
import { mergeTags } from "#kernel/tags.ts";
import { type ModelValues, type PrincipalRow, principals, type SecretRow } from "./tables.ts";
import { isReadable, type TellUnreadable } from "./unreadable.ts";

/** None is a row that is neither a binding nor a name, which the CHECK of its table refuses. */
export function toModels(row: ModelValues): readonly Model[] {
  const { providerId, upstreamName, capabilities, targetId, ...columns } = row;
  if (targetId !== null) return [{ ...columns, route: { kind: "name", targetId } }];
  if (providerId === null || upstreamName === null || capabilities === null) return [];
  return [{ ...columns, route: { kind: "binding", providerId, upstreamName, capabilities } }];
}

export function toModelRow({ route, ...columns }: Model): ModelValues {
  if (route.kind === "name")
    return { ...columns, targetId: route.targetId, providerId: null, upstreamName: null, capabilities: null };
  const { providerId, upstreamName, capabilities } = route;
  return { ...columns, targetId: null, providerId, upstreamName, capabilities };
}

/** A principal whose fixed tags cannot be read is disabled: a budget that counts them would not hold for it. */
export function toPrincipal(row: PrincipalRow, tell: TellUnreadable = () => undefined): Principal {
  return isReadable(principals, row, tell) ? row : { ...row, tags: [], enabled: false };
}

/** A secret with the name of its owner. */
export type ListedSecretRow = SecretRow & { readonly principalName: string };

export function toListedSecret({ principalName, ...secret }: ListedSecretRow): ListedSecret {
  return { ...toSecret(secret), principalName };
}

const NO_ALIASES: ReadonlySet<string> = new Set();

/** The hash is looked for, never handed out. A list of models that cannot be read allows none. */
function toSecret(row: SecretRow): OwnedSecret {
  const { id, principalId, suffix, label, createdAtUs } = row;
  const { expiresAtUs, pausedBy, scopedBy, adminExpiresAtUs } = row;
  const { models = NO_ALIASES, adminModels = NO_ALIASES, tags = [] } = row;
  const terms = { expiresAtUs, models, pausedBy, scopedBy, adminExpiresAtUs, adminModels };
  return { id, principalId, suffix, label, createdAtUs, terms, tags };
}

/**
 * A secret as it is for the holder of the plaintext with this hash: the one in force, or the one before. One whose tags cannot
 * be read opens nothing.
 */
export function toFoundSecret(
  { secret: row, principal }: { readonly secret: SecretRow; readonly principal: Principal },
  hash: string,
): FoundSecret {
  const secret = toSecret(row);
  const { pausedBy, expiresAtUs } = secret.terms;
  const formerUntilUs = row.hash === hash ? null : (row.formerUntilUs ?? -Infinity);
  const isOpen = pausedBy === null && row.tags !== undefined;
  const endsAtUs = isOpen ? Math.min(expiresAtUs ?? Infinity, formerUntilUs ?? Infinity) : -Infinity;
  // SQLite keeps a word in a column of numbers, which is neither before nor behind any instant: it opens nothing.
  return {
    secret,
    principal,
    fixedTags: mergeTags(secret.tags, principal.tags),
    endsAtUs: Number.isNaN(endsAtUs) ? -Infinity : endsAtUs,
    formerUntilUs,
  };
}

/** Returns what a change makes of a secret, and the columns that it writes. */
export function applySecretChange(found: ListedSecretRow, plan: (before: OwnedSecret) => SecretChange) {
  const before = toListedSecret(found);
  const { terms = before.terms, rotation, ...change } = plan(before);
  return {
    after: { ...before, ...change, terms, suffix: rotation?.suffix ?? before.suffix },
    columns: {
      ...change,
      ...terms,
      ...(rotation !== undefined && toRotationColumns(rotation, found)),
    },
  };
}

/** Without grace the former hash stays too, and opens nothing: a file that has the former secret must not bring it back. */
function toRotationColumns({ hash, suffix, formerUntilUs }: Rotation, before: SecretRow) {
  return { hash, suffix, formerHash: before.hash, formerUntilUs };
}

/** A new secret's columns. */
export function toSecretRow({ terms, ...columns }: NewSecret) {
  return { ...columns, ...terms };
}
