import { type PriceSet, UNITS } from "#kernel/units.ts";
import type { UsageBeginning, UsageDimensions, UsageEnding } from "./event.ts";
import { type UsageManner, encodeJournalLine } from "./journal-line.ts";
import type { LineBuffer } from "./line-buffer.ts";
import { appendPlainLine, BEGIN_MARK, END_MARK, isPlain } from "./plain-line.ts";

/** Numbers kept per stretch; beyond it all are forgotten and given again. A tag of its own on every request is no leak. */
const NUMBERS_MAX = 10_000;
/** So many of one caller, or of one price set, are compared field by field before a key is built. */
const LATEST_MAX = 8;
/** Lines that say the same of one number in one stretch, so that a damaged one is made up for. */
const COPIES_MAX = 2;

/** What has a number. */
interface Numbered<Meaning> {
  readonly number: number;
  readonly meaning: Meaning;
}

/** A number and how often its line was written in this stretch. */
interface Given {
  readonly number: number;
  copies: number;
}

/**
 * Appends the lines of begins and ends, as short as they get: who asked for what, and what endings have in common, is
 * spelled out the first two times it is met in a stretch of a segment, and a number from then on. One damaged line so costs
 * one request at most, since the other copy stands behind another line, and each stretch can be read without those before it.
 */
export class JournalEncoder {
  readonly #lines: LineBuffer;
  #stretch = -1;
  #lastNumber = 0;
  readonly #given = new Map<string, Given>();
  readonly #latestOfCaller = new Map<string, Numbered<UsageDimensions>[]>();
  /** By identity: a catalog hands out the same set until it changes, and an equal one only costs a line. */
  readonly #latestOfPrices = new Map<PriceSet, Numbered<UsageManner>[]>();
  /** Fields of the line that is being written; reused, so that a line makes no array. */
  readonly #begin: number[] = [0, 0, 0, 0];
  readonly #end: (number | null)[] = [0, 0, 0, null, null, ...UNITS.map(() => null)];

  constructor(lines: LineBuffer) {
    this.#lines = lines;
  }

