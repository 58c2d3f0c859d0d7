import type { PriceRow, VariantRow } from "#catalog/pricing.ts";
import type { HeldPrice } from "#catalog/held-price.ts";
import { planHistory, toPriceSpans } from "#catalog/price-history.ts";
import { planInheritance } from "#catalog/price-inheritance.ts";
import { type EndedPrice, findFirstToCome, planToCome, toHeldKey } from "#catalog/price-schedule.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { toCatalogChange, toDropEntries } from "#catalog/catalog-facts.ts";
import { createWorkingCopy, type WorkingCopy } from "#catalog/working-copy.ts";
import type { CatalogChange, CatalogPlan, CatalogStore, CatalogWrite } from "#catalog/store.ts";
import { type ErrorCode, ProxyError } from "#kernel/errors.ts";
import type { Unit } from "#kernel/units.ts";
import { inParts, insert, removeAnyOf } from "#storage/sql/rows.ts";
import { all, dialectOf, run, type Script } from "#storage/sql/script.ts";
import { recordAudit } from "./audit.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { toModelRow } from "./catalog-rows.ts";
import { changed, changeTransaction } from "./change.ts";
import { followModels } from "./limit-models.ts";
import type { StoreMemory, UnseenRows } from "./memory.ts";
import {
  beginHistory,
  listHeldPrices,
  readHeldPrices,
  readKnownPast,
  readRepriced,
  recordHistory,
  settleHistory,
} from "./price-history.ts";
import { requireSecretPresent } from "./secret-state.ts";
import { models, prices, priceSchedule, priceVariants, pricingFeed, providers } from "./tables.ts";

/** Providers, models, prices and the newest feed. A write that breaks a rule of the schema is a bug of its plan, and nothing is written. */
export function createCatalogStore({
  read,
  change,
  memory,
  isTrusted,
  current,
}: CatalogDriver): CatalogStore {
  return {
    async listHeldPrices(name, page, { hasSuperseded = false } = {}) {
      await current();
      const stored = memory.stored();
      const { begun, ended } = planToCome(stored, stored.schedules);
      const toCome = begun.filter((price) => name === null || price.name === name);
      const shown = toCome.slice(page.offset, page.offset + page.limit);
      const rest = {
        limit: page.limit - shown.length,
        offset: Math.max(0, page.offset - toCome.length),
      };
      const held = await read(() => listHeldPrices({ name, hasSuperseded }, rest, stored));
      const ending = held.rows.map((price) => withEnd(price, ended));
      return { rows: [...shown, ...ending], total: toCome.length + held.total };
    },
    async readPriceSpans(names) {
      await current();
      const stored = memory.stored();
      const { begun, ended } = planToCome(stored, stored.schedules);
      const held = new Map(await read(() => readHeldPrices(names, stored)));
      for (const [name, ofName] of held) {
        const ending = ofName.map((price) => withEnd(price, ended));
        held.set(name, ending);
      }
      // Prices that have come are in no row before the next change.
      const wanted = names === null ? null : new Set(names);
      for (const [name, ofName] of Map.groupBy(begun, (price) => price.name))
        if (wanted?.has(name) !== false) held.set(name, [...(held.get(name) ?? []), ...ofName]);
      return new Map([...held].map(([name, ofName]) => [name, toPriceSpans(ofName)]));
    },
    async listRepriced(backdated, untilUs) {
      await current();
      const stored = memory.stored();
      return read(() => readRepriced(backdated, untilUs, stored));
    },
    peek: () => (isTrusted() ? memory.catalog() : null),
    async snapshot() {
      await current();
      return memory.catalog();
    },
    async change(plan) {
      const after: CatalogSnapshot[] = [];
      const toResult = await change(function* () {
        requireSecretPresent(memory.secrets);
        const { result } = yield* applyPlan(plan, memory);
        (yield* changeTransaction()).onTakenOver = () => void after.push(memory.catalog());
        return result;
      });
      // Where the answer to the COMMIT was lost memory has followed it by itself.
      return toResult(after.at(0) ?? memory.catalog());
    },
  };
}

/** A price that something to come ends. */
function withEnd(price: HeldPrice, ended: ReadonlyMap<string, EndedPrice>): HeldPrice {
  const untilUs = price.untilUs ?? ended.get(toHeldKey(price))?.untilUs ?? null;
  return { ...price, untilUs };
}

