import type { CatalogStore } from "#catalog/store.ts";
import type { Keyring } from "#kernel/keyring.ts";
import { isOfPrice } from "#storage/catalog/catalog-rows.ts";
import type { CatalogDriver } from "#storage/catalog/catalog-driver.ts";
import {
  type ClaimedRow,
  requireAllSeen,
  toClaimedRowsSql,
  toClaimValues,
} from "#storage/catalog/unseen-rows.ts";
import { drive } from "#storage/postgres/drive.ts";
import type { RecordAudit } from "./audit.ts";
import { applyWrites } from "./catalog-writes.ts";
import { changeBy, type PostgresDriverDeps } from "./driver.ts";
import { followPresentSecret } from "#storage/catalog/secret-state.ts";

const CLAIMED_ROWS = toClaimedRowsSql(
  (place) => `SELECT json_array_elements_text($${place}::text::json) COLLATE "C"`,
);

interface CatalogParts extends PostgresDriverDeps {
  readonly secrets: Keyring;
  readonly recordAudit: RecordAudit;
}

/** The catalog in PostgreSQL. A write that breaks a rule of the schema is a bug of its plan, and nothing is written. */
export function createCatalogStore(
  { memory: remembered }: Pick<CatalogDriver, "memory">,
  parts: CatalogParts,
): CatalogStore {
  const { memory, secrets, recordAudit } = parts;
  return {
    peek: () => (remembered.isTrusted() ? memory.catalog() : null),
    async snapshot() {
      await remembered.current();
      return memory.catalog();
    },

    async change(plan) {
      const { toResult, after } = await changeBy(parts, async (tx, transaction) => {
        // Under the lock: no other replica changes the catalog between here and the COMMIT.
        await drive(tx, transaction, followPresentSecret(secrets));
        const before = memory.catalog();
        const { writes, audit, result } = plan(before);
        const claims = toClaimValues(writes, before);
        if (claims !== null) requireAllSeen(await tx.all<ClaimedRow>(CLAIMED_ROWS, claims), before);
        await recordAudit(tx, audit);
        if (writes.length === 0) return { toResult: result, after: before };
        const isOfLimits = await applyWrites(tx, writes);
        const { changes } = transaction;
        changes.push({ kind: "catalog", id: null });
        if (writes.some(isOfPrice)) changes.push({ kind: "price", id: null });
        if (isOfLimits) changes.push({ kind: "limit", id: null });
        return { toResult: result, after: await drive(tx, transaction, memory.catalogAfter()) };
      });
      return toResult(after);
    },
  };
}
