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
}

/** What an event is counted by. */
type Measured = Pick<
  CheckedEvent,
  "id" | "outcome" | "status_code" | "duration_us" | "shape" | "prices" | "cost_hi" | "cost_lo"
> & { readonly [unit in Stored]?: number | null };

/** All events of a ledger, as `CheckedEvent`. */
export const EVENTS_SQL = `SELECT event.*, ${[...MEMBERS].map(([unit, name]) => `other_units ->> '${name}' AS ${unit}`).join(", ")}, manner.result, outcome, status_code, error_kind, shape, endpoint, tags, principal_id, key_id,
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
  const kept = Math.ceil(pruned / DAY_US) * DAY_US;
  const rows = events.filter(({ id }) => id >= kept);
  const hours = database
    .query<TotalRow, []>(
      `SELECT hour || ' ' || outcome AS key, hour * ${HOUR_US} AS fromUs, hour_total.* FROM hour_total`,
    )
    .all();
  const ofHours = sum(
    hours.filter(({ fromUs }) => fromUs >= kept),
    (row) => row.key,
    fromHourRow,
  );
  const hourOf = (event: CheckedEvent) => `${Math.floor(event.id / HOUR_US)} ${event.outcome}`;
  expectSame(
    "hours",
    ofHours,
    sum(rows, hourOf, (event) => withoutTimes(toEventTotal(event))),
  );
  checkCells(database, { rows, all: events, pruned, kept, hours });
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
  const hours = await ledger.read<TotalRow>("SELECT * FROM hour_total");
  const counted = sum(
    events,
    ({ outcome }) => outcome,
    (event) => withoutTimes(toEventTotal(event)),
  );
  expectSame(
    "hours",
    sum(hours, ({ outcome }) => outcome, fromHourRow),
    counted,
  );
  const sets = await ledger.read<{ id: number; model: string | null }>("SELECT id, model FROM combination");
  const models = new Map(sets.map(({ id, model }) => [id, model]));
  const sealed = await ledger.read<{ columns: Uint8Array<ArrayBuffer> }>(
    "SELECT columns FROM cells WHERE period = 1",
  );
  const cells = [
    ...(await ledger.read<OpenRow>("SELECT * FROM open_cell")),
    ...sealed.flatMap(({ columns }) => toOpenRows(0, columns, new Map())),
  ];
  const withoutLast = (total: Total) => ({ ...total, lastSeenUs: 0 });
  expectSame(
    "cells",
    withoutEmpty(
      sum(
        cells,
        (row) => String(models.get(row.combination)),
        (row) => withoutLast(fromDayRow(row)),
      ),
    ),
    sum(
      events,
      ({ model }) => String(model),
      (event) => withoutLast(toEventTotal(event)),
    ),
  );
}

function toMeasured({ subject, ending }: RandomUsage): Measured & { readonly model: string | null } {
  const { costPico, usage } = ending;
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
  };
}

/** What is sealed and what is open, of hours, days and months. */
function checkCells(
  database: Database,
  {
    rows,
    all,
    pruned,
    kept,
    hours,
  }: {
    readonly rows: readonly CheckedEvent[];
    readonly all: readonly CheckedEvent[];
    readonly pruned: number;
    readonly kept: number;
    readonly hours: readonly TotalRow[];
  },
): void {
  const open = database
    .query<OpenRow, []>("SELECT t.*, outcome FROM open_cell AS t JOIN result ON result.id = result")
    .all();
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
      .flatMap(({ at, columns }) => toOpenRows(at, columns, outcomes));
  const keyOf = ({ hour, combination, result }: OpenRow) => `${hour} ${combination} ${result}`;
  const byDay = open.map((row) => ({ ...row, hour: Math.floor(row.hour / 24) }));

  const [ofHours, ofDays, ofMonths] = [sealed(0), sealed(1), sealed(2)];
  const wholeHour = Math.ceil(pruned / HOUR_US);
  expect(ofHours.filter(({ hour }) => hour < wholeHour)).toEqual([]);
  expectSame(
    "hour cells",
    sumCells(
      [...ofHours, ...open].filter(({ hour }) => hour >= wholeHour),
      keyOf,
    ),
    sum(
      all.filter(({ id }) => id >= wholeHour * HOUR_US),
      (event) => `${Math.floor(event.id / HOUR_US)} ${event.combination} ${event.result}`,
      toEventTotal,
    ),
  );
  const days = [...ofDays, ...byDay];
  expectSame(
    "day cells",
    sumCells(
      days.filter(({ hour }) => hour * DAY_US >= kept),
      keyOf,
    ),
    sum(rows, (event) => `${toDay(event.id)} ${event.combination} ${event.result}`, toEventTotal),
  );
  const ofOutcome = ({ hour, outcome }: OpenRow) => `${hour} ${outcome}`;
  expectSame(
    "hours against day cells",
    sum(hours, (row) => `${toDay(row.fromUs)} ${row.outcome}`, fromHourRow),
    withoutEmpty(sum(days, ofOutcome, (row) => withoutTimes(fromDayRow(row)))),
  );
  expectSame(
    "month cells",
    sum(ofMonths, keyOf, fromDayRow),
    sum(ofDays, (row) => keyOf({ ...row, hour: toMonth(row.hour * DAY_US) }), fromDayRow),
  );
}

interface OpenRow extends DayRow {
  readonly hour: number;
  readonly combination: number;
  readonly result: number;
}

const sumCells = (rows: readonly OpenRow[], toKey: (row: OpenRow) => string) =>
  withoutEmpty(sum(rows, toKey, fromDayRow));

/** What was taken out of a sealed row is beside it until the next maintenance. */
function withoutEmpty(sums: Map<string, Total>): Map<string, Total> {
  return new Map([...sums].filter(([, { requests }]) => requests !== 0));
}

function toOpenRows(
  at: number,
  columns: Uint8Array<ArrayBuffer>,
  outcomes: ReadonlyMap<number, string>,
): OpenRow[] {
  return readCellRows(columns).map((row) =>
    Object.assign(row, { hour: at, outcome: outcomes.get(row.result) ?? "none" }),
  );
}

/** The rows of cells as those of `open_cell` are read. */
export function readCellRows(columns: Uint8Array<ArrayBuffer>) {
  const { combinations, results, measures } = decodeCells(columns);
  return Array.from(combinations, (combination, row) => {
    const values = CELL_MEASURES.map(({ name, adds }, index) => {
      const nothing = adds === "reported" ? null : 0;
      const value = measures[index]?.[row] ?? nothing;
      return [name, adds === "reported" && value === -1 ? nothing : value];
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

/** The measures of a total, as text: so two of them compare, and differ readably. */
interface Total {
  requests: number;
  priced: number;
  unpriced: number;
  pending: number;
  unmetered: number;
  pico: bigint;
  readonly units: (number | null)[];
  durationUs: number;
  lastSeenUs: number;
  readonly bands: number[];
}

interface TotalRow extends Readonly<Record<(typeof COLUMNS)[number], number | null>> {
  readonly key: string;
  /** The first instant that it counts. */
  readonly fromUs: number;
  readonly outcome: string;
  readonly requests: number;
  readonly priced_requests: number;
  readonly unpriced_requests: number;
  readonly pending_requests: number;
  readonly unmetered_requests: number;
  readonly cost_hi: number;
  readonly cost_lo: number;
}

interface DayRow extends TotalRow {
  readonly duration_us: number;
  readonly last_seen_us: number;
  readonly band_under_1s: number;
  readonly band_under_5s: number;
  readonly band_under_15s: number;
  readonly band_under_30s: number;
  readonly band_under_60s: number;
  readonly band_under_120s: number;
  readonly band_over_120s: number;
}

const BAND_ENDS_US = [1, 5, 15, 30, 60, 120, Number.POSITIVE_INFINITY].map((seconds) => seconds * 1e6);

const toDay = (atUs: number) => Math.floor(atUs / DAY_US);

function toMonth(atUs: number): number {
  const date = new Date(atUs / 1000);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}

/** What one event adds to every total that it is in. */
export function toEventTotal(event: Measured): Total {
  const cost = toPico(event);
  const isUnpriced = toBilled(event).some(({ quantity, price }) => (quantity ?? 0) > 0 && price === null);
  const band = BAND_ENDS_US.findIndex((endUs) => event.duration_us < endUs);
  return {
    requests: 1,
    priced: cost === null ? 0 : 1,
    unpriced: isUnpriced ? 1 : 0,
    pending: event.shape === "pending" ? 1 : 0,
    unmetered: isUnmetered(event) ? 1 : 0,
    pico: cost ?? 0n,
    units: toNormalised(event),
    durationUs: event.duration_us,
    lastSeenUs: event.id,
    bands: BAND_ENDS_US.map((_, index) => (index === band ? 1 : 0)),
  };
}

/** It should have told a usage, and told none, or only its beginning. */
function isUnmetered({ shape, outcome, status_code: status }: Measured): boolean {
  if (shape !== null && shape !== "begun") return false;
  const isSuccess = status >= 200 && status < 300;
  return (outcome === "ok" && isSuccess) || (outcome === "cancelled" && (isSuccess || status === 499));
}

function fromHourRow(row: TotalRow): Total {
  return {
    requests: row.requests,
    priced: row.priced_requests,
    unpriced: row.unpriced_requests,
    pending: row.pending_requests,
    unmetered: row.unmetered_requests,
    pico: toPico(row) ?? 0n,
    units: COLUMNS.map((column) => row[column]),
    durationUs: 0,
    lastSeenUs: 0,
    bands: [],
  };
}

function fromDayRow(row: DayRow): Total {
  return {
    ...fromHourRow(row),
    durationUs: row.duration_us,
    lastSeenUs: row.last_seen_us,
    bands: [
      row.band_under_1s,
      row.band_under_5s,
      row.band_under_15s,
      row.band_under_30s,
      row.band_under_60s,
      row.band_under_120s,
      row.band_over_120s,
    ],
  };
}

const withoutTimes = (total: Total): Total => ({ ...total, durationUs: 0, lastSeenUs: 0, bands: [] });

function sum<Row>(rows: readonly Row[], toKey: (row: Row) => string, toTotal: (row: Row) => Total) {
  const sums = new Map<string, Total>();
  for (const row of rows) {
    const [key, total] = [toKey(row), toTotal(row)];
    const have = sums.get(key);
    if (have === undefined) {
      sums.set(key, total);
      continue;
    }
    have.requests += total.requests;
    have.priced += total.priced;
    have.unpriced += total.unpriced;
    have.pending += total.pending;
    have.unmetered += total.unmetered;
    have.pico += total.pico;
    have.durationUs += total.durationUs;
    have.lastSeenUs = Math.max(have.lastSeenUs, total.lastSeenUs);
    for (const [index, more] of total.units.entries()) {
      if (more !== null) have.units[index] = (have.units[index] ?? 0) + more;
    }
    for (const [index, more] of total.bands.entries()) have.bands[index] = (have.bands[index] ?? 0) + more;
  }
  return sums;
}

function expectSame(what: string, totals: Map<string, Total>, sums: Map<string, Total>): void {
  const differing = [...new Set([...totals.keys(), ...sums.keys()])].filter(
    (key) => !Bun.deepEquals(totals.get(key), sums.get(key)),
  );
  const show = (from: Map<string, Total>) => differing.map((key) => [what, key, from.get(key)]);
  expect(show(totals)).toEqual(show(sums));
}