/** Carries a plan out within a change, with its audit entries; what it is of the catalog that it found. */
export function* applyPlan<Result>(
  plan: CatalogPlan<Result>,
  memory: StoreMemory,
): Script<CatalogChange<Result>> {
  const { atUs } = yield* changeTransaction();
  let planned = plan(memory.catalogAt(atUs));
  if (findUnseen(planned.writes, memory.unseen()) !== null) {
    // A row that somebody has corrected or deleted by hand is in no log of changes.
    (yield* memory.read([{ kind: "catalog", id: null }]))();
    planned = plan(memory.catalogAt(atUs));
    const conflict = findUnseen(planned.writes, memory.unseen());
    if (conflict !== null) throw conflict;
  }
  const before = memory.catalogAt(atUs);
  const after = createWorkingCopy(before);
  after.write(planned.writes);
  yield* recordAudit(
    planned.audit.map((entry) => ({
      ...entry,
      change: toCatalogChange(entry, { ...planned, before, after }),
    })),
  );
  if (planned.writes.length === 0) return planned;
  const due = yield* settleDue(memory, atUs);
  yield* recordPrices(planned, { before, after });
  yield* applyWrites([...due, ...planned.writes, ...planOrphans(planned.writes, memory)], memory);
  return planned;
}

/** Stores the prices whose moment has come, each with the moment from which it held; what was left out is in the audit log. */
function* settleDue(memory: StoreMemory, atUs: InstantUs): Script<readonly CatalogWrite[]> {
  const stored = memory.stored();
  const due = stored.schedules.slice(0, findFirstToCome(stored.schedules, atUs));
  if (due.length === 0) return [];
  const { writes, begun, ended, dropped, inherited } = planToCome(stored, due);
  yield* recordAudit(toDropEntries(stored, dropped));
  yield* beginHistory(stored);
  yield* settleHistory({ begun, ended: [...ended.values()], inherited });
  return [...writes, ...due.map(({ id }): CatalogWrite => ({ kind: "delete_schedule", id }))];
}

/** Prices to come go with their model. */
function planOrphans(writes: readonly CatalogWrite[], memory: StoreMemory): readonly CatalogWrite[] {
  const gone = new Set(writes.flatMap((write) => (write.kind === "delete_model" ? [write.id] : [])));
  if (gone.size === 0) return [];
  return memory
    .stored()
    .schedules.flatMap(({ id, change }): CatalogWrite[] =>
      change.kind === "model" && gone.has(change.modelId) ? [{ kind: "delete_schedule", id }] : [],
    );
}

/** Writes down which prices end with the change and which begin. */
function* recordPrices(
  { writes, prices: stamp = {} }: CatalogChange<unknown>,
  { before, after }: { readonly before: CatalogSnapshot; readonly after: WorkingCopy },
) {
  const { backdated = [] } = stamp;
  // A date alone changes the history as well.
  const hasPrices = writes.some(({ kind }) => kind !== "put_provider" && kind !== "put_feed");
  if (!hasPrices && backdated.length === 0) return;
  yield* beginHistory(before);
  const { atUs } = yield* changeTransaction();
  const change = {
    writes,
    models: new Map(after.models.map((resolved) => [resolved.model.alias, resolved])),
    atUs,
  };
  const inherited = planInheritance(before, after, change);
  const known = backdated.length === 0 ? null : yield* readKnownPast(backdated, inherited);
  yield* recordHistory(planHistory(before, after, { ...change, stamp, inherited, known }), atUs);
}

/**
 * A row that the plan did not see is out of force, since it or one that it needs cannot be read. Its name is taken all the
 * same, for all but itself, and its provider cannot go before it: without this the schema would refuse the change as a bug.
 * The conflict; null when there is none.
 */
function findUnseen(writes: readonly CatalogWrite[], unseen: UnseenRows): ProxyError | null {
  for (const write of writes) {
    if (write.kind === "put_provider") {
      const { id, name } = write.provider;
      if (unseen.providers.some((row) => row.name === name && row.id !== id))
        return toConflict("provider_exists", `A provider "${name}"`);
    }
    if (write.kind === "put_model") {
      const { id, alias } = write.model;
      if (unseen.models.some((row) => row.alias === alias && row.id !== id))
        return toConflict("alias_exists", `A model "${alias}"`);
    }
    const bound =
      write.kind === "delete_provider" && unseen.models.find((model) => model.providerId === write.id);
    if (bound) return toConflict("model_in_use", `A model "${bound.alias}" of this provider`);
  }
  return null;
}

