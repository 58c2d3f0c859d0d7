import { formatInstant, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { picoToNumber } from "#kernel/units.ts";
import { formatAmount } from "#limits/limit-refusal.ts";
import { isSliding, toWindowEnd, toWindowStart } from "#limits/limit-window.ts";
import type { Limit, LimitMeasure, LimitWindow } from "#limits/limit.ts";
import type { UseNow, UseWatch, WatchedUse } from "#limits/use-watch.ts";
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

/** Tells of limits that are nearly used up, and of those that are. Each once a window, for each value of `each`. */
export class LimitNotices implements UseWatch {
  readonly #tell: Tell;
  /** Only what is past 80 % is told: nothing else is looked up for the others. */
  readonly #told = new WeakMap<WatchedUse, Told>();

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  moved(limit: Limit, use: WatchedUse, { used, atUs }: UseNow): void {
    const { window, amount, enabled } = limit;
    if (window === null || !enabled) return;
    const level = used < amount ? "limit.warned" : "limit.reached";
    if (isKnown(this.#told.get(use), { level, amount, atUs })) return;
    const standing = toStanding(window, atUs);
    this.#told.set(use, { level, amount, ...standing });
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
}

function isKnown(
  told: Told | undefined,
  { level, amount, atUs }: Pick<Told, "level" | "amount"> & { readonly atUs: InstantUs },
): boolean {
  if (told === undefined || told.amount !== amount) return false;
  if (atUs < told.fromUs || atUs >= told.untilUs) return false;
  return told.level === level || told.level === "limit.reached";
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
  const unit = measure === "cost" ? "" : ` ${measure}`;
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
