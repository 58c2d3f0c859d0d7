import type { AppliedPrices } from "#kernel/price-variants.ts";
import { type Quantities, type Unit, UNITS } from "#kernel/units.ts";
import { type Settlement, type UsageDimensions, toArrival, toDuration } from "./event.ts";
import {
  type JournalEntry,
  type JournalLine,
  type UsageFigures,
  type UsageManner,
  CHECKSUM_BYTES,
  QUANTITY_MAX,
  decodeJournalLine,
  isWhole,
} from "./journal-line.ts";
import { BEGIN_MARK, END_MARK, readPlainNumbers } from "./plain-line.ts";

/** A request as its begin line tells it. Begins of one kind share one `dimensions` object. */
export interface Begun {
  readonly arrivedAtUs: number;
  readonly streamed: boolean;
  readonly dimensions: UsageDimensions;
  /** See `OpenUsage.background`. */
  readonly isBackground?: boolean | undefined;
}

/** The meaning of a line once its numbers are looked up; `definition` was taken in and stands for nothing else. */
type DecodedLine =
  | { readonly kind: "run" }
  | { readonly kind: "definition" }
  | { readonly kind: "watermark"; readonly number: number }
  | BegunLine
  | EndedLine
  | { readonly kind: "settle"; readonly settlement: Settlement };

/** One object says it all: some thousands of lines are read at once. */
type BegunLine = Begun & { readonly kind: "begin"; readonly sequence: number };

interface EndedLine extends UsageFigures {
  readonly kind: "end";
  readonly sequence: number;
  /** One object for all ends that name the same. */
  readonly manner: UsageManner;
}

type SpelledBegin = Extract<JournalEntry, { readonly kind: "begin" }>;
type SpelledEnd = Extract<JournalEntry, { readonly kind: "end" }>;

const DEFINITION = { kind: "definition" } as const;
/** Numbers of an end before its quantities. */
const END_NUMBERS = 5;

/** Reads the lines of one segment in order, from its start. */
export class JournalDecoder {
  readonly #dimensions = new Map<number, UsageDimensions>();
  readonly #prices = new Map<number, AppliedPrices>();
  readonly #manners = new Map<number, UsageManner>();
  /** Fields of the line that is being read; reused, so that a line makes no array. */
  readonly #numbers: (number | null)[] = [];

  /** Called before the first line of a segment: its numbers are its own. */
  startSegment(): void {
    this.#dimensions.clear();
    this.#prices.clear();
    this.#manners.clear();
  }

  /** Null for a line that is torn or damaged, or whose numbers were in such a line. */
  decode(line: JournalLine): DecodedLine | null {
    if (!isWhole(line)) return null;
    const mark = line.bytes[line.start + CHECKSUM_BYTES];
    if (mark === BEGIN_MARK) return this.#decodeBegin(line);
    if (mark === END_MARK) return this.#decodeEnd(line);
    const entry = decodeJournalLine(line);
    if (entry === null) return null;
    switch (entry.kind) {
      case "watermark":
      case "settle":
        return entry;
      case "run":
        this.startSegment();
        return entry;
      case "dimensions":
        take(this.#dimensions, entry.number, entry.dimensions);
        return DEFINITION;
      case "prices":
        take(this.#prices, entry.number, entry.prices);
        return DEFINITION;
      case "manner":
        take(this.#manners, entry.number, entry.manner);
        return DEFINITION;
      case "begin":
        return this.#lookUpBegin(entry);
      default:
        return this.#lookUpEnd(entry);
    }
  }

  #lookUpBegin(entry: SpelledBegin): DecodedLine | null {
    const named = entry.dimensions;
    const dimensions = typeof named === "number" ? this.#dimensions.get(named) : named;
    return dimensions === undefined ? null : { ...entry, dimensions };
  }

  #lookUpEnd({ sequence, ending, prices: named }: SpelledEnd): DecodedLine | null {
    const prices = typeof named === "number" ? this.#prices.get(named) : named;
    if (prices === undefined) return null;
    const { statusCode, outcome, errorKind, failure, unpriced, usage, tier, geo } = ending;
    const shape = usage?.shape ?? null;
    const manner = { statusCode, outcome, errorKind, failure, unpriced, shape, tier, geo, prices };
    return { kind: "end", sequence, manner, ...ending };
  }

  #decodeBegin(line: JournalLine): DecodedLine | null {
    if (readPlainNumbers(line, this.#numbers) !== 4) return null;
    const [sequence, arrivedAtUs, number, streamed] = this.#numbers;
    const dimensions = this.#dimensions.get(number ?? 0);
    if (dimensions === undefined) return null;
    return {
      kind: "begin",
      sequence: sequence ?? 0,
      arrivedAtUs: toArrival(arrivedAtUs),
      streamed: streamed === 1,
      dimensions,
    };
  }

  #decodeEnd(line: JournalLine): DecodedLine | null {
    const count = readPlainNumbers(line, this.#numbers);
    if (count < END_NUMBERS - 2 || count > END_NUMBERS + UNITS.length) return null;
    for (let index = count; index < END_NUMBERS; index += 1) this.#numbers[index] = null;
    const [sequence, number, durationUs, timeToFirstByteUs = null, costPico = null] = this.#numbers;
    const manner = this.#manners.get(number ?? 0);
    if (manner === undefined) return null;
    const { statusCode, outcome, errorKind, failure, unpriced, shape, tier, geo } = manner;
    return {
      kind: "end",
      sequence: sequence ?? 0,
      manner,
      statusCode,
      outcome,
      errorKind,
      failure,
      tier,
      geo,
      durationUs: toDuration(durationUs),
      timeToFirstByteUs: timeToFirstByteUs === null ? null : toDuration(timeToFirstByteUs),
      usage: shape === null ? null : { shape, quantities: this.#toQuantities(count) },
      costPico,
      unpriced,
    };
  }

  #toQuantities(count: number): Quantities {
    const quantities: { [unit in Unit]?: number } = {};
    for (let index = END_NUMBERS; index < count; index += 1) {
      const unit = UNITS[index - END_NUMBERS];
      const quantity = this.#numbers[index] ?? null;
      if (unit !== undefined && quantity !== null) quantities[unit] = Math.min(quantity, QUANTITY_MAX);
    }
    return quantities;
  }
}

/** The first of equal copies stays: what is known of it goes by the object. */
function take<Meaning>(known: Map<number, Meaning>, number: number, meaning: Meaning): void {
  if (!known.has(number)) known.set(number, meaning);
}