function toConflict(code: ErrorCode, row: string): ProxyError {
  return new ProxyError(
    code,
    `${row} is in the database and not in force, since its row or one that it needs cannot be read: correct or delete that row, as lockport doctor says.`,
  );
}

const PRICE_KINDS = [
  "put_price",
  "delete_price",
  "put_variants",
  "delete_variants",
  "put_schedule",
  "delete_schedule",
] as const;
type RowWrite = Exclude<CatalogWrite, { readonly kind: (typeof PRICE_KINDS)[number] }>;

/** The key of the one row that tells of the newest load of a feed. */
const FEED_ROW_ID = 1;
const REPLACING = { replaces: true };

/**
 * Carries out the steps of a plan, each run of steps of one kind as one statement: a feed of 20,000 prices takes a few, and not
 * 20,000 round trips. Prices refer to nothing, so they are written last. A step that finds no row or breaks a rule of the
 * schema is a bug of its plan.
 */
function* applyWrites(writes: readonly CatalogWrite[], memory: StoreMemory): Script<void> {
  yield* followModels(writes, memory);
  const ofRows = writes.filter(isRowWrite);
  for (const steps of toRuns(ofRows)) yield* applyRun(steps);
  yield* changed("catalog", null);
  if (ofRows.length === writes.length) return;
  // As it is stored: in the catalog in force what is due has happened, and a price that a due step removes is in it no more.
  const stored = memory.stored();
  yield* applyPrices(toOutcomes(writes, stored));
  yield* applyVariants(writes, stored);
  yield* applySchedules(writes);
  yield* changed("price", null);
}

function isRowWrite(write: CatalogWrite): write is RowWrite {
  const kinds: readonly string[] = PRICE_KINDS;
  return !kinds.includes(write.kind);
}

/** Steps that follow one another, are of one kind and do not depend on the order among themselves. */
function toRuns(writes: readonly RowWrite[]): readonly (readonly RowWrite[])[] {
  const runs: RowWrite[][] = [];
  let steps: RowWrite[] = [];
  let awaited = new Set<string>();
  for (const write of writes) {
    if (steps[0]?.kind !== write.kind || awaited.has(toId(write))) {
      runs.push((steps = []));
      awaited = new Set();
    }
    steps.push(write);
    awaited.add(toId(write));
    // A name must find its target, and a target must not go before it: a statement checks references at its end alone.
    if (write.kind === "put_model" && write.model.route.kind === "name")
      awaited.add(write.model.route.targetId);
  }
  return runs;
}

function toId(write: RowWrite): string {
  switch (write.kind) {
    case "put_provider":
      return write.provider.id;
    case "put_model":
      return write.model.id;
    case "put_feed":
      return "";
    default:
      return write.id;
  }
}

function* applyRun(steps: readonly RowWrite[]): Script<void> {
  switch (steps[0]?.kind) {
    case "put_provider":
      yield* insert(
        providers,
        steps.flatMap((step) => (step.kind === "put_provider" ? step.provider : [])),
        REPLACING,
      );
      return;
    case "put_model":
      yield* insert(
        models,
        steps.flatMap((step) => (step.kind === "put_model" ? toModelRow(step.model) : [])),
        REPLACING,
      );
      return;
    case "delete_provider":
      requireFound(
        "delete_provider",
        (yield* removeAnyOf(providers, "id", steps.map(toId))) === steps.length,
      );
      return;
    case "delete_model":
      yield* deleteModels(steps.map(toId));
      return;
    case "put_feed":
      yield* run("DELETE FROM pricing_feed");
      yield* insert(
        pricingFeed,
        steps.flatMap((step) =>
          step.kind === "put_feed" && step.feed !== null ? { ...step.feed, id: FEED_ROW_ID } : [],
        ),
      );
      return;
    case undefined:
  }
}

