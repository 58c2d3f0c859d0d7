import { bigint, customType } from "drizzle-orm/pg-core";

/** `text` that orders and compares by code points, as SQLite does: lists are alike whatever the database's own collation. */
export const text = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });

/** A whole number that JavaScript holds exactly: instants in microseconds, prices in 10⁻¹². */
export const integer = (name: string) => bigint(name, { mode: "number" });

export const bytes = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });
