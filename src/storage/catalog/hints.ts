import { toHint } from "#kernel/nearest.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import type { SecretFilter } from "#identity/store.ts";
import { select } from "#storage/sql/rows.ts";
import { all, type Script } from "#storage/sql/script.ts";
import { principals, type SecretTable } from "./tables.ts";

/** For the name of a principal; of many principals only the first are looked at. */
export function* hintAtPrincipal(name: string): Script<string> {
  const known = yield* select(principals, "ORDER BY name LIMIT ?", [PAGE_LIMIT_MAX]);
  return toHint(
    name,
    known.map((principal) => principal.name),
  );
}

/** Secrets that are told as probably meant; more are as good as none. */
const MEANT_MAX = 3;
/** Half of an id: a typo leaves the other half as it is. */
const HALF_ID_LENGTH = 18;

/**
 * For the id of a key or a relay token: ids of those that have it as their label or last characters, and of one that is nearly
 * the same. Of one principal's own alone where the filter names it.
 */
export function* hintAtSecret(table: SecretTable, { id: typed, principalId }: SecretFilter): Script<string> {
  // A secret without a label would be meant by an empty text.
  if (typed === "") return "";
  const isId = typed.length === 2 * HALF_ID_LENGTH;
  const rows = yield* all<{ readonly id: string }>(
    `SELECT id FROM ${table.name} WHERE (label = ?1 OR suffix = ?1 OR (?2 <> '' AND
       (substr(id, 1, ${HALF_ID_LENGTH}) = ?2 OR substr(id, ${HALF_ID_LENGTH + 1}) = ?3)))
     ${principalId === undefined ? "" : "AND principal_id = ?4"} ORDER BY id LIMIT ${MEANT_MAX + 1}`,
    [
      typed,
      isId ? typed.slice(0, HALF_ID_LENGTH) : "",
      isId ? typed.slice(HALF_ID_LENGTH) : "",
      ...(principalId === undefined ? [] : [principalId]),
    ],
  );
  if (rows.length === 0 || rows.length > MEANT_MAX) return "";
  return ` Did you mean ${rows.map(({ id }) => `\`${id}\``).join(" or ")}?`;
}
