import type { CatalogPicture } from "#catalog/snapshot.ts";
import type { CatalogWrite } from "#catalog/store.ts";
import { type ErrorCode, ProxyError } from "#kernel/errors.ts";

const LOOKS = {
  provider: { from: "providers", name: "name", by: "name" },
  model: { from: "models", name: "alias", by: "alias" },
  model_of_provider: { from: "models", name: "alias", by: "provider_id" },
} as const;

type Claim = keyof typeof LOOKS;

/** What a change takes or gives up: names by what they are of, and ids of providers that go. */
type Claims = { readonly [claim in Claim]: readonly string[] };

export interface ClaimedRow {
  readonly claim: string;
  readonly id: string;
  readonly name: string;
}

/** `toList` spells a list whose values are bound as one JSON array, in the order of `toClaimValues`. */
export function toClaimedRowsSql(toList: (place: number) => string): string {
  return Object.entries(LOOKS)
    .map(
      ([claim, { from, name, by }], index) =>
        `SELECT '${claim}' AS claim, id, ${name} AS name FROM ${from} WHERE ${by} IN (${toList(index + 1)})`,
    )
    .join(" UNION ALL ");
}

/** Null: nothing is claimed that another row could have, as is usual. */
export function toClaimValues(
  writes: readonly CatalogWrite[],
  before: CatalogPicture,
): readonly string[] | null {
  const { provider, model, model_of_provider: gone } = toClaims(writes, before);
  const lists = [provider, model, gone];
  return lists.every((list) => list.length === 0) ? null : lists.map((list) => JSON.stringify(list));
}

function toClaims(writes: readonly CatalogWrite[], before: CatalogPicture): Claims {
  const claims: { [claim in Claim]: string[] } = { provider: [], model: [], model_of_provider: [] };
  for (const write of writes) {
    if (write.kind === "put_provider") {
      const { id, name } = write.provider;
      if (before.findProviderById(id)?.name !== name) claims.provider.push(name);
    } else if (write.kind === "put_model") {
      const { id, alias } = write.model;
      if (before.findModelById(id)?.model.alias !== alias) claims.model.push(alias);
    } else if (write.kind === "delete_provider") claims.model_of_provider.push(write.id);
  }
  return claims;
}

/**
 * A row that the plan did not see is out of force, since it or one that it needs cannot be read. Its name is taken all the
 * same, and its provider cannot go before it: without this the schema would refuse the change as a bug. Throws a conflict.
 */
export function requireAllSeen(rows: readonly ClaimedRow[], before: CatalogPicture): void {
  for (const { claim, id, name } of rows) {
    if (claim === "provider" && before.findProviderById(id) === null)
      throw toConflict("provider_exists", `A provider "${name}"`);
    if (claim === "model" && before.findModelById(id) === null)
      throw toConflict("alias_exists", `A model "${name}"`);
    if (claim === "model_of_provider" && before.findModelById(id) === null)
      throw toConflict("model_in_use", `A model "${name}" of this provider`);
  }
}

function toConflict(code: ErrorCode, row: string): ProxyError {
  return new ProxyError(
    code,
    `${row} is in the database and not in force, since its row or one that it needs cannot be read: correct or delete that row, as lockport doctor says.`,
  );
}
