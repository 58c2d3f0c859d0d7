import type { Field, Fields, FormOf, ViewOf } from "#kernel/fields.ts";

/** What a form begins with. Certificates are not shown, so that null is what is stored, and an empty text takes it away. */
export function toForm<const Of extends Fields>(fields: Of, view: ViewOf<Of>): FormOf<Of>;
export function toForm(fields: Fields, view: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [
      key,
      field.kind === "pem" ? null : (Reflect.get(view, field.wire) ?? field.initial),
    ]),
  );
}

type KeysOf<Of extends Fields, Kind> = {
  [Key in keyof Of]: Of[Key]["kind"] extends Kind ? Key : never;
}[keyof Of];

/** The keys of the fields that have a control of one of these kinds. */
export function listKeys<const Of extends Fields, const Kind extends Field["kind"]>(
  fields: Of,
  kinds: readonly Kind[],
): readonly KeysOf<Of, Kind>[];
export function listKeys(fields: Fields, kinds: readonly string[]): readonly string[] {
  return Object.entries(fields).flatMap(([key, { kind }]) => (kinds.includes(kind) ? [key] : []));
}
