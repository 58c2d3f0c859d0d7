import { isAuthStyle } from "#catalog/auth-style.ts";
import { isReadableCapabilities, isReadableEndpoints } from "./catalog-rows.ts";
import { all, type Script } from "#storage/sql/script.ts";
import { readTags } from "./json-columns.ts";
import { LIMIT_READERS } from "./limit-rows.ts";
import { isReadableAliases } from "./identity-rows.ts";
import type { UnreadableRow } from "./unreadable.ts";

interface ReadColumn {
  readonly table: string;
  readonly column: string;
  readonly isReadable: (text: string) => boolean;
}

const READ_COLUMNS: readonly ReadColumn[] = [
  { table: "providers", column: "endpoints", isReadable: isReadableEndpoints },
  { table: "providers", column: "auth_style", isReadable: isAuthStyle },
  { table: "models", column: "capabilities", isReadable: isReadableCapabilities },
  ...Object.entries(LIMIT_READERS).map(([column, isReadable]) => ({ table: "limits", column, isReadable })),
  ...["api_keys", "relay_tokens"].flatMap((table) =>
    ["models", "admin_models"].map((column) => ({ table, column, isReadable: isReadableAliases })),
  ),
  ...["principals", "api_keys", "relay_tokens"].map((table) => ({
    table,
    column: "tags",
    isReadable: (text: string) => readTags(text) !== null,
  })),
];

/** Every row of the catalog that is not in force, since this version cannot read it. */
export function* findUnreadableRows(): Script<readonly UnreadableRow[]> {
  const found: UnreadableRow[] = [];
  for (const { table, column, isReadable } of READ_COLUMNS) {
    const rows = yield* all<{ id: string; text: string }>(
      `SELECT id, "${column}" AS text FROM ${table} WHERE "${column}" IS NOT NULL ORDER BY id`,
    );
    for (const { id, text } of rows) if (!isReadable(text)) found.push({ table, id, column });
  }
  return found;
}