  /** Says which stretch of a segment the next lines will be written to. */
  enter(stretch: number): void {
    if (stretch === this.#stretch) return;
    this.#stretch = stretch;
    this.#given.clear();
    this.#latestOfCaller.clear();
    this.#latestOfPrices.clear();
  }

  /** One or two lines. */
  begin(sequence: number, subject: UsageBeginning): void {
    const { arrivedAtUs, streamed } = subject;
    const dimensions = this.#numberOfDimensions(subject);
    if (!isPlain(arrivedAtUs)) {
      this.#lines.append(encodeJournalLine({ kind: "begin", sequence, arrivedAtUs, streamed, dimensions }));
      return;
    }
    const numbers = this.#begin;
    numbers[0] = sequence;
    numbers[1] = arrivedAtUs;
    numbers[2] = dimensions;
    numbers[3] = streamed ? 1 : 0;
    appendPlainLine(this.#lines, BEGIN_MARK, numbers);
  }

  /** One or two lines: a second begin under its number, which takes the place of the first. */
  background(sequence: number, subject: UsageBeginning): void {
    const { arrivedAtUs, streamed } = subject;
    const dimensions = this.#numberOfDimensions(subject);
    const begin = { kind: "begin", sequence, arrivedAtUs, streamed, dimensions } as const;
    this.#lines.append(encodeJournalLine({ ...begin, isBackground: true }));
  }

  /** One or two lines; spelled out when a quantity has a fraction or the cost is no safe integer. */
  end(sequence: number, ending: UsageEnding): void {
    const { durationUs, timeToFirstByteUs, costPico, usage, prices } = ending;
    const numbers = this.#end;
    let isWhole = isPlain(durationUs) && isPlain(timeToFirstByteUs);
    numbers[0] = sequence;
    numbers[2] = durationUs;
    numbers[3] = timeToFirstByteUs;
    numbers[4] = costPico === null ? null : Number(costPico);
    isWhole &&= isPlain(numbers[4]);
    for (let index = 0; index < UNITS.length; index += 1) {
      const unit = UNITS[index];
      const quantity = unit === undefined ? null : (usage?.quantities[unit] ?? null);
      isWhole &&= isPlain(quantity);
      numbers[5 + index] = quantity;
    }
    if (!isWhole) {
      this.#lines.append(encodeJournalLine({ kind: "end", sequence, ending, prices }));
      return;
    }
    numbers[1] = this.#numberOfManner(ending);
    appendPlainLine(this.#lines, END_MARK, numbers);
  }

  #numberOfDimensions(subject: UsageBeginning): number {
    const caller = subject.keyId ?? subject.relayTokenId ?? subject.principalId;
    const latest = findLatest(this.#latestOfCaller, caller);
    for (const { number, meaning } of latest) if (isSame(subject, meaning)) return number;
    const given = this.#give(toKey(subject), latest, subject);
    if (given.copies <= COPIES_MAX)
      this.#lines.append(
        encodeJournalLine({ kind: "dimensions", number: given.number, dimensions: subject }),
      );
    return given.number;
  }

  #numberOfManner(ending: UsageEnding): number {
    const { statusCode, outcome, errorKind, failure, unpriced, usage, tier, prices } = ending;
    const shape = usage?.shape ?? null;
    const latest = findLatest(this.#latestOfPrices, prices);
    for (const { number, meaning } of latest) {
      if (
        meaning.statusCode === statusCode &&
        meaning.outcome === outcome &&
        meaning.errorKind === errorKind &&
        meaning.failure === failure &&
        meaning.tier === tier &&
        meaning.unpriced === unpriced &&
        meaning.shape === shape
      ) {
        return number;
      }
    }
    const manner: UsageManner = { statusCode, outcome, errorKind, failure, unpriced, shape, tier, prices };
    const given = this.#give(JSON.stringify(manner), latest, manner);
    if (given.copies <= COPIES_MAX)
      this.#lines.append(encodeJournalLine({ kind: "manner", number: given.number, manner }));
    return given.number;
  }

  /** Another copy is due as long as it is not among the latest: there it comes with the last of its copies. */
  #give<Meaning>(key: string, latest: Numbered<Meaning>[], meaning: Meaning): Given {
    let given = this.#given.get(key);
    if (given === undefined) {
      given = { number: (this.#lastNumber += 1), copies: 0 };
      if (this.#given.size >= NUMBERS_MAX) this.#given.clear();
      this.#given.set(key, given);
    }
    given.copies += 1;
    if (given.copies >= COPIES_MAX) keepLatest(latest, { number: given.number, meaning });
    return given;
  }
}

function findLatest<Key, Meaning>(all: Map<Key, Numbered<Meaning>[]>, key: Key): Numbered<Meaning>[] {
  const known = all.get(key);
  if (known !== undefined) return known;
  if (all.size >= NUMBERS_MAX) all.clear();
  const latest: Numbered<Meaning>[] = [];
  all.set(key, latest);
  return latest;
}

/** Takes the place of another once there are many: numbers ascend, so that each place has its turn. */
function keepLatest<Meaning>(latest: Numbered<Meaning>[], numbered: Numbered<Meaning>): void {
  if (latest.length < LATEST_MAX) latest.push(numbered);
  else latest[numbered.number % LATEST_MAX] = numbered;
}

function isSame(a: UsageDimensions, b: UsageDimensions): boolean {
  return (
    a.model === b.model &&
    a.client === b.client &&
    a.principalId === b.principalId &&
    a.principalName === b.principalName &&
    a.keyId === b.keyId &&
    a.relayTokenId === b.relayTokenId &&
    a.providerId === b.providerId &&
    a.upstreamName === b.upstreamName &&
    a.endpoint === b.endpoint &&
    isSameList(a.tags, b.tags) &&
    isSameList(a.fixedTags, b.fixedTags)
  );
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((tag, index) => tag === b[index]));
}

/** JSON, because any text may stand in a field, and none is not the same as an empty one. */
function toKey(s: UsageDimensions): string {
  return JSON.stringify([
    s.principalId,
    s.principalName,
    s.keyId,
    s.relayTokenId,
    s.providerId,
    s.model,
    s.upstreamName,
    s.endpoint,
    s.client,
    s.tags,
    s.fixedTags,
  ]);
}
