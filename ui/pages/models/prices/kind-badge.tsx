import { Badge } from "../../../components/badge.tsx";
import type { NameKind } from "./missing.ts";

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
