import type { HeldPrice } from "#catalog/held-price.ts";
import { type HistorySteps, planFirstHistory } from "#catalog/price-history.ts";
import type { EndedPrice } from "#catalog/price-schedule.ts";
import type { CatalogPicture } from "#catalog/snapshot.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { Page, Paged } from "#kernel/page.ts";
import { count, insert, select } from "#storage/sql/rows.ts";
import { dialectOf, one, run, type Script } from "#storage/sql/script.ts";
import type { RowOf } from "#storage/sql/table.ts";
import { toStoredConditions } from "./codecs.ts";
import { priceHistory } from "./tables.ts";

/** The prices that held, a row for each from the moment at which it began to. */

/** Names and rows of one statement, as of the prices. */
const ROWS_PER_STATEMENT = 5_000;

/** Writes down the prices of before there was a history, once. */
export function* beginHistory(current: CatalogPicture): Script<void> {
  if (yield* hasHistory()) return;
  yield* insertPrices(planFirstHistory(current));
}

function* hasHistory(): Script<boolean> {
  return (yield* one("SELECT 1 FROM price_history LIMIT 1")) !== null;
}

/** Carries the steps of a change out, within its transaction. */
export function* recordHistory({ ended, begun, superseded }: HistorySteps, atUs: InstantUs): Script<void> {
  yield* endPrices(ended, atUs);
  if (superseded.length > 0) yield* supersede(superseded, atUs);
  yield* insertPrices(begun);
}

/** Writes down what prices to come have done since they came: those that held and ended, and those that began. */
export function* settleHistory(begun: readonly HeldPrice[], ended: readonly EndedPrice[]): Script<void> {
  for (const [untilUs, prices] of Map.groupBy(ended, (price) => price.untilUs))
    yield* endPrices(prices, untilUs);
  // The first one first, as all others of the history.
  yield* insertPrices(begun.toReversed());
}

function* endPrices(ended: HistorySteps["ended"], atUs: InstantUs): Script<void> {
  const { toList, toMember } = yield* dialectOf();
  const cells = ["name", "unit", "condition"].map((_, at) => toMember("list.value", at));
  for (let start = 0; start < ended.length; start += ROWS_PER_STATEMENT) {
    const part = ended.slice(start, start + ROWS_PER_STATEMENT);
    yield* run(
      `WITH gone (name, unit, condition) AS MATERIALIZED (SELECT ${cells.join(", ")} FROM ${toList("text")})
      UPDATE price_history SET until_us = ?
      WHERE until_us IS NULL AND (name, unit, condition) IN (SELECT name, unit, condition FROM gone)`,
      [part.map(({ name, unit, when }) => JSON.stringify([name, unit, toStoredConditions(when)])), atUs],
    );
  }
}

/** What was known to hold from a moment on counts no more, and what held at it ends with it. Nothing that was known is lost. */
function* supersede(backdated: HistorySteps["superseded"], atUs: InstantUs): Script<void> {
  const { isAnyOf } = yield* dialectOf();
  const names = [...new Set(backdated.map(({ name }) => name))];
  const rows = yield* select(priceHistory, `WHERE superseded_us IS NULL AND ${isAnyOf("name", "text")}`, [
    names,
  ]);
  const byName = Map.groupBy(backdated, ({ name }) => name);
  const whole: number[] = [];
  const cut = new Map<InstantUs, number[]>();
  const rest: HeldPrice[] = [];
  for (const row of rows) {
    const { when } = row;
    if (when === undefined) continue;
    const from = byName.get(row.name)?.find(({ covers }) => covers(row.unit, when));
    if (from === undefined || (row.untilUs !== null && row.untilUs <= from.fromUs)) continue;
    if (row.fromUs >= from.fromUs) whole.push(row.id);
    else {
      cut.getOrInsertComputed(from.fromUs, () => []).push(row.id);
      const untilUs = row.untilUs ?? atUs;
      rest.push({ ...row, when, fromUs: from.fromUs, untilUs, supersededUs: atUs });
    }
  }
  if (whole.length > 0) {
    yield* run(
      `UPDATE price_history SET superseded_us = ?, until_us = coalesce(until_us, ?) WHERE ${isAnyOf("id", "number")}`,
      [atUs, atUs, whole],
    );
  }
  for (const [fromUs, ids] of cut)
    yield* run(`UPDATE price_history SET until_us = ? WHERE ${isAnyOf("id", "number")}`, [fromUs, ids]);
  yield* insertPrices(rest);
}

function* insertPrices(
  prices: readonly (HistorySteps["begun"][number] & Partial<Pick<HeldPrice, "untilUs" | "supersededUs">>)[],
): Script<void> {
  for (let start = 0; start < prices.length; start += ROWS_PER_STATEMENT) {
    const part = prices.slice(start, start + ROWS_PER_STATEMENT);
    yield* insert(
      priceHistory,
      part.map((price) => Object.assign({ untilUs: null }, price)),
    );
  }
}

/** The prices that held, the newest first; of one name, or of all. */
export function* listHeldPrices(
  { name, hasSuperseded }: { readonly name: string | null; readonly hasSuperseded: boolean },
  { limit, offset }: Page,
  current: CatalogPicture,
): Script<Paged<HeldPrice>> {
  if (!(yield* hasHistory())) {
    const first = listFirst(current)
      .filter((price) => name === null || price.name === name)
      .toSorted((left, right) => right.fromUs - left.fromUs);
    return { rows: first.slice(offset, offset + limit), total: first.length };
  }
  const conditions = [
    ...(name === null ? [] : ["name = ?"]),
    ...(hasSuperseded ? [] : ["superseded_us IS NULL"]),
  ];
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const bindings = name === null ? [] : [name];
  const rows = yield* select(priceHistory, `${where} ORDER BY from_us DESC, id DESC LIMIT ? OFFSET ?`, [
    ...bindings,
    limit,
    offset,
  ]);
  return { rows: rows.flatMap(toHeld), total: yield* count(priceHistory, where, bindings) };
}

/** All that held of some names, or of all, by name. */
export function* readHeldPrices(
  names: readonly string[] | null,
  current: CatalogPicture,
): Script<ReadonlyMap<string, readonly HeldPrice[]>> {
  if (!(yield* hasHistory())) {
    const wanted = names === null ? null : new Set(names);
    return Map.groupBy(
      listFirst(current).filter(({ name }) => wanted?.has(name) !== false),
      ({ name }) => name,
    );
  }
  const { isAnyOf } = yield* dialectOf();
  const rows = yield* names === null
    ? select(priceHistory, "WHERE superseded_us IS NULL ORDER BY id")
    : select(priceHistory, `WHERE superseded_us IS NULL AND ${isAnyOf("name", "text")} ORDER BY id`, [names]);
  return Map.groupBy(rows.flatMap(toHeld), ({ name }) => name);
}

/** Nothing has changed since there is a history: a reader writes none down. */
function listFirst(current: CatalogPicture): readonly HeldPrice[] {
  return planFirstHistory(current).map((price) => Object.assign({ untilUs: null }, price));
}

/** A row whose conditions this version cannot read is none of its prices. */
function toHeld(row: RowOf<typeof priceHistory>): readonly HeldPrice[] {
  const { when } = row;
  return when === undefined ? [] : [{ ...row, when }];
}
