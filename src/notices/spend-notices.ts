import { type Clock, formatInstant, HOUR_US } from "#kernel/clock.ts";
import { type Pico, PICO_PER_WHOLE, picoToNumber } from "#kernel/units.ts";
import { formatAmount } from "#limits/limit-refusal.ts";
import { type NoticeDraft, toQuotedName } from "./notice.ts";
import type { Tell } from "./outbox.ts";
import type { HourSpend, SpendLedger } from "./store.ts";

const LOOK_INTERVAL_MS = 60_000;
/** An hour is still looked at so long after its end, when the last requests of other replicas are in the totals. */
const SETTLING_US = 60_000_000;
const WEEK_HOURS = 7 * 24;
const WEEKS = 4;
/** Less than this in an hour is told of nobody, in the currency of the prices. */
const LEAST_PICO = BigInt(PICO_PER_WHOLE);
/** Subjects that are told of in one hour, the most expensive first: callers choose tags. */
const SUBJECTS_MAX = 100;
/** The factor is exact to three decimals. */
const FACTOR_STEPS = 1_000;

export interface SpendDeps {
  readonly ledger: SpendLedger;
  /** Labels of API keys; one that is gone has none. */
  readonly findLabels: (ids: readonly string[]) => Promise<ReadonlyMap<string, { readonly label: string }>>;
  /** How many times the median is unusual. */
  readonly factor: number;
}

interface SpendNoticesDeps extends SpendDeps {
  readonly clock: Clock;
  readonly tell: Tell;
}

/**
 * Tells of principals, API keys and tags that cost much more than usual: in an hour, as far as it has gone, more than `factor`
 * times the median of the same hour of the same weekday in the last four weeks, and at least 1. Weeks before the ledger began
 * are not compared with. Once for each subject and hour, by the marks of notices also across replicas and restarts.
 */
export class SpendNotices {
  readonly #deps: SpendNoticesDeps;
  #nextMs: number;
  #hour = 0;
  /** Marks that this process has told in the hour, so that the next look writes nothing. */
  #told = new Set<string>();

  constructor(deps: SpendNoticesDeps) {
    this.#deps = deps;
    // A start reads no report: its reader is loaded by the first one.
    this.#nextMs = deps.clock.monotonicMs() + LOOK_INTERVAL_MS;
  }

  /** May be called at any pace: it reads the ledger once a minute. */
  async look(): Promise<void> {
    const { clock, ledger, findLabels, tell, factor } = this.#deps;
    if (clock.monotonicMs() < this.#nextMs) return;
    this.#nextMs = clock.monotonicMs() + LOOK_INTERVAL_MS;
    const hour = Math.floor((clock.nowUs() - SETTLING_US) / HOUR_US);
    if (hour !== this.#hour) this.#told = new Set();
    this.#hour = hour;
    const earlier = Array.from({ length: WEEKS }, (_, week) => hour - (week + 1) * WEEK_HOURS);
    const spends = await ledger.readHourSpend({
      hour,
      earlier,
      leastPico: LEAST_PICO,
      rowsMax: SUBJECTS_MAX,
    });
    const unusual = spends.filter((spend) => isUnusual(spend, factor));
    const keyIds = unusual.flatMap(({ kind, value }) => (kind === "key" ? [value] : []));
    const labels = keyIds.length === 0 ? null : await findLabels(keyIds);
    for (const spend of unusual) {
      const name = `spend.unusual ${hour} ${spend.kind} ${spend.value}`;
      if (this.#told.has(name) || this.#told.size >= SUBJECTS_MAX) continue;
      this.#told.add(name);
      const label = labels?.get(spend.value)?.label ?? "";
      tell(toDraft(spend, { hour, factor, label }), { mark: { name, untilUs: (hour + 2) * HOUR_US } });
    }
  }
}

function isUnusual({ costPico, earlierPico }: HourSpend, factor: number): boolean {
  if (earlierPico.length === 0) return false;
  const steps = BigInt(Math.round(factor * FACTOR_STEPS));
  return costPico * 2n * BigInt(FACTOR_STEPS) > steps * toTwiceMedian(earlierPico);
}

/** The sum of the two in the middle, which are one where the number of amounts is odd. */
function toTwiceMedian(amounts: readonly Pico[]): Pico {
  const sorted = amounts.toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0));
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)] ?? 0n) + (sorted[Math.ceil(middle)] ?? 0n);
}

interface Told {
  readonly hour: number;
  readonly factor: number;
  /** A key's label; empty where it has none. */
  readonly label: string;
}

function toDraft(spend: HourSpend, { hour, factor, label }: Told): NoticeDraft {
  const { costPico, earlierPico } = spend;
  const medianPico = toTwiceMedian(earlierPico) / 2n;
  const from = formatInstant(hour * HOUR_US);
  const cost = formatAmount("cost", costPico);
  const median = formatAmount("cost", medianPico);
  return {
    type: "spend.unusual",
    text: `${toWho(spend, label)} has cost ${cost} in the hour from ${from.slice(0, 19)}Z: more than ${factor} times ${median}, the median of that hour in the last four weeks.`,
    facts: {
      spend: {
        ...toSubject(spend, label),
        hour: from,
        cost: picoToNumber(costPico),
        median: picoToNumber(medianPico),
        factor,
      },
    },
  };
}

function toWho({ kind, value, principalName }: HourSpend, label: string): string {
  if (kind === "principal") return toQuotedName(principalName);
  if (kind === "tag") return `The tag ${toQuotedName(value)}`;
  return `The API key ${toQuotedName(label === "" ? value : label)} of ${toQuotedName(principalName)}`;
}

function toSubject({ kind, value, principalName }: HourSpend, label: string) {
  if (kind === "principal") return { principal: principalName };
  return kind === "tag" ? { tag: value } : { key: value, label, principal: principalName };
}
