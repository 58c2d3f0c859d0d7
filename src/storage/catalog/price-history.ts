import { type CutPrice, type KnownPast, listRepriced } from "#catalog/backdating.ts";
import type { Backdating, HeldPrice, KnownPrice, RepricedSpan } from "#catalog/held-price.ts";
import { type HistorySteps, planFirstHistory, planFirstInheritance } from "#catalog/price-history.ts";
import { InheritancePast, listLookedUp, type PriceInheritance } from "#catalog/price-inheritance.ts";
import type { EndedPrice } from "#catalog/price-schedule.ts";
import type { CatalogPicture } from "#catalog/snapshot.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { Page, Paged } from "#kernel/page.ts";
import { count, inParts, insert, select } from "#storage/sql/rows.ts";
import { dialectOf, one, run, type Script } from "#storage/sql/script.ts";
import type { RowOf, Table } from "#storage/sql/table.ts";
import { toStoredConditions } from "./codecs.ts";
import { priceHistory, priceInheritance } from "./tables.ts";

/** The prices that held, a row for each from the moment at which it began to. */

/** Writes down the prices of before there was a history, and what they were inherited from, once. */
export function* beginHistory(current: CatalogPicture): Script<void> {
  if (yield* isEmpty(priceHistory)) yield* insert(priceHistory, planFirstHistory(current));
  if (yield* isEmpty(priceInheritance)) yield* insertInheritance(planFirstInheritance(current));
}

function* isEmpty({ name }: Table): Script<boolean> {
  return (yield* one(`SELECT 1 FROM ${name} LIMIT 1`)) === null;
}

function insertInheritance(inherited: readonly PriceInheritance[]): Script<void> {
  return insert(priceInheritance, inherited, { replaces: true });
}

/** Carries the steps of a change out, within its transaction. */
export function* recordHistory(
  { ended, cut, begun, inherited }: HistorySteps,
  atUs: InstantUs,
): Script<void> {
  yield* endPrices(ended, atUs);
  yield* cutPrices(cut);
  yield* insert(priceHistory, begun);
  yield* insertInheritance(inherited);
}

interface SettledHistory {
  readonly begun: readonly HeldPrice[];
  readonly ended: readonly EndedPrice[];
  readonly inherited: readonly PriceInheritance[];
}

/** Writes down what prices to come have done since they came: those that held and ended, and those that began. */
export function* settleHistory({ begun, ended, inherited }: SettledHistory): Script<void> {
  for (const [untilUs, prices] of Map.groupBy(ended, (price) => price.untilUs))
    yield* endPrices(prices, untilUs);
  // The first one first, as all others of the history.
  yield* insert(priceHistory, begun.toReversed());
  yield* insertInheritance(inherited);
}

function* endPrices(ended: HistorySteps["ended"], atUs: InstantUs): Script<void> {
  const { toList, toMember } = yield* dialectOf();
  const cells = ["name", "unit", "condition"].map((_, at) => toMember("list.value", at));
  for (const part of inParts(ended))
    yield* run(
      `WITH gone (name, unit, condition) AS MATERIALIZED (SELECT ${cells.join(", ")} FROM ${toList("text")})
      UPDATE price_history SET until_us = ?
      WHERE until_us IS NULL AND (name, unit, condition) IN (SELECT name, unit, condition FROM gone)`,
      [part.map(({ name, unit, when }) => JSON.stringify([name, unit, toStoredConditions(when)])), atUs],
    );
}

/** Nothing that was known is lost: what no longer counts keeps the time in which it did. */
function* cutPrices(cut: readonly CutPrice[]): Script<void> {
  const { isAnyOf } = yield* dialectOf();
  const byEnd = Map.groupBy(cut, ({ untilUs, supersededUs = null }) => `${untilUs} ${supersededUs}`);
  for (const ofEnd of byEnd.values()) {
    const { untilUs = null, supersededUs = null } = ofEnd[0] ?? {};
    yield* run(`UPDATE price_history SET until_us = ?, superseded_us = ? WHERE ${isAnyOf("id", "number")}`, [
      untilUs,
      supersededUs,
      ofEnd.map(({ id }) => id),
    ]);
  }
}

