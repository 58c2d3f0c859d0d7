import { toCounted } from "#kernel/text.ts";
import type { LocalStorage } from "#storage/engine.ts";
import { toFailure, toOk, type Check } from "./check.ts";

const NAMED_MAX = 5;

/** Rows that were written by hand or by a newer version: each is out of force by itself. */
export async function checkCatalogRows({
  findUnreadable,
}: Pick<LocalStorage, "findUnreadable">): Promise<Check> {
  const name = "catalog rows";
  const rows = await findUnreadable();
  if (rows.length === 0) return toOk(name, "each can be read");
  const named = rows.slice(0, NAMED_MAX).map(({ table, id, column }) => `${table} ${id} (${column})`);
  return toFailure(
    name,
    `${toCounted(rows.length, "row")} cannot be read: ${named.join(", ")}${rows.length > NAMED_MAX ? ", …" : ""}`,
    "Correct the column in the database, or delete the row there, unless a newer version has written it. Until then its provider or model is not served, its key may use no model, and its limit lets nothing through.",
  );
}
