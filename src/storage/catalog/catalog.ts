import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { CatalogChange, CatalogPlan, CatalogStore, CatalogWrite } from "#catalog/store.ts";
import { type ErrorCode, ProxyError } from "#kernel/errors.ts";
import type { Script } from "#storage/sql/script.ts";
import { recordAudit } from "./audit.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { applyWrites } from "./catalog-writes.ts";
import { changeTransaction } from "./change.ts";
import type { StoreMemory, UnseenRows } from "./memory.ts";
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
      const after: CatalogSnapshot[] = [];
      const toResult = await change(function* () {
        requireSecretPresent(memory.secrets);
        const { result } = yield* applyPlan(plan, memory);
        (yield* changeTransaction()).onTakenOver = () => void after.push(memory.catalog());
        return result;
      });
      // Where the answer to the COMMIT was lost memory has followed it by itself.
      return toResult(after.at(0) ?? memory.catalog());
    },
  };
}

/** Carries a plan out within a change, with its audit entries; what it is of the catalog that it found. */
export function* applyPlan<Result>(
  plan: CatalogPlan<Result>,
  memory: StoreMemory,
): Script<CatalogChange<Result>> {
  let planned = plan(memory.catalog());
  if (findUnseen(planned.writes, memory.unseen()) !== null) {
    // A row that somebody has corrected or deleted by hand is in no log of changes.
    (yield* memory.read([{ kind: "catalog", id: null }]))();
    planned = plan(memory.catalog());
    const conflict = findUnseen(planned.writes, memory.unseen());
    if (conflict !== null) throw conflict;
  }
  yield* recordAudit(planned.audit);
  if (planned.writes.length > 0) yield* applyWrites(planned.writes, memory);
  return planned;
}

/**
 * A row that the plan did not see is out of force, since it or one that it needs cannot be read. Its name is taken all the
 * same, and its provider cannot go before it: without this the schema would refuse the change as a bug. The conflict; null when
 * there is none.
 */
function findUnseen(writes: readonly CatalogWrite[], { providers, models }: UnseenRows): ProxyError | null {
  for (const write of writes) {
    if (write.kind === "put_provider" && providers.some(({ name }) => name === write.provider.name))
      return toConflict("provider_exists", `A provider "${write.provider.name}"`);
    if (write.kind === "put_model" && models.some(({ alias }) => alias === write.model.alias))
      return toConflict("alias_exists", `A model "${write.model.alias}"`);
    const bound = write.kind === "delete_provider" && models.find((model) => model.providerId === write.id);
    if (bound) return toConflict("model_in_use", `A model "${bound.alias}" of this provider`);
  }
  return null;
}

function toConflict(code: ErrorCode, row: string): ProxyError {
  return new ProxyError(
    code,
    `${row} is in the database and not in force, since its row or one that it needs cannot be read: correct or delete that row, as lockport doctor says.`,
  );
}
