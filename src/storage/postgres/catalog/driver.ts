import type { CatalogDriver } from "#storage/catalog/catalog-driver.ts";
import { ChangeTransaction } from "#storage/catalog/change.ts";
import { POSTGRES } from "#storage/sql/dialect.ts";
import { drive, toConnection } from "#storage/postgres/drive.ts";
import type { Freshness } from "#storage/replicas/freshness.ts";
import type { Script } from "#storage/sql/script.ts";
import { renewStates } from "./catalog-picture.ts";
import type { StoreMemory } from "./memory.ts";
import type { Reads } from "./reads.ts";

/** Runs scripts on the catalog of replicas (`replicas/`): a change waits until each of them follows it or is fenced. */
export function createPostgresDriver(reads: Reads, freshness: Freshness, memory: StoreMemory): CatalogDriver {
  return {
    read: (script) => reads.snapshot((tx) => drive(tx, toConnection(), script())),
    ask: (script) => reads.query((sql) => drive(sql, toConnection(), script())),
    change: (script) => changeWith(freshness, script),
    aside: (script) => reads.writeAside((tx) => drive(tx, toConnection(), script())),
    put: (script) => reads.query((sql) => drive(sql, toConnection(), script())),
    memory: {
      isTrusted: () => freshness.isTrusted(),
      current: () => reads.current(),
      catalog: () => memory.catalog.snapshot(),
      limits: () => memory.limits.set(),
      catalogAfter: () => {
        throw new Error("the catalog is not remembered here yet");
      },
    },
  };
}

/** A change of the catalog. Every replica follows it, when this is fulfilled. */
export function changeWith<Answer>(
  freshness: Pick<Freshness, "mutate">,
  script: () => Script<Answer>,
): Promise<Answer> {
  return freshness.mutate(async (tx) => {
    const transaction = new ChangeTransaction(POSTGRES);
    const result = await drive(tx, transaction, script());
    const { changes } = transaction;
    const kinds = new Set(changes.map(({ kind }) => kind));
    if (kinds.has("catalog")) await renewStates(tx, kinds.has("price"));
    return { result, changes };
  });
}
