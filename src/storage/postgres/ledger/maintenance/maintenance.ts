import type { InstantUs } from "#kernel/clock.ts";
import type { DimensionLimits } from "#storage/cells/dimension-values.ts";
import type { Retention } from "#storage/threads/writer-tasks.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { sealCells } from "#storage/cells/sealing.ts";
import { POSTGRES } from "#storage/sql/dialect.ts";
import { drive } from "#storage/postgres/drive.ts";
import { type CellsPlace, sealHour, sealMonth } from "./cells.ts";
import { isForbidden, runStep, type StepResult } from "./leader.ts";
import { makePartitions } from "./partitions.ts";
import { boundRetention, dropDay, pruneRows, trimRecorded } from "./retention.ts";
import { sealDay } from "./sealing.ts";

/**
 * What is done to the ledger beside recording, by one replica at a time, step by step. Every step is one transaction and
 * tells whether there may be more.
 */
export class Maintenance {
  readonly #postgres: Postgres;
  readonly #limits: DimensionLimits | undefined;
  #place: CellsPlace = { hour: 0, month: 0 };

  constructor(postgres: Postgres, limits?: DimensionLimits) {
    this.#postgres = postgres;
    this.#limits = limits;
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

  /** Begins a look: what was passed in the one before is looked at again. */
  begin(): void {
    this.#place = { hour: 0, month: 0 };
  }

  /** Seals days before `beforeDay`, then adds up hours and months of sealed days. */
  async seal(beforeDay: number): Promise<boolean> {
    return (
      (await this.#step((tx) => sealDay(tx, beforeDay, this.#limits))) ||
      (await this.#step((tx) => drive(tx, { dialect: POSTGRES }, sealCells(beforeDay)))) ||
      (await this.#addUp(sealHour)) ||
      this.#addUp(sealMonth)
    );
  }

  /** A step that was rolled back is made again from the same place. */
  async #addUp(step: (tx: Transaction, place: CellsPlace) => Promise<boolean>): Promise<boolean> {
    let place = this.#place;
    const hasMore = await this.#step((tx) => step(tx, (place = { ...this.#place })));
    this.#place = place;
    return hasMore;
  }

  /** Null when another replica is at it. */
  async boundRetention(retention: Retention): Promise<InstantUs | null> {
    let beforeUs: InstantUs | null = null;
    await runStep(this.#postgres, async (tx) => {
      beforeUs = await boundRetention(tx, retention);
      return "done";
    });
    return beforeUs;
  }

  /** Removes rows before `beforeUs`: whole days with their partition, unless the role may not drop it, and the rest in slices. */
  async prune(beforeUs: InstantUs): Promise<boolean> {
    try {
      if (await this.#step((tx) => dropDay(tx, beforeUs))) return true;
    } catch (cause) {
      if (!isForbidden(cause)) throw cause;
    }
    return this.#step((tx) => pruneRows(tx, beforeUs));
  }

  /** Removes what is too old of the order in which events were recorded. */
  trimRecorded(): Promise<boolean> {
    return this.#step(trimRecorded);
  }

  async #step(step: (tx: Transaction) => Promise<boolean>): Promise<boolean> {
    const result: StepResult = await runStep(this.#postgres, async (tx) =>
      (await step(tx)) ? "more" : "done",
    );
    return result === "more";
  }
}
