import type { Principal, PrincipalChange } from "#identity/principal.ts";
import type { PrincipalRow } from "./tables.ts";
import { fromTags, readTags } from "./fixed-tags.ts";
import type { TellUnreadable } from "./unreadable.ts";

/** One whose fixed tags cannot be read is disabled: a budget that counts them would not hold for it. */
export function toPrincipal(row: PrincipalRow, tell?: TellUnreadable): Principal {
  const tags = readTags(row.tags);
  if (tags !== null) return { ...row, tags };
  tell?.({ table: "principals", id: row.id, column: "tags" });
  return { ...row, tags: [], enabled: false };
}

export function toPrincipalRow({ tags, ...columns }: Principal): PrincipalRow {
  return { ...columns, tags: fromTags(tags) };
}

/** A row after a change, and the columns that are written. */
export function applyPrincipalChange(row: PrincipalRow, { tags, ...change }: PrincipalChange): PrincipalRow {
  return { ...row, ...change, ...(tags !== undefined && { tags: fromTags(tags) }) };
}
