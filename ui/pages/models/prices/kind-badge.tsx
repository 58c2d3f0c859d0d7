import type { MissingPriceRow, MissingPrices } from "../../../api/reports.ts";
import { Badge } from "../../../components/chip.tsx";

const NOTE = {
  model: null,
  upstream: { text: "upstream name", title: "Models with this upstream name inherit its prices" },
  relay: { text: "relay", title: "Relayed requests are priced by the model that they ask for" },
  gone: { text: "no model", title: "No model here has this alias or upstream name" },
} as const satisfies Record<NameKind, { readonly text: string; readonly title: string } | null>;

/** What a priced name is, where it is not simply a model's. */
export function KindBadge({ kind }: { readonly kind: NameKind }) {
  const note = NOTE[kind];
  return note !== null && <Badge title={note.title}>{note.text}</Badge>;
}

/** What a priced name is: an alias, an upstream name, a relayed name, or a name that no model has any more. */
export type NameKind = MissingPriceRow["kind"] | "upstream";

/** The rows whose next request will be without a price, too. */
export function toMissingNow({ missing }: MissingPrices): readonly MissingPriceRow[] {
  return missing.filter(({ has_price: hasPrice }) => !hasPrice);
}

/** Each is of one name, kind, unit and reason; no kind, unit or tier has a space. */
export function toMissingId({ kind, unit, model, reason = "" }: MissingPriceRow): string {
  return `${kind} ${unit} ${reason} ${model}`;
}
