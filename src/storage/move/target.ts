import type { Log } from "#kernel/log.ts";
import type { PostgresDatabase } from "#storage/place.ts";

export interface MoveWatch {
  /** What is done now, and how far it is, from 0 to 1; null for what has no measure. */
  readonly step: (sentence: string, share: number | null) => void;
  readonly signal: AbortSignal;
}

export interface MoveTarget {
  readonly target: PostgresDatabase;
  readonly log: Log;
}

/** How many rows were moved, by table. */
export type MovedRows = ReadonlyMap<string, number>;
