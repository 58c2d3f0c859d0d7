import type { Database } from "bun:sqlite";
import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import type { Retention } from "#storage/ledger/threads/messages.ts";
import type { SealedHours } from "./sealed-hours.ts";
import type { SealedMonths } from "./sealed-months.ts";
import type { Totals } from "./totals.ts";

/** Rows removed in one transaction: every pause stays under 150 ms. */
const PRUNE_ROWS_MAX = 5_000;

/** How far days are sealed and rows removed. Its steps run within the writer's transaction, which stores both. */
export class Maintenance {
  readonly #database: Database;
  readonly #totals: Totals;
  readonly #hours: SealedHours;
  readonly #months: SealedMonths;
  sealedBeforeDay = 0;
  /** What arrived before it never comes back, also not by a late end: readers rely on it. */
  prunedBeforeUs: InstantUs = 0;

  constructor(
    database: Database,
    {
      totals,
      hours,
      months,
    }: { readonly totals: Totals; readonly hours: SealedHours; readonly months: SealedMonths },
  ) {
    this.#database = database;
    this.#totals = totals;
    this.#hours = hours;
    this.#months = months;
  }

  /**
   * A step: moves the oldest day that is not sealed yet and lies before `beforeDay`, then sums hours and months of sealed
   * days; true when there may be more.
   */
  seal(beforeDay: number): boolean {
    if (beforeDay > this.sealedBeforeDay && this.#sealDay(beforeDay)) return true;
    const sealed = { fromUs: this.prunedBeforeUs, toUs: this.sealedBeforeDay * DAY_US };
    return this.#hours.sealNext(sealed) || this.#months.sealNext(this.sealedBeforeDay);
  }

  #sealDay(beforeDay: number): boolean {
    const oldest = this.#database
      .query<{ day: number | null }, []>("SELECT min(day) AS day FROM day_total")
      .get();
    const day = oldest?.day ?? null;
    const isLast = day === null || day >= beforeDay;
    if (!isLast) {
      this.#totals.seal(day);
      this.#months.dropMonthOf(day);
    }
    this.sealedBeforeDay = isLast ? beforeDay : day + 1;
    return !isLast;
  }

  /**
   * A look at the clock: the instant before which rows go now. A stored bound ahead of the present goes back to the
   * present, so that a clock that was ahead for a moment does not keep the log empty until that moment comes.
   */
  boundRetention({ nowUs, ageUsMax }: Retention): InstantUs {
    this.prunedBeforeUs = Math.min(this.prunedBeforeUs, nowUs);
    return ageUsMax === null ? this.prunedBeforeUs : nowUs - ageUsMax;
  }

  /** Removes the oldest rows that arrived before `beforeUs`, a slice of them; true when there may be more. */
  prune(beforeUs: InstantUs): boolean {
    const slice = this.#database
      .query<{ id: number }, [number, number]>(
        "SELECT id FROM event WHERE id < ? ORDER BY id LIMIT 1 OFFSET ?",
      )
      .get(beforeUs, PRUNE_ROWS_MAX);
    const untilUs = slice?.id ?? beforeUs;
    this.#database.query<unknown, [number]>("DELETE FROM event WHERE id < ?").run(untilUs);
    this.#hours.dropBefore(untilUs);
    this.prunedBeforeUs = untilUs;
    return slice !== null;
  }
}
