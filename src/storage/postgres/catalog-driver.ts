import { isPassing, toUnreachableRefusal, UnreachableError } from "#kernel/errors.ts";
import type { CatalogDriver } from "#storage/catalog/catalog-driver.ts";
import type { StoreMemory } from "#storage/catalog/memory.ts";
import type { Script } from "#storage/sql/script.ts";
import { drive } from "./connection/drive.ts";
import type { Postgres } from "./connection/postgres.ts";
import type { TransactionOptions } from "./connection/transaction.ts";
import type { Freshness } from "#storage/replicas/freshness.ts";

export interface PostgresDriverDeps {
  readonly postgres: Postgres;
  readonly freshness: Pick<Freshness, "isTrusted" | "refreshed" | "change">;
  readonly memory: StoreMemory;
}

const SNAPSHOT = { isReadOnly: true, isolation: "repeatable read" } as const;

/**
 * Runs scripts on the catalog of replicas (`replicas/`): a change waits until each of them follows it or is fenced. Memory is
 * trusted while the trust window is open. What is asked of a database that is away is refused with `internal_error`.
 */
export function createPostgresDriver({ postgres, freshness, memory }: PostgresDriverDeps): CatalogDriver {
  const ask = <Answer>(script: () => Script<Answer>) => drive(postgres, script()).catch(throwRefusal);
  const transact = <Answer>(script: () => Script<Answer>, options?: TransactionOptions) =>
    postgres.transaction((tx) => drive(tx, script()), options).catch(throwRefusal);
  return {
    read: (script) => transact(script, SNAPSHOT),
    ask,
    change: (script) => freshness.change(script),
    aside: (script) => transact(script),
    put: ask,
    isShared: true,
    memory,
    isTrusted: freshness.isTrusted,
    async current() {
      if (!freshness.isTrusted()) await freshness.refreshed().catch(throwUnanswered);
    },
  };
}

/** The driver of an installation that was opened to be read. */
export function toReadingDriver(driver: CatalogDriver): CatalogDriver {
  const refuse = () => Promise.reject(new TypeError("the installation was opened to be read"));
  return { ...driver, change: refuse, aside: refuse, put: refuse };
}

function throwRefusal(cause: unknown): never {
  throw cause instanceof UnreachableError ? toUnreachableRefusal(cause, cause.mayBeCommitted) : cause;
}

/** What is in force could not be asked for: the question renews the replica's own row, and changes nothing that a caller knows of. */
function throwUnanswered(cause: unknown): never {
  throw isPassing(cause) ? toUnreachableRefusal(cause, false) : cause;
}
