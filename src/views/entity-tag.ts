import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { toShownNames } from "#kernel/fields.ts";

/**
 * Fields of a view that a change would write over, in this order: all that are stored, and none that moves by itself, such as
 * what was used of a limit. A field that is left out or null counts as its default.
 */
export const STORED_FIELDS = {
  limit: [
    "name",
    "subject",
    "each",
    "measure",
    "amount",
    "window",
    "action",
    "unpriced",
    "unknown",
    "fixed",
    "enabled",
  ],
  model: [
    "alias",
    "provider",
    "upstream_name",
    "capabilities",
    "target",
    "pricing",
    "price_variants",
    "pricing_inherited",
    "hidden",
  ],
  provider: [
    "name",
    "base_url",
    "has_credential",
    "credential_set_at",
    ...toShownNames(PROVIDER_SETTINGS),
    "enabled",
    "endpoints",
  ],
  principal: ["name", "kind", "role", "enabled", "tags"],
} as const;

export type StoredKind = keyof typeof STORED_FIELDS;

/** The fields of a view by name. A list leaves out what is usual; a principal's row says `enabled` of a disabled one alone. */
export function toStoredFields(kind: StoredKind, view: object): readonly (readonly [string, unknown])[] {
  return STORED_FIELDS[kind].map((field) => [
    field,
    Reflect.get(view, field) ?? (field === "enabled" ? true : null),
  ]);
}

/**
 * The `ETag` of a view (RFC 9110, section 8.8.3), by which `If-Match` finds out that something was changed meanwhile. The page
 * makes it of a row of a list as the server does of what is stored: the same function, of the same JSON.
 */
export function toEntityTag(kind: StoredKind, view: object): string {
  return `"${toHash(JSON.stringify(toStoredFields(kind, view)))}"`;
}

/** 64 bits by two rounds of FNV-1a: enough to tell what an administrator sees apart, and no secret. */
function toHash(text: string): string {
  return [0x811c9dc5, 0x01000193].map((seed) => toFnv(text, seed).toString(16).padStart(8, "0")).join("");
}

function toFnv(text: string, seed: number): number {
  let hash = seed;
  for (let place = 0; place < text.length; place += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193);
  }
  return hash >>> 0;
}
