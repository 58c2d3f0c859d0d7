import type { CatalogPicture } from "#catalog/snapshot.ts";
import type { CatalogStore, CatalogWrite } from "#catalog/store.ts";
import { type ErrorCode, ProxyError } from "#kernel/errors.ts";
import { all, dialectOf, type Script } from "#storage/sql/script.ts";
import { recordAudit } from "./audit.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { applyWrites } from "./catalog-writes.ts";
import { requireSecretPresent } from "./secret-state.ts";

/** Providers, models, prices and the newest feed. A write that breaks a rule of the schema is a bug of its plan, and nothing is written. */
export function createCatalogStore({ change, memory, isTrusted, current }: CatalogDriver): CatalogStore {
  return {
    peek: () => (isTrusted() ? memory.catalog() : null),
    async snapshot() {
      await current();
      return memory.catalog();
    },
    async change(plan) {
      const { toResult, after } = await change(function* () {
        requireSecretPresent(memory.secrets);
        const before = memory.catalog();
        const { writes, audit, result } = plan(before);
        yield* requireAllSeen(writes, before);
        yield* recordAudit(audit);
        if (writes.length === 0) return { toResult: result, after: before };
        yield* applyWrites(writes);
        return { toResult: result, after: yield* memory.catalogAfter() };
      });
      return toResult(after);
    },
  };
}

const CLAIMED = {
  provider: { from: "providers", name: "name", by: "name" },
  model: { from: "models", name: "alias", by: "alias" },
  model_of_provider: { from: "models", name: "alias", by: "provider_id" },
} as const;

type Claim = keyof typeof CLAIMED;

interface ClaimedRow {
  readonly claim: Claim;
  readonly id: string;
  readonly name: string;
}

/**
 * A row that the plan did not see is out of force, since it or one that it needs cannot be read. Its name is taken all the
 * same, and its provider cannot go before it: without this the schema would refuse the change as a bug. Throws a conflict.
 */
function* requireAllSeen(writes: readonly CatalogWrite[], before: CatalogPicture): Script<void> {
  for (const { claim, id, name } of yield* readClaimed(toClaims(writes, before))) {
    if (claim === "provider" && before.findProviderById(id) === null)
      throw toConflict("provider_exists", `A provider "${name}"`);
    if (claim === "model" && before.findModelById(id) === null)
      throw toConflict("alias_exists", `A model "${name}"`);
    if (claim === "model_of_provider" && before.findModelById(id) === null)
      throw toConflict("model_in_use", `A model "${name}" of this provider`);
  }
}

/** What a change takes or gives up: names by what they are of, and ids of providers that go. */
type Claims = { readonly [claim in Claim]: readonly string[] };

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

function* readClaimed(claims: Claims): Script<readonly ClaimedRow[]> {
  // Usually nothing is claimed that another row could have.
  if (Object.values(claims).every((list) => list.length === 0)) return [];
  const { isAnyOf } = yield* dialectOf();
  const claimed = Object.entries(CLAIMED).map(
    ([claim, { from, name, by }]) =>
      `SELECT '${claim}' AS claim, id, ${name} AS name FROM ${from} WHERE ${isAnyOf(by, "text")}`,
  );
  const lists = [claims.provider, claims.model, claims.model_of_provider];
  return yield* all<ClaimedRow>(claimed.join(" UNION ALL "), lists);
}

function toConflict(code: ErrorCode, row: string): ProxyError {
  return new ProxyError(
    code,
    `${row} is in the database and not in force, since its row or one that it needs cannot be read: correct or delete that row, as lockport doctor says.`,
  );
}
