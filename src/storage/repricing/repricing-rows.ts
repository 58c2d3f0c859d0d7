import type { Page, Paged } from "#kernel/page.ts";
import { type BeginOutcome, type Repricing, type RepricingState } from "#stats/repricing.ts";
import { all, dialectOf, one, run, type Script } from "#storage/sql/script.ts";

/** More than it are forgotten, the oldest first, unless they are applied: those may be taken back. */
const KEPT_MAX = 1_000;

interface RepricingRow {
  readonly id: string;
  readonly state: RepricingState;
  readonly doneCount: number;
  readonly body: string;
}

export type ActiveRow = RepricingRow & { readonly holder: number; readonly beat: number };

const COLUMNS = `id, state, done_events AS "doneCount", body`;

function toRepricing({ id, state, doneCount, body }: RepricingRow): Repricing {
  const stored: unknown = JSON.parse(body, reviveAmount);
  if (!isStored(stored)) throw new Error("a re-pricing cannot be read");
  return { ...stored, id, state, doneCount };
}

/** Written by `toBody`, and by nothing else. */
function isStored(body: unknown): body is Repricing {
  return typeof body === "object" && body !== null && "terms" in body && "figures" in body;
}

/** Amounts are `bigint`s, for which JSON has no spelling: a member `pico` in an object by itself. */
function toBody(repricing: Repricing): string {
  return JSON.stringify(repricing, (_name, value: unknown) =>
    typeof value === "bigint" ? { pico: value.toString() } : value,
  );
}

function reviveAmount(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("pico" in value)) return value;
  return typeof value.pico === "string" ? BigInt(value.pico) : value;
}

/** `RepricingStore.find`. */
export function* findRepricing({ id }: { readonly id: string }): Script<Repricing | null> {
  const row = yield* one<RepricingRow>(`SELECT ${COLUMNS} FROM repricing WHERE id = ?`, [id]);
  return row === null ? null : toRepricing(row);
}

/** `RepricingStore.list`: the newest first, one by one, since the prices of each may take some megabytes. */
export function* listRepricings({ limit, offset }: Page): Script<Paged<Repricing>> {
  const rows: Repricing[] = [];
  const page = yield* all<{ id: string }>("SELECT id FROM repricing ORDER BY number DESC LIMIT ? OFFSET ?", [
    limit,
    offset,
  ]);
  for (const { id } of page) {
    const found = yield* findRepricing({ id });
    if (found !== null) rows.push(toListed(found));
  }
  const found = yield* one<{ total: number }>("SELECT count(*) AS total FROM repricing");
  return { rows, total: found?.total ?? 0 };
}

/** Without its prices and its figures by unit, which no list shows. */
function toListed(repricing: Repricing): Repricing {
  const { terms, figures } = repricing;
  return {
    ...repricing,
    terms: { ...terms, prices: terms.prices.map(([model]) => [model, []]) },
    figures: figures === null ? null : { ...figures, units: [] },
  };
}

/** The one under way, as its row says. */
export function* findActive(): Script<{ readonly row: ActiveRow; readonly repricing: Repricing } | null> {
  const row = yield* one<ActiveRow>(`SELECT ${COLUMNS}, holder, beat FROM repricing WHERE active = 1`);
  return row === null ? null : { row, repricing: toRepricing(row) };
}

/** No other transaction begins one meanwhile. */
function* lockRepricings(): Script<void> {
  const { hasLocks } = yield* dialectOf();
  if (hasLocks) yield* run("LOCK TABLE repricing IN SHARE ROW EXCLUSIVE MODE");
}

function* findActiveId(): Script<string | null> {
  const row = yield* one<{ id: string }>("SELECT id FROM repricing WHERE active = 1");
  return row?.id ?? null;
}

export interface Held {
  readonly repricing: Repricing;
  /** The lane of the server that does it. */
  readonly holder: number;
}

