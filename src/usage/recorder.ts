import type { EventOrigin } from "#kernel/ids.ts";
import {
  type FoundEvent,
  type Settlement,
  type UsageEnding,
  type UsageBeginning,
  type UsageDimensions,
  toDimensions,
} from "./event.ts";
import { ProxyError } from "#kernel/errors.ts";
import { withinLimit } from "#kernel/timer.ts";
import { encodeJournalLine, type UsageManner } from "./journal-line.ts";
import { type OpenUsage, UnconfirmedUsage, type UsageLedger } from "./store.ts";
import { type PriceSet, UNITS } from "#kernel/units.ts";
import { appendPlainLine, BEGIN_MARK, END_MARK, isPlain, type LineBuffer } from "./plain-line.ts";

/** The longest time that an end waits for the database before it is refused. */
const COMMIT_WAIT_MS_MAX = 10_000;

/**
 * The longest time that a close waits for the ends of requests that have begun. Their callers have left by then, which is noticed within
 * a tenth of a second, and an upstream is read on for under a second after that.
 */
const ENDS_WAIT_MS_MAX = 2_000;

/** Where lines go first: a file that outlives the process. */
export interface UsageJournal {
  /** True when what could not be written has used up its buffer. */
  readonly isFull: boolean;
  /** The stretch of a file that the next lines go to: what numbers mean is spelled out in each anew. */
  readonly stretch: number;
  /** Lines that are to be written next, and those that the disk refused. Lines are put behind it. */
  readonly lines: LineBuffer;
  /** Called after each begin or end that was put there: the lines of all that goes on together go to the file in one write. Never throws. */
  appended(): void;
  /** Fulfilled when everything appended so far was handed to the operating system, or waits for a disk that refuses it. */
  written(): Promise<void>;
  /** Fulfilled when everything appended so far would survive a loss of power; rejects with `internal_error`. */
  synced(): Promise<void>;
}

interface RecorderOptions {
  readonly journal: UsageJournal;
  /**
   * `request`: an end waits until it would survive a loss of power. `interval`: until it survives a kill. `database`: until
   * it would survive the loss of this machine, which takes a database elsewhere.
   */
  readonly sync: "interval" | "request" | "database";
  /** Milliseconds for which the oldest line has been waiting for the database; asked with `database` alone. */
  readonly uncommittedMs?: () => number;
  /** Asks for a committed event. */
  readonly findEvent: UsageLedger["findEvent"];
  readonly flush: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * The data plane's side of the ledger: one line before a request goes upstream, one before its response ends; what begins
 * and ends together is written together. Whoever reads the journal makes exactly one event of the
 * pair, also when the process is killed in between. While the disk refuses lines they wait in memory, and `open` refuses new requests when that is full.
 */
export class Recorder implements UsageLedger {
  readonly #options: RecorderOptions;
  readonly #encoder: JournalEncoder;
  readonly #settled = Promise.withResolvers<void>();
  #lastSequence = 0;
  #openCount = 0;
  #closing: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    const { journal } = options;
    this.#encoder = new JournalEncoder(journal.lines);
    journal.lines.append(encodeJournalLine({ kind: "run" }));
    journal.appended();
  }

