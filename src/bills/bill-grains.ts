import { type Bill, BILLED_UNITS, type BillRow, type Day } from "./bill.ts";
import type { Told } from "./compared-cell.ts";

/** A bill tells usage, costs, or both. Files of usage and of costs seldom tell the same apart. */
type Aspect = "usage" | "cost";

/** Some measures of a model on a day, and whether they are compared by tier. */
export interface Grain {
  readonly told: Told;
  readonly tellsTier: boolean;
}

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
