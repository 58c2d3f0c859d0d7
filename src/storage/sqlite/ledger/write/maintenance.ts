import type { Database } from "bun:sqlite";
import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { dropHourCells, sealCells } from "#storage/cells/sealing.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import type { Retention } from "#storage/threads/writer-tasks.ts";
import type { SealedHours } from "./sealed-hours.ts";
import type { SealedMonths } from "./sealed-months.ts";
import type { Totals } from "./totals.ts";

/** Rows removed in one transaction: every pause stays under 150 ms. */
const PRUNE_ROWS_MAX = 5_000;

const IS_REMOVABLE = "id NOT IN (SELECT id FROM pending_event)";

/** How far days are sealed and rows removed. Its steps run within the writer's transaction, which stores both. */
export class Maintenance {
  readonly #database: Database;
  readonly #totals: Totals;
  readonly #hours: SealedHours;
  readonly #months: SealedMonths;
  sealedBeforeDay = 0;
  /** Rows that arrived before it may have been removed: totals count them all the same, and readers rely on it. */
  prunedBeforeUs: InstantUs = 0;
  /** What arrives before it gets no row, so that nothing comes back by a late end. At most `prunedBeforeUs`. */
  refusedBeforeUs: InstantUs = 0;

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
    if (readFrom(this.#database, sealCells(beforeDay))) return true;
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

  /** To be called with the stored bound. A row before it tells that a look has taken the other one back. */
  load(prunedBeforeUs: InstantUs): void {
    this.prunedBeforeUs = prunedBeforeUs;
    const { first } = this.#database
      .query<{ first: number | null }, []>(`SELECT min(id) AS first FROM event WHERE ${IS_REMOVABLE}`)
      .get() ?? { first: null };
    this.refusedBeforeUs = Math.min(prunedBeforeUs, first ?? prunedBeforeUs);
  }

  /**
   * A look at the clock: the instant before which rows go now. Bounds ahead of the present go back to the present, so that
   * a clock that was ahead for a moment does not keep the log empty until that moment comes. What was recorded and removed
   * while it was ahead still lies before `prunedBeforeUs`: its totals would be taken for rows.
   */
  boundRetention({ nowUs, ageUsMax }: Retention): InstantUs {
    if (this.prunedBeforeUs > nowUs)
      this.prunedBeforeUs = Math.max(nowUs, Math.min(this.prunedBeforeUs, this.#findLossEnd()));
    this.refusedBeforeUs = Math.min(this.refusedBeforeUs, nowUs);
    return ageUsMax === null ? this.refusedBeforeUs : nowUs - ageUsMax;
  }

  /** The end of the last hour with events that begins before the bound. */
  #findLossEnd(): InstantUs {
    const { hour } = this.#database
      .query<{ hour: number | null }, [number]>("SELECT max(hour) AS hour FROM hour_total WHERE hour < ?")
      .get(this.prunedBeforeUs / HOUR_US) ?? { hour: null };
    return hour === null ? 0 : (hour + 1) * HOUR_US;
  }

  /**
   * Removes the oldest rows that arrived before `beforeUs`, a slice of them; true when there may be more. Those of pending
   * events stay.
   */
  prune(beforeUs: InstantUs): boolean {
    if (beforeUs <= this.refusedBeforeUs) return false;
    const slice = this.#database
      .query<{ id: number }, [number, number]>(
        `SELECT id FROM event WHERE id < ? AND ${IS_REMOVABLE} ORDER BY id LIMIT 1 OFFSET ?`,
      )
      .get(beforeUs, PRUNE_ROWS_MAX);
    const untilUs = slice?.id ?? beforeUs;
    this.#database
      .query<unknown, [number]>(`DELETE FROM event WHERE id < ? AND ${IS_REMOVABLE}`)
      .run(untilUs);
    this.#hours.dropBefore(untilUs);
    readFrom(this.#database, dropHourCells(untilUs));
    this.prunedBeforeUs = Math.max(this.prunedBeforeUs, untilUs);
    this.refusedBeforeUs = untilUs;
    return slice !== null;
  }
}
