import type { MissingPriceRow, MissingPrices } from "../../../api/reports.ts";

/** What a priced name is: an alias, an upstream name, a relayed name, or a name that no model has any more. */
export type NameKind = MissingPriceRow["kind"] | "upstream";

/** The rows whose next request will be without a price, too. */
export function toMissingNow({ missing }: MissingPrices): readonly MissingPriceRow[] {
  return missing.filter(({ has_price: hasPrice }) => !hasPrice);
}

/** Each is of one name, kind and unit; no kind or unit has a space. */
export function toMissingId({ kind, unit, model }: MissingPriceRow): string {
  return `${kind} ${unit} ${model}`;
}
