import type { AnswerOf } from "#http/client.ts";
import { picoToNumber, REPORT_UNITS, type Pico } from "#kernel/units.ts";
import { compareCodeUnits } from "#kernel/text.ts";

/** What rows of the summary can be summed up by: the word on the command line, and the field that says it in each row. */
const SUMMARY_FIELDS = {
  model: "model",
  principal: "principal",
  provider: "provider",
  tag: "tag",
  app: "app",
  client: "client",
  endpoint: "endpoint",
} as const;
export type SummaryDimension = keyof typeof SUMMARY_FIELDS;
export const DIMENSIONS = [
  "model",
  "principal",
  "key",
  "provider",
  "tag",
  "app",
  "client",
  "endpoint",
  "day",
] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** Former words, which still work. */
export const FORMER_WORDS: { readonly [former: string]: string } = { person: "principal" };

/** A row of `GET /stats/summary`. */
export type UsageRow = AnswerOf<"GET /stats/summary">["usage"][number];

/** Sums of usage. */
export interface Sums {
  readonly requests: number;
  readonly cancelled: number;
  /** Null when nothing in it was priced. */
  readonly cost: number | null;
  /** Only units that were reported. */
  readonly units: { readonly [unit: string]: number };
}

export interface UsageGroup extends Sums {
  /** Null is "none", such as no User-Agent or no tag. */
  readonly name: string | null;
}

/** Summary rows put together, the most expensive first. By tag a request counts under each of its tags. */
export function groupUsage(rows: readonly UsageRow[], by: SummaryDimension): readonly UsageGroup[] {
  const groups = new Map<string | null, UsageRow[]>();
  for (const row of rows) {
    for (const name of toNames(row, by)) {
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [row]);
      else group.push(row);
    }
  }
  return [...groups]
    .map(([name, members]) => Object.assign({ name }, sumUsage(members)))
    .sort(
      (left, right) =>
        (right.cost ?? -1) - (left.cost ?? -1) ||
        right.requests - left.requests ||
        compareCodeUnits(left.name ?? "", right.name ?? ""),
    );
}

export function sumUsage(rows: readonly Sums[]): Sums {
  let requests = 0;
  let cancelled = 0;
  let cost: Pico | null = null;
  const units = new Map<string, number>();
  for (const row of rows) {
    requests += row.requests;
    cancelled += row.cancelled;
    if (row.cost !== null) cost = (cost ?? 0n) + toPico(row.cost);
    for (const [unit, quantity] of Object.entries(row.units))
      units.set(unit, (units.get(unit) ?? 0) + quantity);
  }
  return {
    requests,
    cancelled,
    cost: cost === null ? null : picoToNumber(cost),
    units: Object.fromEntries(
      REPORT_UNITS.flatMap((unit) => {
        const quantity = units.get(unit);
        return quantity === undefined ? [] : [[unit, quantity]];
      }),
    ),
  };
}

function toNames(row: UsageRow, by: SummaryDimension): readonly (string | null)[] {
  if (by !== "tag") return [row[SUMMARY_FIELDS[by]]];
  return row.tags.length === 0 ? [null] : row.tags;
}

/** The exact amount behind a JSON number, so that sums are exact; `toFixed` spells out the twelve decimals that there are. */
function toPico(amount: number): Pico {
  return BigInt(amount.toFixed(12).replace(".", ""));
}
