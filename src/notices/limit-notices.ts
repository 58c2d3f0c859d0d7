import { formatInstant, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { picoToNumber } from "#kernel/units.ts";
import { formatAmount } from "#limits/limit-refusal.ts";
import { isSliding, toWindowEnd, toWindowStart } from "#limits/limit-window.ts";
import {
  type Limit,
  type LimitMeasure,
  type LimitWindow,
  MEASURES,
  type UseNow,
  type UseWatch,
  type WatchedUse,
} from "#limits/limit.ts";
import { type NoticeDraft, toQuotedName } from "./notice.ts";
import type { Tell } from "./outbox.ts";
import type { NoticeMark } from "./store.ts";

type Level = "limit.warned" | "limit.reached";

/** Windows that slide have no start: what was said of one is said again an hour later at the earliest. */
const SLIDING_SILENCE_US = HOUR_US;

/** When something was told of a use, and until when that stands. */
interface Told {
  readonly level: Level;
  readonly amount: bigint;
  readonly fromUs: InstantUs;
  readonly untilUs: InstantUs;
}

/** Notices of one limit in a window, of values of its `each`; those of more values become one that tells the number. */
const NOTICES_OF_LIMIT_MAX = 10;

/** What was told of the values of one limit in a window. */
interface Many {
  readonly limit: Limit;
  readonly window: LimitWindow;
  readonly standing: ReturnType<typeof toStanding>;
  /** How many notices there were to tell. */
  told: number;
  /** Values past 80 %, and how far each is. */
  readonly levels: Map<string, Level>;
  /** How many of them are used up. */
  reached: number;
  /** The number of values that was told last, in digits: it is told again when it has one more. */
  toldDigits: number;
}

/**
 * Tells of limits that are nearly used up, and of those that are. Each once a window, for each value of `each`; callers
 * choose the values of tags, and what many of them tell is one notice.
 */
export class LimitNotices implements UseWatch {
  readonly #tell: Tell;
  /** Only what is past 80 % is told: nothing else is looked up for the others. */
  readonly #told = new WeakMap<WatchedUse, Told>();
  /** By the limit's id; of limits with `each`. */
  readonly #many = new Map<string, Many>();

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  moved(limit: Limit, use: WatchedUse, { used, atUs }: UseNow): void {
    const { window, amount, enabled, each } = limit;
    if (window === null || !enabled) return;
    const level = used < amount ? "limit.warned" : "limit.reached";
    if (isKnown(this.#told.get(use), { level, amount, atUs })) return;
    const standing = toStanding(window, atUs);
    this.#told.set(use, { level, amount, ...standing });
    if (each !== null) {
      const many = this.#manyOf(limit, window, { standing, atUs });
      const levelBefore = many.levels.get(use.value);
      // It is counted anew, as on several replicas.
      if (levelBefore === level || levelBefore === "limit.reached") return;
      many.levels.set(use.value, level);
      if (level === "limit.reached") many.reached += 1;
      many.told += 1;
      if (many.told > NOTICES_OF_LIMIT_MAX) return;
    }
    const toMark = (of: Level): NoticeMark => ({
      name: [of, limit.id, window, standing.name, amount, use.value].join(" "),
      untilUs: standing.untilUs,
    });
    this.#tell(toDraft(level, limit, { value: use.label, used, atUs, window }), {
      mark: toMark(level),
      // What went past both at once is told once.
      alsoMarks: level === "limit.reached" ? [toMark("limit.warned")] : [],
    });
  }

  /** To be called at intervals: tells of limits with more values past 80 % than are told of one by one. */
  tellMany(nowUs: InstantUs): void {
    for (const [id, many] of this.#many) {
      const { limit, window, standing, levels } = many;
      const digits = levels.size.toString().length;
      if (many.told > NOTICES_OF_LIMIT_MAX && digits > many.toldDigits) {
        many.toldDigits = digits;
        const name = ["limit.many", id, window, standing.name, limit.amount, many.toldDigits].join(" ");
        this.#tell(toManyDraft(many), { mark: { name, untilUs: standing.untilUs } });
      }
      if (nowUs >= standing.untilUs) this.#many.delete(id);
    }
  }

  #manyOf(
    limit: Limit,
    window: LimitWindow,
    { standing, atUs }: Pick<Many, "standing"> & { readonly atUs: InstantUs },
  ): Many {
    const known = this.#many.get(limit.id);
    if (known !== undefined && isStanding({ ...known.limit, ...known.standing }, { ...limit, atUs }))
      return known;
    const made = { limit, window, standing, told: 0, levels: new Map(), reached: 0, toldDigits: 0 };
    this.#many.set(limit.id, made);
    return made;
  }
}

