import type { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { decodeCells } from "#storage/cells/cells.ts";
import { CELL_MEASURES } from "#storage/cells/measures.ts";
import type { RandomUsage } from "../ledger/usage.ts";

/** 10^9 pico: where an amount is cut into its two columns. */
export const SEAM = 1_000_000_000n;
const DAY_US = 86_400_000_000;
const HOUR_US = DAY_US / 24;
const UNITS = [
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
  "audio_seconds",
  "images",
  "search_units",
  "web_searches",
  "requests",
] as const;
/** Their columns in tables of totals, in the same order. */
const COLUMNS = [
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
  "audio_us",
  "images",
  "search_units",
  "web_searches",
  "priced_by_request",
] as const;
/** Parts of units, in the order in which they are taken out of them. */
const PARTS = [
  ["cache_write_tokens", "input_tokens"],
  ["cache_write_1h_tokens", "input_tokens"],
  ["input_audio_tokens", "input_tokens"],
  ["input_image_tokens", "input_tokens"],
  ["output_audio_tokens", "output_tokens"],
] as const;
/** Names of units in the JSON of `other_units`. */
const MEMBERS = new Map<Stored, string>([
  ["audio_seconds", "a"],
  ["images", "i"],
  ["search_units", "s"],
  ["web_searches", "b"],
  ["requests", "r"],
  ["cache_write_tokens", "w"],
  ["cache_write_1h_tokens", "h"],
  ["input_audio_tokens", "ia"],
  ["input_image_tokens", "ii"],
  ["output_audio_tokens", "oa"],
]);
type Stored = (typeof UNITS)[number] | (typeof PARTS)[number][0];

/** An event with what it was interned to. */
export interface CheckedEvent extends Readonly<Record<Stored, number | null>> {
  readonly id: number;
  readonly combination: number;
  readonly result: number;
  readonly outcome: string;
  readonly status_code: number;
  readonly error_kind: string | null;
  readonly duration_us: number;
  readonly shape: string | null;
  readonly endpoint: string;
  readonly tags: string;
  readonly principal_id: string;
  readonly key_id: string | null;
  readonly relay_token_id: string | null;
  readonly provider_id: string;
  readonly model: string | null;
  readonly upstream_name: string | null;
  readonly prices: string;
  readonly cost_hi: number | null;
  readonly cost_lo: number | null;
  readonly other_units: string | null;
  readonly cost_reported_hi: number | null;
  readonly cost_reported_lo: number | null;
}

/** The dimensions that an event is counted by. */
type Measured = Pick<
  CheckedEvent,
  | "id"
  | "outcome"
  | "status_code"
  | "duration_us"
  | "shape"
  | "prices"
  | "cost_hi"
  | "cost_lo"
  | "cost_reported_hi"
  | "cost_reported_lo"
> & { readonly [unit in Stored]?: number | null };

/** All events of a ledger, as `CheckedEvent`. */
export const EVENTS_SQL = `SELECT event.*, ${[...MEMBERS].map(([unit, name]) => `other_units ->> '${name}' AS ${unit}`).join(", ")},
  other_units ->> 'ch' AS cost_reported_hi, other_units ->> 'cl' AS cost_reported_lo, manner.result, outcome, status_code, error_kind, shape, endpoint, tags, principal_id, key_id,
  relay_token_id, provider_id, model, upstream_name, prices FROM event
  LEFT JOIN combination ON combination.id = event.combination LEFT JOIN manner ON manner.id = event.manner
  LEFT JOIN result ON result.id = manner.result LEFT JOIN price_set ON price_set.id = manner.price_set
  ORDER BY event.id`;

/** Invariant 2: the totals of hours, days and months against the rows, and against each other where rows were removed. */
export function checkTotals(database: Database, events: readonly CheckedEvent[]): void {
  const { pruned } = database
    .query<{ pruned: number }, []>("SELECT pruned_before_us AS pruned FROM ledger_state")
    .get() ?? { pruned: 0 };
  // Days whose rows are all there: what retention has cut into has totals and no rows.
  const kept = Math.ceil(pruned / DAY_US);
  const wholeHour = Math.ceil(pruned / HOUR_US);
  const rows = events.filter(({ id }) => toDay(id) >= kept);
  const read = (sql: string) => database.query<TotalRow, []>(sql).all().map(withPico);
  const hours = read("SELECT * FROM hour_total");
  const open = read("SELECT t.*, outcome FROM open_cell AS t JOIN result ON result.id = result");
  const outcomes = new Map(
    database
      .query<{ id: number; outcome: string }, []>("SELECT id, outcome FROM result")
      .all()
      .map(({ id, outcome }) => [id, outcome]),
  );
  const sealed = (period: number) =>
    database
      .query<{ at: number; columns: Uint8Array<ArrayBuffer> }, [number]>(
        "SELECT at, columns FROM cells WHERE period = ?",
      )
      .all(period)
      .flatMap(({ at, columns }) =>
        readCellRows(columns).map((row) =>
          withPico(Object.assign(row, { hour: at, outcome: outcomes.get(row.result) ?? "none" })),
        ),
      );
  const [ofHours, ofDays, ofMonths] = [sealed(0), sealed(1), sealed(2)];
  const days = [...ofDays, ...open.map((row) => Object.assign({}, row, { hour: Math.floor(row.hour / 24) }))];

  const toOutcome = ({ hour, outcome }: TotalRow) => `${hour} ${outcome}`;
  expectSame(
    "hours",
    sum(
      hours.filter(({ hour }) => hour >= kept * 24),
      HOURLY,
      toOutcome,
      (row) => row,
    ),
    sum(rows, HOURLY, ({ id, outcome }) => `${Math.floor(id / HOUR_US)} ${outcome}`, toEventTotal),
  );
  expect(ofHours.filter(({ hour }) => hour < wholeHour)).toEqual([]);
  expectSame(
    "hour cells",
    sumCells([...ofHours, ...open].filter(({ hour }) => hour >= wholeHour)),
    sumEvents(
      events.filter(({ id }) => id >= wholeHour * HOUR_US),
      (id) => Math.floor(id / HOUR_US),
    ),
  );
  expectSame("day cells", sumCells(days.filter(({ hour }) => hour >= kept)), sumEvents(rows, toDay));
  expectSame(
    "hours against day cells",
    sum(
      hours,
      HOURLY,
      ({ hour, outcome }) => `${Math.floor(hour / 24)} ${outcome}`,
      (row) => row,
    ),
    withoutEmpty(sum(days, HOURLY, toOutcome, (row) => row)),
  );
  const byMonth = ofDays.map((row) => Object.assign({}, row, { hour: toMonth(row.hour * DAY_US) }));
  expectSame("month cells", sumCells(ofMonths), sumCells(byMonth));
}

/** A ledger of any engine. */
interface Readable {
  read<Row>(sql: string): Promise<Row[]>;
}

/**
 * Every total, whichever rows are left, against the events as they were handed in: by outcome, and by the model that was asked
 * for. An instant that two events share moves the second by a microsecond.
 */
export async function checkHandedIn(ledger: Readable, usages: readonly RandomUsage[]): Promise<void> {
  const events = usages.map(toMeasured);
  const toOutcome = ({ outcome }: { readonly outcome: string }) => outcome;
  const hours = (await ledger.read<TotalRow>("SELECT * FROM hour_total")).map(withPico);
  expectSame(
    "hours",
    sum(hours, HOURLY, toOutcome, (row) => row),
    sum(events, HOURLY, toOutcome, toEventTotal),
  );
  const sets = await ledger.read<{ id: number; model: string | null }>("SELECT id, model FROM combination");
  const models = new Map(sets.map(({ id, model }) => [id, model]));
  const sealed = await ledger.read<{ columns: Uint8Array<ArrayBuffer> }>(
    "SELECT columns FROM cells WHERE period = 1",
  );
  const cells: readonly TotalRow[] = [
    ...(await ledger.read<TotalRow>("SELECT * FROM open_cell")),
    ...sealed.flatMap(({ columns }) => readCellRows(columns)),
  ].map(withPico);
  const names = DAILY.filter((name) => name !== "last_seen_us");
  expectSame(
    "cells",
    withoutEmpty(
      sum(
        cells,
        names,
        ({ combination }) => String(models.get(combination)),
        (row) => row,
      ),
    ),
    sum(events, names, ({ model }) => String(model), toEventTotal),
  );
}

function toMeasured({ subject, ending }: RandomUsage): Measured & { readonly model: string | null } {
  const { costPico, costReportedPico, usage } = ending;
  return {
    ...usage?.quantities,
    id: subject.arrivedAtUs,
    model: subject.model,
    outcome: ending.outcome,
    status_code: ending.statusCode,
    duration_us: ending.durationUs,
    shape: usage?.shape ?? null,
    prices: JSON.stringify(ending.prices),
    cost_hi: costPico === null ? null : Number(costPico / SEAM),
    cost_lo: costPico === null ? null : Number(costPico % SEAM),
    cost_reported_hi: costReportedPico === undefined ? null : Number(costReportedPico / SEAM),
    cost_reported_lo: costReportedPico === undefined ? null : Number(costReportedPico % SEAM),
  };
}

const withPico = (row: TotalRow): TotalRow =>
  Object.assign(row, { pico: toPico(row) ?? 0n, reported: toReportedPico(row) ?? 0n });

function sumCells(rows: readonly TotalRow[]): Totals {
  const toKey = ({ hour, combination, result }: TotalRow) => `${hour} ${combination} ${result}`;
  return withoutEmpty(sum(rows, DAILY, toKey, (row) => row));
}

function sumEvents(events: readonly CheckedEvent[], toPeriod: (id: number) => number): Totals {
  const toKey = ({ id, combination, result }: CheckedEvent) => `${toPeriod(id)} ${combination} ${result}`;
  return sum(events, DAILY, toKey, toEventTotal);
}

/** What was taken out of a sealed row is beside it until the next maintenance. */
function withoutEmpty(sums: Totals): Totals {
  return new Map([...sums].filter(([, { requests }]) => requests !== 0));
}

/** The rows of cells as those of `open_cell` are read. */
export function readCellRows(columns: Uint8Array<ArrayBuffer>) {
  const { combinations, results, measures } = decodeCells(columns);
  return Array.from(combinations, (combination, row) => {
    const values = CELL_MEASURES.map(({ name, adds }, index) => {
      const value = measures[index]?.[row];
      if (adds === "reported") return [name, value === undefined || value === -1 ? null : value];
      // Each request counts one, so that none leaves nothing.
      return [name, adds === "counted" ? value || null : (value ?? 0)];
    });
    return { ...Object.fromEntries(values), combination, result: results[row]! };
  });
}

/** What is billed and at which price: each unit without its parts; a part without a price of its own costs as its unit does. */
export function toBilled(event: Measured) {
  const { input_tokens: input = null, cached_input_tokens: cached = null } = event;
  const isInclusive = event.shape === "inclusive";
  const left = new Map<Stored, number | null>(UNITS.map((unit) => [unit, event[unit] ?? null]));
  // What an inclusive input contains comes out of it, as far as it goes; more cached than there is leaves it whole.
  if (isInclusive && input !== null && (cached ?? 0) <= input)
    left.set("input_tokens", input - (cached ?? 0));
  const prices: { readonly [unit: string]: number | null | undefined } = JSON.parse(event.prices);
  for (const [part, whole] of PARTS) {
    const [told, rest] = [event[part] ?? null, left.get(whole) ?? null];
    const taken = isInclusive && told !== null && rest !== null ? Math.min(told, rest) : told;
    left.set(part, taken);
    if (isInclusive && rest !== null) left.set(whole, rest - (taken ?? 0));
  }
  const wholeOf = new Map<Stored, Stored>(PARTS);
  return [...left].map(([unit, quantity]) => ({
    unit,
    counted: wholeOf.get(unit) ?? unit,
    quantity,
    price: prices[unit] ?? prices[wholeOf.get(unit) ?? unit] ?? null,
  }));
}

/** Section 2.10: each unit with its parts, whatever the shape, in the order of `COLUMNS`. */
function toNormalised(event: Measured): (number | null)[] {
  const billed = toBilled(event);
  return UNITS.map((unit) => {
    const parts = billed.flatMap(({ counted, quantity }) => (counted === unit ? (quantity ?? []) : []));
    const added = parts.length === 0 ? null : parts.reduce((total, quantity) => total + quantity, 0);
    return unit === "audio_seconds" && added !== null ? Math.round(added * 1e6) : added;
  });
}

/** Null when nothing was priced. */
export function toPico({
  cost_hi,
  cost_lo,
}: {
  readonly cost_hi: number | null;
  readonly cost_lo: number | null;
}) {
  return cost_hi === null || cost_lo === null ? null : BigInt(cost_hi) * SEAM + BigInt(cost_lo);
}

function toReportedPico(row: Pick<CheckedEvent, "cost_reported_hi" | "cost_reported_lo">) {
  return toPico({ cost_hi: row.cost_reported_hi, cost_lo: row.cost_reported_lo });
}

const COUNTS = [
  "requests",
  "priced_requests",
  "unpriced_requests",
  "pending_requests",
  "unmetered_requests",
  "cost_reported_requests",
] as const;
/** Time bands with their ends in seconds. */
const BANDS = [
  ["band_under_1s", 1],
  ["band_under_5s", 5],
  ["band_under_15s", 15],
  ["band_under_30s", 30],
  ["band_under_60s", 60],
  ["band_under_120s", 120],
  ["band_over_120s", Number.POSITIVE_INFINITY],
] as const;
const HOURLY = [...COUNTS, ...COLUMNS] as const;
const DAILY = [...HOURLY, "duration_us", "last_seen_us", ...BANDS.map(([band]) => band)] as const;
type Measure = (typeof DAILY)[number];

/** The measures of a total by their columns; its amounts in pico, that which providers told apart. */
type Total = Readonly<Record<Measure, number | null>> & { readonly pico: bigint; readonly reported: bigint };
type Totals = ReadonlyMap<string, Partial<Total>>;

/** A row of totals, with whatever else its statement has selected. */
interface TotalRow extends Total {
  readonly hour: number;
  readonly outcome: string;
  readonly combination: number;
  readonly result: number;
  readonly cost_hi: number;
  readonly cost_lo: number;
  readonly cost_reported_hi: number;
  readonly cost_reported_lo: number;
}

const toDay = (atUs: number) => Math.floor(atUs / DAY_US);

function toMonth(atUs: number): number {
  const date = new Date(atUs / 1000);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}

/** The amounts that one event adds to every total that it is in. */
export function toEventTotal(event: Measured): Total {
  const [cost, reported] = [toPico(event), toReportedPico(event)];
  const isUnpriced = toBilled(event).some(({ quantity, price }) => (quantity ?? 0) > 0 && price === null);
  const units = toNormalised(event);
  const seconds = event.duration_us / 1e6;
  const ofBand = BANDS.find(([, end]) => seconds < end)?.[0];
  return Object.fromEntries([
    ["pico", cost ?? 0n],
    ["reported", reported ?? 0n],
    ["cost_reported_requests", reported === null ? 0 : 1],
    ["requests", 1],
    ["priced_requests", cost === null ? 0 : 1],
    ["unpriced_requests", isUnpriced ? 1 : 0],
    ["pending_requests", event.shape === "pending" ? 1 : 0],
    ["unmetered_requests", isUnmetered(event) ? 1 : 0],
    ["duration_us", event.duration_us],
    ["last_seen_us", event.id],
    ...COLUMNS.map((column, index) => [column, units[index] ?? null]),
    ...BANDS.map(([band]) => [band, band === ofBand ? 1 : 0]),
  ]);
}

/** It should have told a usage, and told none, or only its beginning. */
function isUnmetered({ shape, outcome, status_code: status }: Measured): boolean {
  if (shape !== null && shape !== "begun") return false;
  const isSuccess = status >= 200 && status < 300;
  return (outcome === "ok" && isSuccess) || (outcome === "cancelled" && (isSuccess || status === 499));
}

/** Adds up some measures, and the amounts. */
function sum<Row>(
  rows: readonly Row[],
  names: readonly Measure[],
  toKey: (row: Row) => string,
  toTotal: (row: Row) => Total,
): Totals {
  const sums = new Map<string, Record<string, number | bigint | null>>();
  for (const row of rows) {
    const [key, total] = [toKey(row), toTotal(row)];
    const have = sums.get(key) ?? { pico: 0n, reported: 0n };
    sums.set(key, have);
    have["pico"] = BigInt(have["pico"] ?? 0) + total.pico;
    have["reported"] = BigInt(have["reported"] ?? 0) + total.reported;
    for (const name of names) {
      const [before, more] = [Number(have[name] ?? 0), total[name]];
      if (more === null) have[name] ??= null;
      else have[name] = name === "last_seen_us" ? Math.max(before, more) : before + more;
    }
  }
  for (const have of sums.values()) have["priced_by_request"] ||= null;
  return sums;
}

function expectSame(what: string, totals: Totals, sums: Totals): void {
  const differing = [...new Set([...totals.keys(), ...sums.keys()])].filter(
    (key) => !Bun.deepEquals(totals.get(key), sums.get(key)),
  );
  const show = (from: Totals) => differing.map((key) => [what, key, from.get(key)]);
  expect(show(totals)).toEqual(show(sums));
}