  open(subject: UsageBeginning): OpenUsage {
    if (this.#closing !== null) throw toStopping();
    this.#refuseFull();
    this.#lastSequence += 1;
    this.#openCount += 1;
    const { journal } = this.#options;
    this.#encoder.enter(journal.stretch);
    this.#encoder.begin(this.#lastSequence, subject);
    journal.appended();
    return new RecordedUsage(this, this.#lastSequence, subject);
  }

  background(sequence: number, subject: UsageBeginning): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const { journal } = this.#options;
    this.#encoder.enter(journal.stretch);
    this.#encoder.background(sequence, subject);
    journal.appended();
    return journal.written();
  }

  end(sequence: number, ending: UsageEnding, named: UsageBeginning | undefined): Promise<void> {
    if (this.#isClosed) throw new Error("a usage event was ended after its ledger was closed");
    const { journal } = this.#options;
    this.#encoder.enter(journal.stretch);
    // A second begin under its number takes the place of the first.
    if (named !== undefined) this.#encoder.begin(sequence, named);
    this.#encoder.end(sequence, ending);
    journal.appended();
    this.#openCount -= 1;
    if (this.#closing !== null && this.#openCount === 0) this.#settled.resolve();
    return this.#kept();
  }

  settle(settlement: Settlement): Promise<void> {
    if (this.#isClosed) throw toStopping();
    this.#refuseFull();
    const { journal } = this.#options;
    journal.lines.append(encodeJournalLine({ kind: "settle", settlement }));
    journal.appended();
    return this.#kept();
  }

  findEvent(event: EventOrigin): Promise<FoundEvent> {
    return this.#options.findEvent(event);
  }

  written(): Promise<void> {
    return this.#options.journal.written();
  }

  flush(): Promise<void> {
    return this.#options.flush();
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#closeOnce());
  }

  async #closeOnce(): Promise<void> {
    if (this.#openCount > 0) await withinLimit(this.#settled.promise, ENDS_WAIT_MS_MAX, () => undefined);
    this.#isClosed = true;
    await this.#options.close();
  }

  #refuseFull(): void {
    const { journal, sync, uncommittedMs } = this.#options;
    if (journal.isFull) {
      throw new ProxyError(
        "internal_error",
        "Usage cannot be recorded: the disk refuses writes. Try again later.",
      );
    }
    if (sync === "database" && (uncommittedMs?.() ?? 0) > COMMIT_WAIT_MS_MAX) {
      throw new ProxyError(
        "internal_error",
        "Usage cannot be recorded: the database does not confirm it. Try again later.",
      );
    }
  }

  /** Fulfilled when what was appended last is as safe as is asked for. */
  #kept(): Promise<void> {
    const { journal, sync, flush } = this.#options;
    // As long as it takes, up to a limit: the event is in the journal all the same, and is committed later.
    if (sync === "database")
      return withinLimit(flush(), COMMIT_WAIT_MS_MAX, () => {
        throw new UnconfirmedUsage();
      });
    return sync === "request" ? journal.synced() : journal.written();
  }
}

function toStopping(): ProxyError {
  return new ProxyError("internal_error", "The server is stopping.", { isLogged: true });
}

class RecordedUsage implements OpenUsage {
  readonly #recorder: Recorder;
  readonly #sequence: number;
  readonly #subject: UsageBeginning;
  #hasEnded = false;

  constructor(recorder: Recorder, sequence: number, subject: UsageBeginning) {
    this.#recorder = recorder;
    this.#sequence = sequence;
    this.#subject = subject;
  }

  background(): Promise<void> {
    return this.#hasEnded ? Promise.resolve() : this.#recorder.background(this.#sequence, this.#subject);
  }

  end(ending: UsageEnding, named?: UsageBeginning): Promise<void> {
    if (this.#hasEnded) throw new Error("a usage event was ended twice");
    this.#hasEnded = true;
    return this.#recorder.end(this.#sequence, ending, named);
  }
}

/** Numbers kept per stretch; beyond it all are forgotten and given again. A tag of its own on every request is no leak. */
const NUMBERS_MAX = 10_000;
/** So many of one caller, or of one price set, are compared field by field before a key is built. */
const LATEST_MAX = 8;
/** Lines that say the same of one number in one stretch, so that a damaged one is made up for. */
const COPIES_MAX = 2;

/** A meaning that has a number. */
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

  /** One or two lines; spelled out when a quantity has a fraction, the cost is no safe integer, or the provider told one. */
  end(sequence: number, ending: UsageEnding): void {
    const { durationUs, timeToFirstByteUs, costPico, usage, prices, costReportedPico } = ending;
    const numbers = this.#end;
    let isWhole = isPlain(durationUs) && isPlain(timeToFirstByteUs) && costReportedPico === undefined;
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
    const given = this.#give(toKey(subject), latest, toDimensions(subject));
    if (given.copies <= COPIES_MAX)
      this.#lines.append(
        encodeJournalLine({ kind: "dimensions", number: given.number, dimensions: subject }),
      );
    return given.number;
  }

  #numberOfManner(ending: UsageEnding): number {
    const { statusCode, outcome, errorKind, failure, unpriced, usage, tier, geo, prices } = ending;
    const shape = usage?.shape ?? null;
    const latest = findLatest(this.#latestOfPrices, prices);
    for (const { number, meaning } of latest) {
      if (
        meaning.statusCode === statusCode &&
        meaning.outcome === outcome &&
        meaning.errorKind === errorKind &&
        meaning.failure === failure &&
        meaning.tier === tier &&
        meaning.geo === geo &&
        meaning.unpriced === unpriced &&
        meaning.shape === shape
      ) {
        return number;
      }
    }
    const told = { statusCode, outcome, errorKind, failure, unpriced };
    const manner: UsageManner = { ...told, shape, tier, geo, prices };
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
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
  return true;
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