function isKnown(
  told: Told | undefined,
  { level, amount, atUs }: Pick<Told, "level" | "amount"> & { readonly atUs: InstantUs },
): boolean {
  if (told === undefined || !isStanding(told, { amount, atUs })) return false;
  return told.level === level || told.level === "limit.reached";
}

/** True when it is of the window and the amount that count now. */
function isStanding(
  told: Pick<Told, "amount" | "fromUs" | "untilUs">,
  { amount, atUs }: { readonly amount: bigint; readonly atUs: InstantUs },
): boolean {
  return told.amount === amount && atUs >= told.fromUs && atUs < told.untilUs;
}

/** For how long a notice of a window holds; `name` tells calendar windows apart. */
function toStanding(
  window: LimitWindow,
  atUs: InstantUs,
): Pick<Told, "fromUs" | "untilUs"> & { readonly name: number } {
  if (isSliding(window)) return { fromUs: atUs, untilUs: atUs + SLIDING_SILENCE_US, name: 0 };
  const fromUs = toWindowStart(window, atUs);
  return { fromUs, untilUs: toWindowEnd(window, atUs) ?? Number.MAX_SAFE_INTEGER, name: fromUs };
}

interface UseOfValue extends UseNow {
  readonly value: string;
  readonly window: LimitWindow;
}

function toManyDraft({ limit, window, standing, levels, reached }: Many): NoticeDraft {
  const { id, name, measure, amount, action } = limit;
  const endUs = toWindowEnd(window, standing.fromUs);
  const end = endUs === null ? null : formatInstant(endUs);
  const until = end === null ? "" : `, until ${end.slice(0, 19)}Z`;
  const text = `The limit ${toQuotedName(name)} is used to 80 % or more by ${levels.size} of those that it holds for${toSince(window, standing.fromUs)}, and used up by ${reached} of them${until}.`;
  const facts = { id, name, measure, amount: toNumber(measure, amount), window, action, resets_at: end };
  const type = reached > 0 ? "limit.reached" : "limit.warned";
  return { type, text, facts: { limit: { ...facts, values: levels.size, values_reached: reached } } };
}

function toDraft(type: Level, limit: Limit, now: UseOfValue): NoticeDraft {
  const { id, name, measure, amount, window, action, each } = limit;
  const endUs = toWindowEnd(now.window, now.atUs);
  return {
    type,
    text: toSentence(type, limit, now),
    facts: {
      limit: {
        id,
        name,
        measure,
        amount: toNumber(measure, amount),
        used: toNumber(measure, now.used),
        window,
        action,
        resets_at: endUs === null ? null : formatInstant(endUs),
        ...(each !== null && { [each.kind]: now.value }),
      },
    },
  };
}

function toSentence(type: Level, limit: Limit, { value, used, atUs, window }: UseOfValue): string {
  const { name, measure, amount, action, each } = limit;
  const whose = each === null ? "" : ` of ${toQuotedName(value)}`;
  const { noun } = MEASURES[measure];
  const unit = noun === null ? "" : ` ${noun}`;
  const share = `${formatAmount(measure, used)} of ${formatAmount(measure, amount)}${unit}${toSince(window, atUs)}`;
  const limited = `The limit ${toQuotedName(name)}${whose}`;
  const endUs = toWindowEnd(window, atUs);
  const end = endUs === null ? null : `${formatInstant(endUs).slice(0, 19)}Z`;
  if (type === "limit.warned") {
    const percent = (used * 100n) / amount;
    return `${limited} is ${percent} % used: ${share}${end === null ? "." : `, until ${end}.`}`;
  }
  if (action === "warn") return `${limited} is used up: ${share}, and requests go on, with a warning.`;
  const until = end ?? (window === "total" ? "its amount is raised" : "enough of that is past");
  return `${limited} is used up: ${share}, and requests are refused until ${until}.`;
}

function toSince(window: LimitWindow, atUs: InstantUs): string {
  if (window === "total") return " in all";
  if (isSliding(window)) return ` in the last ${window}`;
  return ` since ${formatInstant(toWindowStart(window, atUs)).slice(0, 10)}`;
}

function toNumber(measure: LimitMeasure, amount: bigint): number {
  return measure === "cost" ? picoToNumber(amount) : Number(amount);
}