/** Reads the past of the names that dates may reach; `inherited` is not stored yet. */
export function* readKnownPast(
  backdated: readonly Backdating[],
  inherited: readonly PriceInheritance[],
): Script<KnownPast> {
  const inheritance = yield* readInheritancePast(backdated, inherited);
  const { isAnyOf } = yield* dialectOf();
  const firstUs = Math.min(...backdated.map(({ fromUs }) => fromUs));
  const rows = yield* select(
    priceHistory,
    `WHERE superseded_us IS NULL AND (until_us IS NULL OR until_us > ?) AND ${isAnyOf("name", "text")} ORDER BY id`,
    [firstUs, [...new Set([...inheritance.names, ...backdated.map(({ name }) => name)])]],
  );
  return { inheritance, prices: Map.groupBy(rows.flatMap(toHeld), ({ name }) => name) };
}

/** The names of the dates, those that looked for their prices under them, and all under which these did. */
function* readInheritancePast(
  backdated: readonly Backdating[],
  inherited: readonly PriceInheritance[],
): Script<InheritancePast> {
  const { isAnyOf } = yield* dialectOf();
  const models = backdated.flatMap(({ modelId }) => modelId ?? []);
  const ofModels = yield* select(priceInheritance, `WHERE ${isAnyOf("model_id", "text")}`, [models]);
  const dated = [...new Set([...backdated, ...ofModels].map(({ name }) => name))];
  const heirs = yield* select(
    priceInheritance,
    `WHERE ${isAnyOf("name", "text")} OR ${isAnyOf("bound", "text")} OR ${isAnyOf("upstream", "text")}`,
    [dated, dated, dated],
  );
  const names = new Set([...dated, ...heirs.map(({ name }) => name), ...inherited.map(({ name }) => name)]);
  const ofNames = yield* selectInheritance([...names]);
  const lookedUp = new Set([...ofNames, ...inherited].flatMap(listLookedUp)).difference(names);
  return new InheritancePast([...ofNames, ...(yield* selectInheritance([...lookedUp])), ...inherited]);
}

function* selectInheritance(names: readonly string[]): Script<readonly PriceInheritance[]> {
  const { isAnyOf } = yield* dialectOf();
  const rows = yield* select(priceInheritance, `WHERE ${isAnyOf("name", "text")}`, [names]);
  return rows.flatMap(toInheritance);
}

function toInheritance(row: RowOf<typeof priceInheritance>): readonly PriceInheritance[] {
  const { ownUnits } = row;
  return ownUnits === undefined ? [] : [{ ...row, ownUnits }];
}

/** `CatalogStore.listRepriced`. */
export function* readRepriced(
  backdated: readonly Backdating[],
  untilUs: InstantUs,
  current: CatalogPicture,
): Script<readonly RepricedSpan[]> {
  const inheritance = (yield* isEmpty(priceInheritance))
    ? new InheritancePast(planFirstInheritance(current))
    : yield* readInheritancePast(backdated, []);
  return listRepriced(backdated, { inheritance, untilUs });
}

/** The prices that held, the newest first; of one name, or of all. */
export function* listHeldPrices(
  { name, hasSuperseded }: { readonly name: string | null; readonly hasSuperseded: boolean },
  { limit, offset }: Page,
  current: CatalogPicture,
): Script<Paged<HeldPrice>> {
  if (yield* isEmpty(priceHistory)) {
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
  if (yield* isEmpty(priceHistory)) {
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
function toHeld({ when, ...row }: RowOf<typeof priceHistory>): readonly KnownPrice[] {
  return when === undefined ? [] : [{ ...row, when }];
}