/** `RepricingStore.create`. */
export function* createRepricing({ repricing, holder }: Held): Script<boolean> {
  yield* lockRepricings();
  const { id, state, terms } = repricing;
  const active = yield* findActiveId();
  // Asked again by a server whose writer has died meanwhile.
  if (active !== null) return active === id;
  const { sinceUs, untilUs } = terms.query.window;
  yield* run(
    `DELETE FROM repricing WHERE state NOT IN ('applied') AND number <=
       (SELECT coalesce(max(number), 0) FROM repricing) - ?`,
    [KEPT_MAX],
  );
  yield* run(
    `INSERT INTO repricing (number, id, state, active, holder, beat, done_events, planned_us, from_us, until_us, body)
     SELECT coalesce(max(number), 0) + 1, ?, ?, 1, ?, 0, 0, ?, ?, ?, ? FROM repricing`,
    [id, state, holder, terms.plannedAtUs, sinceUs, untilUs, toBody(repricing)],
  );
  return true;
}

/** `RepricingStore.save`. */
export function* saveRepricing({
  repricing,
  holder,
  isActive,
}: Held & { readonly isActive: boolean }): Script<boolean> {
  const { id, state, doneCount, changedAtUs } = repricing;
  const saved = yield* run(
    `UPDATE repricing SET state = ?, active = ?, beat = beat + 1, done_events = ?, changed_us = ?, body = ?
     WHERE id = ? AND active = 1 AND holder = ?`,
    [state, isActive ? 1 : null, doneCount, changedAtUs, toBody(repricing), id, holder],
  );
  return saved === 1;
}

export interface BeginQuestion {
  readonly id: string;
  readonly holder: number;
  readonly from: readonly RepricingState[];
  readonly to: RepricingState;
}

/** `RepricingStore.begin`. */
export function* beginRepricing({ id, holder, from, to }: BeginQuestion): Script<BeginOutcome> {
  yield* lockRepricings();
  const found = yield* findRepricing({ id });
  if (found === null) return { kind: "absent" };
  const { state, figures, beyondPlan, changedAtUs } = found;
  const active = yield* findActiveId();
  if (active === id && state === to) return { kind: "begun", repricing: found };
  if (active !== null) return { kind: "running" };
  const isUnchanged = to === "reverting" && changedAtUs === null;
  if (!from.includes(state) || figures === null || isUnchanged) return { kind: "state", state };
  const later = yield* findLater(found);
  if (later !== null) return { kind: "overlap", id: later };
  // Each that is taken back is one less: those whose rows are gone are left.
  const changedCount = state === "failed" ? found.doneCount : figures.requests + (beyondPlan?.requests ?? 0);
  const doneCount = to === "reverting" ? changedCount : 0;
  // One that fails with a failure of before would pass for one that was turned back.
  const repricing: Repricing = { ...found, state: to, doneCount, failure: null };
  yield* run(
    "UPDATE repricing SET state = ?, active = 1, holder = ?, beat = beat + 1, done_events = ?, body = ? WHERE id = ?",
    [to, holder, doneCount, toBody(repricing), id],
  );
  return { kind: "begun", repricing };
}

/**
 * One that has changed events of the same time since this one was planned, or was applied: its figures, or its former classes, are
 * of before that.
 */
function* findLater({ id, terms, changedAtUs }: Repricing): Script<string | null> {
  // One that has changed nothing, or was taken back after a failure, is as it was planned.
  const isPlan = changedAtUs === null;
  const sinceUs = isPlan ? terms.plannedAtUs : changedAtUs;
  const { sinceUs: fromUs, untilUs } = terms.query.window;
  const row = yield* one<{ id: string }>(
    `SELECT id FROM repricing WHERE id <> ? AND changed_us >= ? AND (state IN ('applied', 'failed') OR ? = 1)
       AND (until_us IS NULL OR until_us > ?) AND (from_us IS NULL OR from_us < ?) ORDER BY number DESC LIMIT 1`,
    [id, sinceUs, isPlan ? 1 : 0, fromUs ?? Number.MIN_SAFE_INTEGER, untilUs ?? Number.MAX_SAFE_INTEGER],
  );
  return row?.id ?? null;
}

/** Makes one that was left alone this server's: false when it was not. */
export function* takeOver({
  id,
  beat,
  holder,
}: {
  readonly id: string;
  readonly beat: number;
  readonly holder: number;
}): Script<boolean> {
  const taken = yield* run(
    "UPDATE repricing SET holder = ?, beat = beat + 1 WHERE id = ? AND active = 1 AND beat = ?",
    [holder, id, beat],
  );
  return taken === 1;
}
