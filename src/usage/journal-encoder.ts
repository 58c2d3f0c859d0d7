import type { PriceSet } from "#kernel/units.ts";
import type { UsageEnding, UsageBeginning } from "./event.ts";
import { encodeJournalLine } from "./journal-line.ts";

/** Numbers kept per segment; beyond it all are forgotten and given again. A tag of its own on every request is no leak. */
const NUMBERS_MAX = 10_000;

/**
 * The lines of begins and ends, as short as they get: who asked for what, and at which prices, is spelled out the first
 * time it is met in a segment, and a number from then on. Each segment can be read without those before it.
 */
export class JournalEncoder {
  #segment = -1;
  #lastNumber = 0;
  readonly #dimensions = new Map<string, number>();
  /** By identity: a catalog hands out the same set until it changes, and an equal one only costs a line. */
  readonly #prices = new Map<PriceSet, number>();

  /** One or two lines for the segment they will be written to. */
  begin(segment: number, sequence: number, subject: UsageBeginning): Buffer {
    this.#enter(segment);
    const { arrivedAtUs, streamed } = subject;
    const key = toKey(subject);
    let number = this.#dimensions.get(key);
    let definition = "";
    if (number === undefined) {
      number = this.#lastNumber += 1;
      remember(this.#dimensions, key, number);
      definition = encodeJournalLine({ kind: "dimensions", number, dimensions: subject });
    }
    const line = encodeJournalLine({ kind: "begin", sequence, arrivedAtUs, streamed, dimensions: number });
    return Buffer.from(definition + line);
  }

  /** The end line of a request, for the segment that it goes to. */
  end(segment: number, sequence: number, ending: UsageEnding): Buffer {
    this.#enter(segment);
    const { prices } = ending;
    let number = this.#prices.get(prices);
    let definition = "";
    if (number === undefined) {
      number = this.#lastNumber += 1;
      remember(this.#prices, prices, number);
      definition = encodeJournalLine({ kind: "prices", number, prices });
    }
    return Buffer.from(definition + encodeJournalLine({ kind: "end", sequence, ending, prices: number }));
  }

  #enter(segment: number): void {
    if (segment === this.#segment) return;
    this.#segment = segment;
    this.#dimensions.clear();
    this.#prices.clear();
  }
}

/** JSON, because any text may stand in a field, and none is not the same as an empty one. */
function toKey(s: UsageBeginning): string {
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
  ]);
}

function remember<Key>(numbers: Map<Key, number>, key: Key, number: number): void {
  if (numbers.size >= NUMBERS_MAX) numbers.clear();
  numbers.set(key, number);
}
