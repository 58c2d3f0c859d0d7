import type { InstantUs } from "#kernel/clock.ts";
import type { MaintenancePass } from "#storage/cells/retention.ts";
import type { JournalPosition } from "#storage/journal/segments.ts";
import type { Script } from "#storage/sql/script.ts";
import type { EndedEvent } from "./ended-event.ts";
import type { EventCosts } from "#storage/repricing/event-changes.ts";
import type { ReadOfMoment } from "./watermark-sums.ts";

/** Another process writes this journal's events from now on: this one writes no more. */
export class SupersededError extends Error {
  override readonly name = "SupersededError";
}

/** The stored position is not the one that a batch began at: a commit whose answer was lost, or an older database. */
export class PositionMovedError extends Error {
  override readonly name = "PositionMovedError";
}

/** The position of a journal in the ledger. */
export interface StoredPosition {
  readonly position: JournalPosition;
  /** The number of the last batch that had events; 0 where they have none. */
  readonly batch: number;
}

export interface PositionMove {
  readonly from: JournalPosition;
  readonly to: JournalPosition;
  readonly lastBatch: number;
  /** True where the batch has events: numbers of those follow one another. */
  readonly isRecorded: boolean;
}

/** Makes a step between two batches, behind all that waits, with the connection that is open by then. */
export type InTurn = <Answer>(step: (engine: WriterEngine) => Answer | Promise<Answer>) => Promise<Answer>;

/** An engine's connection for the writer of a journal. Its scripts run in transactions of `transact`. */
export interface WriterEngine {
  /** The number of the journal, by which its events are told from those of other replicas; 0 where there is one. */
  readonly lane: number;
  /**
   * Other writers name the same label sets: those of a batch are committed before it, so that no writer waits for another one's
   * batch, and a batch that is tried again and again uses up no ids.
   */
  readonly isShared: boolean;
  /** At most one transaction's worth of lines. */
  readonly readBytesMax: number;
  /** The time for which segments stay whose end is committed (`KeptSegments`). */
  readonly keptMs: number;
  /** Runs a script in one transaction; what it throws is thrown when nothing has changed, but for a lost answer to COMMIT. */
  transact<Answer>(script: () => Script<Answer>): Answer | Promise<Answer>;
  /** Where the journal goes on. Throws SupersededError. */
  readPosition(): Script<StoredPosition>;
  /** Takes part in no batch twice: throws PositionMovedError when it is not at `from`. Returns the number of the batch. */
  movePosition(move: PositionMove): Script<number>;
  /** Gives each event its id and adds the rows. */
  addRows(events: readonly EndedEvent[]): Script<void>;
  /** Gives events other classes and costs (`EventCosts`); returns how many had the class that they were to have until then. */
  replaceCosts(costs: EventCosts): Script<number>;
  /** Keeps the order in which the events of a batch ended, where others ask the database for it. */
  keepOrder(batch: number, ids: readonly InstantUs[]): Script<void>;
  readonly readOfMoment: ReadOfMoment;
  /** Says that the server is there, and tells how far the journal is in the ledger; null when that is another server's by now. */
  beat(): Promise<JournalPosition | null>;
  /** Fulfilled when all that is due is committed. A connection that another one waits for makes its steps in turn. */
  maintain(pass: MaintenancePass, inTurn: InTurn): Promise<void>;
  /** Restores the database under its name; it is opened anew afterwards. */
  restoreFile?(): void;
  /** Ends maintenance after the step that is under way. */
  stop?(): void;
  close(end: { readonly isSuperseded: boolean }): Promise<void> | void;
}
