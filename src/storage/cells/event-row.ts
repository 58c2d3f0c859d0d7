import { byUnit, type Pico, type Quantities, type Unit, UNITS } from "#kernel/units.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import type { ColumnTypes } from "#storage/sql/script.ts";
import { NOTHING_USED } from "#usage/event.ts";
import type { UsageFigures } from "#usage/journal-line.ts";
import { joinCost, type SplitCost } from "./sums.ts";

/** Units that most requests tell: each has a column of `event`. */
const COLUMN_UNITS = ["input_tokens", "output_tokens", "cached_input_tokens"] as const;
type ColumnUnit = (typeof COLUMN_UNITS)[number];

/**
 * All other units are members of the column `other_units`, which is NULL or JSON: a column each would cost every event a byte.
 * The names are stored: a new unit gets one that none has had.
 */
const MEMBERS: { readonly [unit in Exclude<Unit, ColumnUnit>]: string } = {
  audio_seconds: "a",
  cache_write_tokens: "w",
  cache_write_1h_tokens: "h",
  input_audio_tokens: "ia",
  input_image_tokens: "ii",
  output_audio_tokens: "oa",
  images: "i",
  search_units: "s",
  web_searches: "b",
  requests: "r",
};
const MEMBER_OF: ReadonlyMap<string, string> = new Map(Object.entries(MEMBERS));
const OTHER_UNITS = UNITS.flatMap((unit) => {
  const member = MEMBER_OF.get(unit);
  return member === undefined ? [] : [[unit, member] as const];
});

/** Members of `other_units` with the halves of the cost that the provider told. */
const COST_REPORTED = { hi: "ch", lo: "cl" } as const;

/** The columns of `event`, without the lane, in the order in which `toEventRow` has their values. */
export const EVENT_COLUMNS: ColumnTypes = [
  ["id", "bigint"],
  ["combination", "integer"],
  ["manner", "integer"],
  ["duration_us", "double precision"],
  ["first_byte_us", "double precision"],
  ["cost_hi", "double precision"],
  ["cost_lo", "double precision"],
  ...COLUMN_UNITS.map((unit) => [unit, "double precision"] as const),
  ["other_units", "text"],
];

/** An event with all that its row is made of. */
interface StoredEvent {
  readonly id: number;
  readonly combination: number;
  readonly eventClass: number;
  readonly ending: UsageFigures;
  readonly cost: SplitCost | null;
  readonly costReported: SplitCost | null;
}

export type EventRow = (number | string | null)[];

/** `row` is filled in, and may be one of before. */
export function toEventRow(event: StoredEvent, row: EventRow = []): EventRow {
  const { ending, cost, costReported } = event;
  const quantities = ending.usage?.quantities ?? NOTHING_USED.quantities;
  row[0] = event.id;
  row[1] = event.combination;
  row[2] = event.eventClass;
  row[3] = ending.durationUs;
  row[4] = ending.timeToFirstByteUs;
  row[5] = cost?.hi ?? null;
  row[6] = cost?.lo ?? null;
  row[7] = quantities.input_tokens ?? null;
  row[8] = quantities.output_tokens ?? null;
  row[9] = quantities.cached_input_tokens ?? null;
  row[10] = toOtherUnits(quantities, costReported);
  return row;
}

function toOtherUnits(quantities: Quantities, costReported: SplitCost | null): string | null {
  let members: { [member: string]: number } | null = null;
  for (const [unit, member] of OTHER_UNITS) {
    const quantity = quantities[unit];
    if (quantity !== undefined) (members ??= {})[member] = quantity;
  }
  if (costReported !== null) {
    const { hi, lo } = costReported;
    members = { ...members, [COST_REPORTED.hi]: hi, [COST_REPORTED.lo]: lo };
  }
  return members === null ? null : JSON.stringify(members);
}

/** The columns that hold the quantities of an event. */
export const QUANTITY_COLUMNS = [...COLUMN_UNITS, "other_units"] as const;
export type QuantityColumns = { readonly [unit in ColumnUnit]: number | null } & {
  readonly other_units: string | null;
};

export function readQuantities(row: QuantityColumns): Quantities {
  const others = readMembers(row);
  return byUnit(UNITS, (unit) => {
    const quantity = isColumnUnit(unit) ? row[unit] : others.get(MEMBERS[unit]);
    return typeof quantity === "number" ? quantity : undefined;
  });
}

/** `other_units` of a request that is billed by itself from now on, as SQL on what it was, and back. */
export const GIVEN_REQUEST = {
  add: `CASE WHEN other_units IS NULL THEN '{"r":1}' ELSE substr(other_units, 1, length(other_units) - 1) || ',"r":1}' END`,
  remove: `CASE WHEN other_units = '{"r":1}' THEN NULL ELSE substr(other_units, 1, length(other_units) - 7) || '}' END`,
} as const;

/** The cost that the provider told; undefined where it told none. */
export function readCostReported(row: Pick<QuantityColumns, "other_units">): Pico | undefined {
  if (row.other_units === null) return undefined;
  const members = readMembers(row);
  const [hi, lo] = [members.get(COST_REPORTED.hi), members.get(COST_REPORTED.lo)];
  return typeof hi === "number" && typeof lo === "number" ? joinCost(hi, lo) : undefined;
}

function readMembers({ other_units }: Pick<QuantityColumns, "other_units">): ReadonlyMap<string, unknown> {
  const members: unknown = other_units === null ? {} : JSON.parse(other_units);
  return new Map<string, unknown>(Object.entries(members ?? {}));
}

/** A half of the cost that the provider told, of a row of `event AS e`, in SQL; NULL where it told none. */
export function toCostReportedSql({ toMember }: Dialect, half: keyof SplitCost): string {
  return `CASE WHEN ${HAS_OTHER_UNITS} THEN CAST(${toMember("e.other_units", COST_REPORTED[half])} AS DOUBLE PRECISION) END`;
}

/** A quantity of a row of `event AS e`, in SQL; NULL where the unit was not reported. */
export function toQuantitySql({ toMember }: Dialect, unit: Unit): string {
  if (isColumnUnit(unit)) return `e.${unit}`;
  // As a double: sums of SQLite's integers end in an error where they exceed 64 bits.
  return `CASE WHEN ${HAS_OTHER_UNITS} THEN CAST(${toMember("e.other_units", MEMBERS[unit])} AS DOUBLE PRECISION) END`;
}

/** True for a row of `event AS e` with a unit that has no column: few have any, and JSON is read for these alone. */
export const HAS_OTHER_UNITS = "e.other_units IS NOT NULL";

function isColumnUnit(unit: Unit): unit is ColumnUnit {
  return !MEMBER_OF.has(unit);
}
