import type { InstantUs } from "#kernel/clock.ts";
import { boundRetention, pruneRows, type Retention } from "#storage/cells/retention.ts";
import { sealCells } from "#storage/cells/sealing.ts";
import { POSTGRES } from "#storage/sql/dialect.ts";
import type { Connection, Script } from "#storage/sql/script.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { drive } from "#storage/postgres/connection/drive.ts";
import { isForbidden, runStep } from "./leader.ts";
import { makePartitions } from "./partitions.ts";
import { dropDay, trimRecorded } from "./retention.ts";

/**
 * What is done to the ledger beside recording, by one replica at a time, step by step. Every step is one transaction and
 * tells whether there may be more.
 */
export class Maintenance {
  readonly #postgres: Postgres;
  readonly #connection: Connection = { dialect: POSTGRES };

  constructor(postgres: Postgres) {
    this.#postgres = postgres;
  }

  /** Makes partitions of `event` ahead. False as well where the role may not: rows are kept by the default partition. */
  async makePartitions(nowUs: InstantUs): Promise<boolean> {
    try {
      return (await makePartitions(this.#postgres, nowUs)) === "more";
    } catch (cause) {
      if (isForbidden(cause)) return false;
      throw cause;
    }
  }

  /** See `sealCells`. */
  seal(beforeDay: number): Promise<boolean> {
    return this.#step(() => sealCells(beforeDay));
  }

  /** Null when another replica is at it. */
  async boundRetention(retention: Retention): Promise<InstantUs | null> {
    let beforeUs: InstantUs | null = null;
    await runStep(this.#postgres, async (tx) => {
      beforeUs = await drive(tx, this.#connection, boundRetention(retention));
      return "done";
    });
    return beforeUs;
  }

  /** Removes rows before `beforeUs`: whole days with their partition, unless the role may not drop it, and the rest in slices. */
  async prune(beforeUs: InstantUs): Promise<boolean> {
    try {
      if (await this.#run((tx) => dropDay(tx, this.#connection, beforeUs))) return true;
    } catch (cause) {
      if (!isForbidden(cause)) throw cause;
    }
    return this.#step(() => pruneRows(beforeUs));
  }

  /** Removes what is too old of the order in which events were recorded. */
  trimRecorded(): Promise<boolean> {
    return this.#run(trimRecorded);
  }

  /** Removes the last use of keys and relay tokens that are deleted. */
  async forgetDeletedKeys(): Promise<void> {
    await this.#postgres.run(
      "DELETE FROM key_use WHERE key_id NOT IN (SELECT id FROM api_keys UNION ALL SELECT id FROM relay_tokens)",
    );
  }

  #step(script: () => Script<boolean>): Promise<boolean> {
    return this.#run((tx) => drive(tx, this.#connection, script()));
  }

  async #run(step: (tx: Transaction) => Promise<boolean>): Promise<boolean> {
    return (await runStep(this.#postgres, async (tx) => ((await step(tx)) ? "more" : "done"))) === "more";
  }
}
