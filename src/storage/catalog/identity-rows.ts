import type { ListedSecret, NewSecret, OwnedSecret } from "#identity/secret.ts";
import type { SecretTerms } from "#identity/secret-terms.ts";
import type { FoundSecret, Rotation, SecretChange } from "#identity/store.ts";
import type { Principal, PrincipalChange } from "#identity/principal.ts";
import { mergeTags } from "#kernel/tags.ts";
import { fromTags, parseJson, readTags } from "./json-columns.ts";
import type { PrincipalRow, SecretRow } from "./tables.ts";
import type { TellUnreadable } from "./unreadable.ts";

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
  return { id, principalId, suffix, label, createdAtUs, terms: toTerms(row), tags: readTags(row.tags) ?? [] };
}

/** As it is for the holder of the plaintext with this hash: the one in force, or the one before. */
export function toFoundSecret(
  { secret: row, principal }: { readonly secret: SecretRow; readonly principal: Principal },
  hash: string,
): FoundSecret {
  const secret = toSecret(row);
  const { pausedBy, expiresAtUs } = secret.terms;
  const formerUntilUs = row.hash === hash ? null : (row.formerUntilUs ?? -Infinity);
  const isOpen = pausedBy === null && readTags(row.tags) !== null;
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

/** The columns of a secret that hold a list which cannot be read: it allows no model, and without its tags it opens nothing. */
export function tellUnreadableTerms(table: string, row: SecretRow, tell: TellUnreadable): void {
  const { id, models, adminModels, tags } = row;
  if (models !== null && !isReadableAliases(models)) tell({ table, id, column: "models" });
  if (adminModels !== null && !isReadableAliases(adminModels)) tell({ table, id, column: "admin_models" });
  if (readTags(tags) === null) tell({ table, id, column: "tags" });
}

export function isReadableAliases(text: string): boolean {
  const list = parseJson(text);
  return Array.isArray(list) && list.every((alias) => typeof alias === "string");
}

/** What a change makes of a secret, and the columns that it writes. */
export function applySecretChange(
  found: { readonly secret: SecretRow; readonly principalName: string },
  plan: (before: OwnedSecret) => SecretChange,
) {
  const before = toListedSecret(found);
  const { label = before.label, terms = before.terms, tags, rotation } = plan(before);
  return {
    after: {
      ...before,
      label,
      terms,
      tags: tags ?? before.tags,
      suffix: rotation?.suffix ?? before.suffix,
    },
    columns: {
      label,
      ...toTermColumns(terms),
      ...(tags !== undefined && { tags: fromTags(tags) }),
      ...(rotation !== undefined && toRotationColumns(rotation, found.secret)),
    },
  };
}

function toRotationColumns({ hash, suffix, formerUntilUs }: Rotation, before: SecretRow) {
  return { hash, suffix, formerHash: formerUntilUs === null ? null : before.hash, formerUntilUs };
}

/** A new secret's columns. */
export function toSecretRow({ terms, tags, ...columns }: NewSecret) {
  return { ...columns, ...toTermColumns(terms), tags: fromTags(tags) };
}

function toTermColumns({ models, adminModels, ...terms }: SecretTerms) {
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
  const list = parseJson(text);
  return new Set(Array.isArray(list) ? list.filter((alias) => typeof alias === "string") : []);
}

/** A principal whose fixed tags cannot be read is disabled: a budget that counts them would not hold for it. */
export function toPrincipal(row: PrincipalRow, tell?: TellUnreadable): Principal {
  const tags = readTags(row.tags);
  if (tags !== null) return { ...row, tags };
  tell?.({ table: "principals", id: row.id, column: "tags" });
  return { ...row, tags: [], enabled: false };
}

export function toPrincipalRow({ tags, ...columns }: Principal): PrincipalRow {
  return { ...columns, tags: fromTags(tags) };
}

/** A row after a change, and the columns that are written. */
export function applyPrincipalChange(row: PrincipalRow, { tags, ...change }: PrincipalChange): PrincipalRow {
  return { ...row, ...change, ...(tags !== undefined && { tags: fromTags(tags) }) };
}
