import type { Log } from "#kernel/log.ts";
import type { PostgresDatabase } from "#storage/engine.ts";
import type { MovedTable } from "./tables.ts";

export type Cell = string | number | Uint8Array | null;

/** An installation that is to be moved, all of it as of one moment. */
export interface InstallationSource {
  /** The columns of a table, in the order of `batches`. */
  columnsOf(table: MovedTable): readonly string[];
  countRows(table: MovedTable): number;
  /** All rows in the table's order, each in that of its columns; so many at a time, and fewer at the end alone. */
  batches(table: MovedTable, rowsMax: number): Iterable<readonly (readonly Cell[])[]>;
  /** The UTC days since 1970 that have rows in the request log, ascending. */
  readonly days: readonly number[];
  close(): void;
}

/** Follows a move, and interrupts it. */
export interface MoveProgress {
  /** Tells the present step and its share, from 0 to 1; null for a step without a measure. */
  readonly step: (sentence: string, share: number | null) => void;
  readonly signal: AbortSignal;
}

/** Where an installation goes. */
export interface MoveTarget {
  readonly target: PostgresDatabase;
  readonly log: Log;
}

/** The number of rows that were moved, by table. */
export type MovedRows = ReadonlyMap<string, number>;
