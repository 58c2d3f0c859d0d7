import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { toShownName, type ViewOf } from "#kernel/fields.ts";
import { STORED_FIELDS, type StoredKind, toEntityTag, toStoredFields } from "#views/entity-tag.ts";

/** What a form changes, as the server told it. */
export interface Stored {
  readonly kind: StoredKind;
  readonly view: object;
}

export interface MovedField {
  readonly label: string;
  readonly was: string;
  readonly now: string;
}

export function isSameStored(one: Stored | undefined, other: Stored | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.view === other.view || toEntityTag(one.kind, one.view) === toEntityTag(other.kind, other.view);
}

/** The fields that another person, or another tab, has changed since `from`. */
export function findMoved(from: Stored | undefined, now: Stored | undefined): readonly MovedField[] {
  if (from === undefined || now === undefined || isSameStored(from, now)) return [];
  const before = new Map(toStoredFields(from.kind, from.view));
  return toStoredFields(now.kind, now.view).flatMap(([field, value]) => {
    const was = toWords(before.get(field));
    const next = toWords(value);
    return was === next ? [] : [{ label: LABELS[field] ?? field, was, now: next }];
  });
}

type StoredField = (typeof STORED_FIELDS)[StoredKind][number];

const SETTING_LABELS = Object.fromEntries(
  Object.values(PROVIDER_SETTINGS).map((field) => [toShownName(field), field.label]),
);
const LABELS: { readonly [field: string]: string } = {
  ...SETTING_LABELS,
  name: "Name",
  subject: "Whom it holds for",
  each: "Separately for",
  measure: "Measure",
  amount: "Amount",
  window: "Window",
  action: "Action",
  unpriced: "Models without a price",
  unknown: "Requests without usage",
  fixed: "Fixed tags alone",
  enabled: "Enabled",
  alias: "Alias",
  provider: "Provider",
  upstream_name: "Upstream name",
  capabilities: "Capabilities",
  target: "Target",
  pricing: "Prices",
  pricing_inherited: "Prices inherited",
  hidden: "Hidden",
  base_url: "Base URL",
  has_credential: "API key stored",
  endpoints: "Endpoints",
  kind: "Kind",
  role: "Role",
  tags: "Tags",
} satisfies Record<Exclude<StoredField, keyof ViewOf<typeof PROVIDER_SETTINGS>>, string>;

function toWords(value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(toWords).join(", ");
  if (typeof value === "object") {
    const parts = Object.entries(value).map(([name, part]) => `${name} ${toWords(part)}`);
    return parts.length === 0 ? "none" : parts.join(", ");
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}
