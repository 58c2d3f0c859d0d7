import type { CatalogVersion, ChangeTransaction } from "#storage/catalog/change.ts";
import { Follower, type Memory } from "#storage/catalog/follower.ts";
import { drive, toConnection } from "#storage/postgres/connection/drive.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import type { Following } from "#storage/replicas/follower.ts";

/** Brings memory to versions of the catalog in PostgreSQL. */
export class CatalogFollower implements Following {
  readonly #follower: Follower;

  constructor(memory: Memory) {
    this.#follower = new Follower(memory);
  }

  get applied(): CatalogVersion | null {
    return this.#follower.applied;
  }

  isAt(version: CatalogVersion): boolean {
    return this.#follower.isAt(version);
  }

  forget(): void {
    this.#follower.forget();
  }

  follow(tx: Transaction, onForeign?: () => void): Promise<() => boolean> {
    return drive(tx, toConnection(), this.#follower.follow(onForeign));
  }

  /** See `Follower.readOwn`; `transaction` is the change's own. */
  readOwn(tx: Transaction, transaction: ChangeTransaction, next: CatalogVersion): Promise<() => boolean> {
    return drive(tx, transaction, this.#follower.readOwn(transaction.changes, next));
  }
}
