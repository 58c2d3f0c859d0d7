import { DAY_US, formatInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { type Bill, type BilledUnit, BILLED_UNITS, type BillRow, type Day } from "./bill.ts";
import type { Told } from "./compared-cell.ts";

/** A bill tells usage, costs, or both. Files of usage and of costs seldom tell the same apart. */
type Aspect = "usage" | "cost";

/** Some measures of a model on a day, and whether they are compared by tier. */
export interface Grain {
  readonly told: Told;
  readonly tellsTier: boolean;
}

const ASPECTS: readonly Aspect[] = ["usage", "cost"];
const USAGE_UNITS = ["input_tokens", "output_tokens"] as const;

/** What bills of one vendor tell of each model on each day. A measure of ours is in one grain alone, so that none counts twice. */
export class Grains {
  readonly #told: { readonly [aspect in Aspect]: Told };
  readonly #whole: Told;
  readonly #days: { readonly [aspect in Aspect]: DayRange };
  /** Whether a tier is told; by aspect, by aspect and model, and by those and the day. */
  readonly #tellsTier = new Map<string, boolean>();

  constructor(bills: readonly Bill[]) {
    const told = bills.map((bill) => ({ bill, told: toTold(bill) }));
    const requests = told.some((each) => each.told.requests);
    const units = BILLED_UNITS.filter((unit) => told.some((each) => each.told.units.includes(unit)));
    this.#told = {
      usage: { requests, units, cost: false },
      cost: { requests: false, units: [], cost: true },
    };
    this.#whole = { requests, units, cost: true };
    const toDays = (aspect: Aspect) =>
      toRange(told.filter((each) => isToldIn(each.told, aspect)).map(({ bill }) => bill));
    this.#days = { usage: toDays("usage"), cost: toDays("cost") };
  }

  get usage(): Told {
    return this.#told.usage;
  }

  /** True where a bill has this row's day, and its usage would be in it. */
  isUsageDay(day: Day): boolean {
    return this.#isDayOf("usage", day);
  }

  /** A row of this model, by our name for it. */
  learn(row: BillRow, model: string | null): void {
    const tellsTier = row.tier !== undefined;
    for (const aspect of toAspects(row)) {
      for (const key of [aspect, `${aspect} ${model}`, `${aspect} ${row.day} ${model}`])
        this.#tellsTier.set(key, tellsTier || this.#tellsTier.get(key) === true);
    }
  }

  /**
   * The grains of a day and model: one where its usage and its costs are told alike. A model of which costs alone are billed has
   * its usage in no file, such as that of embeddings beside completions; one that no bill has is on our side alone, once.
   */
  of(day: Day, model: string | null): readonly Grain[] {
    const isKnown = (aspect: Aspect) => this.#tellsTier.has(`${aspect} ${model}`);
    const isUsage = this.#isDayOf("usage", day) && (isKnown("usage") || !isKnown("cost"));
    const isCost = this.#isDayOf("cost", day);
    const [usageTier, costTier] = [this.#findTier("usage", day, model), this.#findTier("cost", day, model)];
    const isAlike = usageTier === costTier || (!isKnown("usage") && !isKnown("cost"));
    if (isUsage && isCost && isAlike) return [{ told: this.#whole, tellsTier: usageTier || costTier }];
    return [
      ...(isUsage ? [{ told: this.#told.usage, tellsTier: usageTier }] : []),
      ...(isCost ? [{ told: this.#told.cost, tellsTier: costTier }] : []),
    ];
  }

  #isDayOf(aspect: Aspect, day: Day): boolean {
    const { firstDay, lastDay } = this.#days[aspect];
    return day >= firstDay && day <= lastDay;
  }

  /** As the day's rows of a model tell it, else as those of other days, else as those of other models. */
  #findTier(aspect: Aspect, day: Day, model: string | null): boolean {
    const keys = [`${aspect} ${day} ${model}`, `${aspect} ${model}`, aspect];
    return keys.map((key) => this.#tellsTier.get(key)).find((tells) => tells !== undefined) ?? false;
  }
}

/**
 * Bills whose costs, or usage, are compared with one another's: those by model, and those without. One without rows belongs to those
 * by model that tell of the same, since each group is held against all of our use.
 */
export function groupByModel(bills: readonly Bill[]): ReadonlyMap<boolean, readonly Bill[]> {
  const byModel = bills.filter(tellsModel);
  const isByModel = (bill: Bill) =>
    bill.rows.length === 0
      ? byModel.some((other) => ASPECTS.some((aspect) => hasAspect(bill, aspect) && hasAspect(other, aspect)))
      : tellsModel(bill);
  return Map.groupBy(bills, isByModel);
}

function tellsModel({ rows }: Bill): boolean {
  return rows.some(({ model }) => model !== undefined);
}

function hasAspect(bill: Bill, aspect: Aspect): boolean {
  return isToldIn(toTold(bill), aspect);
}

/**
 * Throws `invalid_bill` where two files tell the same measure of the same days, one of them by model and the other without, or with
 * the same sums: each would be held against all of our use.
 */
export function refuseToldTwice(bills: readonly Bill[]): void {
  const told = bills.map((bill) => ({ bill, days: toDaySums(bill) }));
  for (const [index, one] of told.entries()) {
    for (const other of told.slice(index + 1)) {
      refuseOtherGrain(one, other);
      refuseSameSums(one, other);
    }
  }
}

/** By measure, those of zero left out. */
type DaySum = ReadonlyMap<MeasureName, number>;
type MeasureName = "requests" | "cost" | BilledUnit;

interface BilledDays {
  readonly bill: Bill;
  readonly days: ReadonlyMap<Day, DaySum>;
}

function toDaySums({ rows }: Bill): BilledDays["days"] {
  const days = new Map<Day, Map<MeasureName, number>>();
  for (const { day, requests, units, costPico } of rows) {
    const sum = days.get(day) ?? new Map<MeasureName, number>();
    days.set(day, sum);
    const add = (name: MeasureName, amount: number | undefined) => {
      if (amount !== undefined && amount !== 0) sum.set(name, (sum.get(name) ?? 0) + amount);
    };
    add("requests", requests);
    add("cost", costPico === undefined ? undefined : Number(costPico));
    for (const unit of BILLED_UNITS) add(unit, units[unit]);
  }
  return days;
}

function refuseOtherGrain(one: BilledDays, other: BilledDays): void {
  const [fine, coarse] = tellsModel(one.bill) ? [one, other] : [other, one];
  if (!tellsModel(fine.bill) || tellsModel(coarse.bill)) return;
  for (const [what, each, names] of [
    ["costs", "cost", ["cost"]],
    ["usage", "request", ["requests", ...BILLED_UNITS]],
  ] as const) {
    const days = [...fine.days].flatMap(([day, sum]) =>
      names.some((name) => sum.has(name) && coarse.days.get(day)?.has(name)) ? [day] : [],
    );
    if (days.length > 0)
      throw toldTwice(
        `${fine.bill.file} tells ${what} of ${toDates(days)} by model, and ${coarse.bill.file} without a model: each ${each} would count twice. Leave one of them out.`,
      );
  }
}

function refuseSameSums(one: BilledDays, other: BilledDays): void {
  const shared = [...one.days].flatMap(([day, sum]) => {
    const theirs = other.days.get(day) ?? new Map<MeasureName, number>();
    const pairs = [...sum].flatMap(([name, mine]) => {
      const their = theirs.get(name);
      return their === undefined ? [] : [{ mine, their }];
    });
    return pairs.length === 0 ? [] : [{ day, pairs }];
  });
  if (shared.length === 0 || !shared.every(({ pairs }) => pairs.every(isRounded))) return;
  const days = toDates(shared.map(({ day }) => day));
  throw toldTwice(
    `${one.bill.file} and ${other.bill.file} tell the same of ${days}, which would count twice: leave one of them out. Where both are meant, such as of two projects, put their rows into one file.`,
  );
}

/** A CSV has fewer digits than JSON: a thousandth is no difference. */
function isRounded({ mine, their }: { readonly mine: number; readonly their: number }): boolean {
  return Math.abs(mine - their) * 1000 <= Math.max(Math.abs(mine), Math.abs(their));
}

function toDates(days: readonly Day[]): string {
  const toDate = (day: Day) => formatInstant(day * DAY_US).slice(0, "2026-01-31".length);
  const [first, last] = [Math.min(...days), Math.max(...days)];
  return first === last ? toDate(first) : `${toDate(first)} to ${toDate(last)}`;
}

function toldTwice(message: string): ProxyError {
  return new ProxyError("invalid_bill", message, { param: "files" });
}

/** True when the row has a measure of the grain. */
export function isRowOf({ told }: Grain, row: BillRow): boolean {
  return toAspects(row).some((aspect) => isToldIn(told, aspect));
}

function isToldIn({ requests, units, cost }: Told, aspect: Aspect): boolean {
  return aspect === "cost" ? cost : requests || units.length > 0;
}

function toAspects({ requests, units, costPico }: BillRow): readonly Aspect[] {
  const isUsage = requests !== undefined || Object.keys(units).length > 0;
  return [...(isUsage ? ["usage" as const] : []), ...(costPico === undefined ? [] : ["cost" as const])];
}

/** The measures of a bill. One without rows says that its days had nothing of what its format tells. */
function toTold({ rows, format }: Bill): Told {
  if (rows.length === 0) {
    const [isUsage, isCost] = [!format.endsWith("-costs"), !format.endsWith("-usage")];
    return { requests: false, units: isUsage ? USAGE_UNITS : [], cost: isCost };
  }
  return {
    requests: rows.some(({ requests }) => requests !== undefined),
    units: BILLED_UNITS.filter((unit) => rows.some(({ units }) => units[unit] !== undefined)),
    cost: rows.some(({ costPico }) => costPico !== undefined),
  };
}

interface DayRange {
  readonly firstDay: Day;
  readonly lastDay: Day;
}

/** From the first to the last, also where no file has a day between: what is missing is a difference. */
function toRange(bills: readonly Bill[]): DayRange {
  return {
    firstDay: Math.min(...bills.map(({ firstDay }) => firstDay)),
    lastDay: Math.max(...bills.map(({ lastDay }) => lastDay)),
  };
}
