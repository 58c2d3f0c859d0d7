import type { CatalogStore } from "#catalog/store.ts";
import { isOfPrice } from "#storage/catalog/catalog-rows.ts";
import {
  type ClaimedRow,
  requireAllSeen,
  toClaimedRowsSql,
  toClaimValues,
} from "#storage/catalog/unseen-rows.ts";
import type { Change } from "#storage/catalog/change.ts";
import { readCatalog, renewStates } from "./catalog-picture.ts";
import { applyWrites } from "./catalog-writes.ts";
import type { StoreMemory } from "./memory.ts";
import type { StoreSteps } from "./secret-store.ts";

const CLAIMED_ROWS = toClaimedRowsSql(
  (place) => `SELECT json_array_elements_text($${place}::text::json) COLLATE "C"`,
);

/** The catalog in PostgreSQL. A write that breaks a rule of the schema is a bug of its plan, and nothing is written. */
export function createCatalogStore(
  { catalog: memory, followSecret }: Pick<StoreMemory, "catalog" | "followSecret">,
  { reads, freshness, recordAudit }: StoreSteps,
): CatalogStore {
  return {
    peek: () => (freshness.isTrusted() ? memory.snapshot() : null),
    async snapshot() {
      await reads.current();
      return memory.snapshot();
    },

    async change(plan) {
      const { toResult, picture } = await freshness.mutate(async (tx) => {
        // Under the lock: no other replica changes the catalog between here and the COMMIT.
        await followSecret(tx);
        const before = await readCatalog(tx, memory.known(), memory.tell);
        const { writes, audit, result } = plan(before.snapshot);
        const claims = toClaimValues(writes, before.snapshot);
        if (claims !== null) requireAllSeen(await tx.all<ClaimedRow>(CLAIMED_ROWS, claims), before.snapshot);
        await recordAudit(tx, audit);
        if (writes.length === 0) return { result: { toResult: result, picture: before }, changes: [] };
        const isOfLimits = await applyWrites(tx, writes);
        await renewStates(tx, writes.some(isOfPrice));
        const after = await readCatalog(tx, [before], memory.tell);
        memory.expect(after);
        const changes: Change[] = [{ kind: "catalog", id: null }];
        if (isOfLimits) changes.push({ kind: "limit", id: null });
        return { result: { toResult: result, picture: after }, changes };
      });
      return toResult(picture.snapshot);
    },
  };
}
