import { type StoredKind, toEntityTag } from "#views/entity-tag.ts";

/**
 * Options of a change that was made from a view: where something of it was changed since, the server refuses with
 * `changed_meanwhile`. Without one it writes over whatever is there.
 */
export function ifMatch(kind: StoredKind, from: object | undefined) {
  return from === undefined ? {} : { headers: { "if-match": toEntityTag(kind, from) } };
}
