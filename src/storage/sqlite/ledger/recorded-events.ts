import type { InstantUs } from "#kernel/clock.ts";
import type { RecordedOrder, RecordedSince } from "#storage/threads/stats.ts";

/** Events of which the order is kept, eight bytes each: ten seconds of the fastest ledger, hours of a usual one. */
const EVENTS_KEPT_MAX = 32_768;

/**
 * The order in which a server's ledger has committed its newest events. Rows are clustered by arrival, and a request that
 * began earlier may end later, so that no row tells what is new. In memory of the serving thread: a look that finds nothing
 * new asks no reader.
 */
export class RecordedEvents implements RecordedOrder {
  readonly #epoch: string;
  readonly #ids = new Float64Array(EVENTS_KEPT_MAX);
  /** Events recorded so far; the newest stands at the place before it. */
  #count = 0;
  /** Cursors below it are unknown. */
  #first = 0;

  /** The epoch tells cursors of this start from those of every other one; letters and digits. */
  constructor(epoch: string) {
    this.#epoch = epoch;
  }

  add(ids: Float64Array): void {
    for (const id of ids) {
      this.#ids[this.#count % EVENTS_KEPT_MAX] = id;
      this.#count += 1;
    }
    this.#first = Math.max(this.#first, this.#count - EVENTS_KEPT_MAX);
  }

  /** Every cursor of before is unknown. */
  interrupt(): void {
    this.#count += 1;
    this.#first = this.#count;
  }

  since(cursor: string): RecordedSince {
    const now = `${this.#epoch}.${this.#count.toString(36)}`;
    const from = cursor === "" ? this.#count : this.#parse(cursor);
    if (from === null) return { ids: [], lanes: null, cursor: now, hasGap: true };
    const ids = Array.from({ length: this.#count - from }, (_, index) => this.#idAt(from + index));
    return { ids, lanes: null, cursor: now, hasGap: false };
  }

  #idAt(place: number): InstantUs {
    return this.#ids[place % EVENTS_KEPT_MAX] ?? 0;
  }

  #parse(cursor: string): number | null {
    const [epoch, count, ...rest] = cursor.split(".");
    if (epoch !== this.#epoch || count === undefined || rest.length > 0) return null;
    const place = Number.parseInt(count, 36);
    const isKnown = place.toString(36) === count && place >= this.#first && place <= this.#count;
    return isKnown ? place : null;
  }
}
