import type { Clock } from "#kernel/clock.ts";
import type { Keyring } from "#kernel/keyring.ts";
import type { CatalogDriver } from "#storage/catalog/catalog-driver.ts";
import { ChangeTransaction } from "#storage/catalog/change.ts";
import type { StoreMemory } from "#storage/catalog/memory.ts";
import { createCatalogStores } from "#storage/catalog/stores.ts";
import type { CatalogStores } from "#storage/engine.ts";
import { POSTGRES } from "#storage/sql/dialect.ts";
import { toUnreachableRefusal, UnreachableError } from "#kernel/errors.ts";
import { drive, toConnection } from "#storage/postgres/connection/drive.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import type { Freshness } from "#storage/replicas/freshness.ts";
import type { CatalogFollower } from "./follower.ts";

export interface PostgresDriverDeps {
  readonly postgres: Postgres;
  readonly freshness: Freshness;
  readonly memory: StoreMemory;
  /** Brings `memory` to a version. */
  readonly follower: CatalogFollower;
}

const SNAPSHOT = { isReadOnly: true, isolation: "repeatable read" } as const;

/**
 * Runs scripts on the catalog of replicas (`replicas/`): a change waits until each of them follows it or is fenced. Memory is
 * trusted while the trust window is open. What is asked of a database that is away is refused with `internal_error`.
 */
function createPostgresDriver(deps: PostgresDriverDeps): CatalogDriver {
  const { postgres, freshness, memory } = deps;
  return {
    read: (script) =>
      postgres.transaction((tx) => drive(tx, toConnection(), script()), SNAPSHOT).catch(throwRefusal),
    ask: (script) => drive(postgres, toConnection(), script()).catch(throwRefusal),
    change: (script) => changeBy(deps, (tx, transaction) => drive(tx, transaction, script())),
    aside: (script) => postgres.transaction((tx) => drive(tx, toConnection(), script())).catch(throwRefusal),
    put: (script) => drive(postgres, toConnection(), script()).catch(throwRefusal),
    memory: {
      isTrusted: () => freshness.isTrusted(),
      async current() {
        if (!freshness.isTrusted()) await freshness.refreshed().catch(throwRefusal);
      },
      catalog: () => memory.catalog(),
      limits: () => memory.limits(),
      keys: memory.keys,
      relayTokens: memory.relayTokens,
      catalogAfter: () => memory.catalogAfter(),
    },
  };
}

/** One change: memory is brought to what the lock has found, and to what was made of it in the turn of the COMMIT. */
export function changeBy<Answer>(
  { freshness, follower }: Pick<PostgresDriverDeps, "freshness" | "follower">,
  step: (tx: Transaction, transaction: ChangeTransaction) => Promise<Answer>,
): Promise<Answer> {
  return freshness.mutate(async (tx, { before, next }) => {
    while (!follower.isAt(before)) (await follower.follow(tx))();
    const transaction = new ChangeTransaction(POSTGRES);
    const result = await step(tx, transaction);
    const { changes } = transaction;
    if (changes.length === 0) return { result, changes };
    const install = await follower.readOwn(tx, transaction, next);
    return { result, changes, committed: () => void install() };
  });
}

function throwRefusal(cause: unknown): never {
  throw cause instanceof UnreachableError ? toUnreachableRefusal(cause) : cause;
}

export interface StoresOptions extends PostgresDriverDeps {
  readonly secrets: Keyring;
  readonly clock: Pick<Clock, "nowUs">;
}

/** The catalog's stores of a replica. */
export function createStores(options: StoresOptions): CatalogStores {
  const { memory, secrets, clock } = options;
  const driver = createPostgresDriver(options);
  return createCatalogStores(driver, { secrets, clock, tell: memory.tell, isShared: true });
}
