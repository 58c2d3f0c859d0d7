import type { PriceSet } from "#kernel/units.ts";
import { type UsageFigures, decodeJournalLine } from "./journal-line.ts";
import type { UsageDimensions } from "./event.ts";

/** A request as its begin line tells it. Begins of one kind share one `dimensions` object. */
export interface Begun {
  readonly arrivedAtUs: number;
  readonly streamed: boolean;
  readonly dimensions: UsageDimensions;
}

/** What a line means once its numbers are looked up; `definition` was taken in and stands for nothing else. */
export type DecodedLine =
  | { readonly kind: "run" }
  | { readonly kind: "definition" }
  | { readonly kind: "begin"; readonly sequence: number; readonly begun: Begun }
  | {
      readonly kind: "end";
      readonly sequence: number;
      readonly ending: UsageFigures;
      /** One object for all ends that name the same. */
      readonly prices: PriceSet;
    };

const DEFINITION = { kind: "definition" } as const;

/** Reads the lines of one segment in order, from its start. */
export class JournalDecoder {
  readonly #dimensions = new Map<number, UsageDimensions>();
  readonly #prices = new Map<number, PriceSet>();

  /** Called before the first line of a segment: its numbers are its own. */
  startSegment(): void {
    this.#dimensions.clear();
    this.#prices.clear();
  }

  /** Null for a line that is torn or damaged, or whose numbers were in such a line. */
  decode(line: Buffer): DecodedLine | null {
    const entry = decodeJournalLine(line);
    if (entry === null) return null;
    if (entry.kind === "run") {
      this.startSegment();
      return entry;
    }
    if (entry.kind === "dimensions") {
      this.#dimensions.set(entry.number, entry.dimensions);
      return DEFINITION;
    }
    if (entry.kind === "prices") {
      this.#prices.set(entry.number, entry.prices);
      return DEFINITION;
    }
    if (entry.kind === "begin") {
      const { sequence, arrivedAtUs, streamed } = entry;
      const dimensions =
        typeof entry.dimensions === "number" ? this.#dimensions.get(entry.dimensions) : entry.dimensions;
      if (dimensions === undefined) return null;
      return { kind: "begin", sequence, begun: { arrivedAtUs, streamed, dimensions } };
    }
    const prices = typeof entry.prices === "number" ? this.#prices.get(entry.prices) : entry.prices;
    if (prices === undefined) return null;
    return { kind: "end", sequence: entry.sequence, ending: entry.ending, prices };
  }
}
