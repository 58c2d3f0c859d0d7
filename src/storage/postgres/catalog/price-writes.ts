import type { PriceRow } from "#catalog/pricing.ts";
import type { CatalogWrite } from "#catalog/store.ts";
import type { Unit } from "#kernel/units.ts";
import { requireFound } from "#storage/catalog/catalog-rows.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { createRowWriter } from "./rows.ts";
import { prices } from "./schema.ts";

/** What all steps together do to the price of a name and unit. */
interface PriceOutcome {
  readonly name: string;
  readonly unit: Unit;
  /** The first step removes it, so it must be there. */
  readonly isRequired: boolean;
  readonly after: PriceRow | null;
}

const putPrices = createRowWriter(prices, { key: ["name", "unit"] });

/** Writes and removes prices, the last step of each name and unit winning: two statements, however many there are. */
export async function writePrices(sql: Sql, writes: readonly CatalogWrite[]): Promise<void> {
  const outcomes = [...toOutcomes(writes).values()];
  const removed = outcomes.filter(({ isRequired, after }) => isRequired || after === null);
  if (removed.length > 0) {
    const found = await sql.all<{ name: string; unit: Unit }>(
      `DELETE FROM prices USING unnest($1::text[], $2::text[]) AS gone (name, unit)
      WHERE prices.name = gone.name AND prices.unit = gone.unit RETURNING prices.name, prices.unit`,
      [removed.map(({ name }) => name), removed.map(({ unit }) => unit)],
    );
    const known = new Set(found.map(toKey));
    for (const outcome of removed)
      requireFound({ ...outcome, kind: "delete_price" }, !outcome.isRequired || known.has(toKey(outcome)));
  }
  await putPrices(
    sql,
    outcomes.flatMap(({ after }) => after ?? []),
  );
}

function toOutcomes(writes: readonly CatalogWrite[]): ReadonlyMap<string, PriceOutcome> {
  const outcomes = new Map<string, PriceOutcome>();
  for (const write of writes) {
    if (write.kind !== "put_price" && write.kind !== "delete_price") continue;
    const { name, unit } = write.kind === "put_price" ? write.price : write;
    const before = outcomes.get(toKey({ name, unit }));
    const after = write.kind === "put_price" ? write.price : null;
    requireFound(write, after !== null || before === undefined || before.after !== null);
    const isRequired = before === undefined ? after === null : before.isRequired;
    outcomes.set(toKey({ name, unit }), { name, unit, isRequired, after });
  }
  return outcomes;
}

/** No unit has a space. */
function toKey({ name, unit }: { readonly name: string; readonly unit: Unit }): string {
  return `${unit} ${name}`;
}