/** A model that goes before a name that points at it is a mistake of the plan. */
function* deleteModels(ids: readonly string[]): Script<void> {
  const { isAnyOf } = yield* dialectOf();
  const deleted = yield* all<{ id: string; target: string | null }>(
    `DELETE FROM models WHERE ${isAnyOf("id", "text")} RETURNING id, target_id AS target`,
    [ids],
  );
  const isOrdered = deleted.every(
    ({ id, target }) => target === null || !ids.includes(target) || ids.indexOf(target) > ids.indexOf(id),
  );
  requireFound("delete_model", isOrdered && deleted.length === ids.length);
}

/** The outcome of all steps together for the price of a name and unit; null: it is gone. */
interface PriceOutcome {
  readonly name: string;
  readonly unit: Unit;
  readonly after: PriceRow | null;
}

/** The last step of each name and unit wins: a few statements, however many steps there are. */
function* applyPrices(outcomes: readonly PriceOutcome[]): Script<void> {
  for (const part of inParts(outcomes.filter(({ after }) => after === null))) yield* removePrices(part);
  yield* insert(
    prices,
    outcomes.flatMap(({ after }) => after ?? []),
    REPLACING,
  );
}

function* removePrices(removed: readonly PriceOutcome[]): Script<void> {
  const { toList, toMember } = yield* dialectOf();
  const cells = [0, 1].map((at) => toMember("list.value", at));
  // Materialized: a planner that takes the list for short would read its JSON again for each row of the table.
  yield* run(
    `WITH gone (name, unit) AS MATERIALIZED (SELECT ${cells.join(", ")} FROM ${toList("text")})
    DELETE FROM prices WHERE (name, unit) IN (SELECT name, unit FROM gone)`,
    [removed.map(({ name, unit }) => JSON.stringify([name, unit]))],
  );
}

function toOutcomes(writes: readonly CatalogWrite[], catalog: CatalogSnapshot): readonly PriceOutcome[] {
  const outcomes = new Map<string, PriceOutcome>();
  for (const write of writes) {
    if (write.kind !== "put_price" && write.kind !== "delete_price") continue;
    const { name, unit } = write.kind === "put_price" ? write.price : write;
    const key = toPriceKey({ name, unit });
    const after = write.kind === "put_price" ? write.price : null;
    const known = outcomes.get(key)?.after;
    const before = known === undefined ? catalog.findPrice(name, unit) : known;
    requireFound(write.kind, after !== null || before !== null);
    outcomes.set(key, { name, unit, after });
  }
  return [...outcomes.values()];
}

/** As `applyPrices`, of lists of variants. */
function* applyVariants(writes: readonly CatalogWrite[], catalog: CatalogSnapshot): Script<void> {
  const outcomes = new Map<string, VariantRow | null>();
  for (const write of writes) {
    if (write.kind !== "put_variants" && write.kind !== "delete_variants") continue;
    const { name } = write.kind === "put_variants" ? write.list : write;
    const after = write.kind === "put_variants" ? write.list : null;
    const known = outcomes.get(name);
    const before = known === undefined ? catalog.findVariants(name) : known;
    requireFound(write.kind, after !== null || before !== null);
    outcomes.set(name, after);
  }
  const removed = [...outcomes].flatMap(([name, after]) => (after === null ? [name] : []));
  yield* removeAnyOf(priceVariants, "name", removed);
  const lists = [...outcomes.values()].flatMap((after) => after ?? []);
  yield* insert(priceVariants, lists, REPLACING);
}

function* applySchedules(writes: readonly CatalogWrite[]): Script<void> {
  const settled = writes.flatMap((write) => (write.kind === "delete_schedule" ? [write.id] : []));
  yield* removeAnyOf(priceSchedule, "id", settled);
  yield* insert(
    priceSchedule,
    writes.flatMap((write) => (write.kind === "put_schedule" ? [write.schedule] : [])),
  );
}

/** No unit has a space. */
function toPriceKey({ name, unit }: { readonly name: string; readonly unit: Unit }): string {
  return `${unit} ${name}`;
}

/** Plans are made of the catalog as it is, so a row that is not there is a mistake of the plan, not a race. */
function requireFound(kind: CatalogWrite["kind"], isFound: boolean): void {
  if (!isFound) throw new Error(`${kind} found no row`);
}
