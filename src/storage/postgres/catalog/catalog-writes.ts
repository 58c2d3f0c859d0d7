import type { CatalogWrite } from "#catalog/store.ts";
import { FEED_ROW_ID, requireFound, toModelRow, toProviderRow } from "#storage/catalog/catalog-rows.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { followModels } from "./limit-models.ts";
import { writePrices } from "./price-writes.ts";
import { createRowWriter } from "./rows.ts";
import { models, pricingFeed, providers } from "./schema.ts";

type PriceKind = "put_price" | "delete_price";
type RowWrite = Exclude<CatalogWrite, { readonly kind: PriceKind }>;
type WriteOf<Kind extends RowWrite["kind"]> = Extract<RowWrite, { readonly kind: Kind }>;

const putProviders = createRowWriter(providers, { key: ["id"] });
const putModels = createRowWriter(models, { key: ["id"] });
const putFeeds = createRowWriter(pricingFeed, { key: ["id"] });

/**
 * Carries the steps of a change out within its transaction: each run of steps of one kind is one statement. Prices refer to
 * nothing, so they are written last. Returns whether limits were changed on the way.
 */
export async function applyWrites(sql: Sql, writes: readonly CatalogWrite[]): Promise<boolean> {
  let isOfLimits = false;
  for (const run of toRuns(
    writes.filter((write) => write.kind !== "put_price" && write.kind !== "delete_price"),
  ))
    isOfLimits = (await applyRun(sql, run)) || isOfLimits;
  await writePrices(sql, writes);
  return isOfLimits;
}

/** Steps that follow one another, are of one kind and do not depend on the order among themselves. */
function toRuns(writes: readonly RowWrite[]): readonly (readonly RowWrite[])[] {
  const runs: RowWrite[][] = [];
  let run: RowWrite[] = [];
  let awaited = new Set<string>();
  for (const write of writes) {
    if (run[0]?.kind !== write.kind || awaited.has(toId(write))) {
      runs.push((run = []));
      awaited = new Set();
    }
    run.push(write);
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

async function applyRun(sql: Sql, run: readonly RowWrite[]): Promise<boolean> {
  const [first] = run;
  switch (first?.kind) {
    case "put_provider":
      await putProviders(
        sql,
        listOf(run, "put_provider").map(({ provider }) => toProviderRow(provider)),
      );
      return false;
    case "put_model": {
      const rows = listOf(run, "put_model").map(({ model }) => toModelRow(model));
      const isOfLimits = await followModels(sql, rows);
      await putModels(sql, rows);
      return isOfLimits;
    }
    case "delete_provider":
      await deleteRows(sql, "providers", listOf(run, "delete_provider"));
      return false;
    case "delete_model":
      await deleteModels(sql, listOf(run, "delete_model"));
      return false;
    case "put_feed":
      if (first.feed === null) await sql.run("DELETE FROM pricing_feed");
      else await putFeeds(sql, [{ ...first.feed, id: FEED_ROW_ID }]);
      return false;
    default:
      return false;
  }
}

function listOf<Kind extends RowWrite["kind"]>(
  run: readonly RowWrite[],
  kind: Kind,
): readonly WriteOf<Kind>[] {
  return run.filter((write): write is WriteOf<Kind> => write.kind === kind);
}

async function deleteRows(
  sql: Sql,
  table: "providers",
  writes: readonly WriteOf<"delete_provider">[],
): Promise<void> {
  const ids = writes.map(({ id }) => id);
  const found = await sql.run(`DELETE FROM ${table} WHERE id = ANY($1::text[])`, [ids]);
  for (const write of writes.slice(0, 1)) requireFound(write, found === ids.length);
}

/** A model that goes before a name that points at it is a mistake of the plan. */
async function deleteModels(sql: Sql, writes: readonly WriteOf<"delete_model">[]): Promise<void> {
  const places = new Map(writes.map(({ id }, place) => [id, place]));
  const deleted = await sql.all<{ id: string; target: string | null }>(
    "DELETE FROM models WHERE id = ANY($1::text[]) RETURNING id, target_id AS target",
    [[...places.keys()]],
  );
  const isOrdered = deleted.every(
    ({ id, target }) => (places.get(target ?? "") ?? Infinity) > (places.get(id) ?? -1),
  );
  for (const write of writes.slice(0, 1)) requireFound(write, deleted.length === writes.length && isOrdered);
}
