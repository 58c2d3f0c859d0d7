import { UNITS } from "#kernel/units.ts";
import { CARRIED_MEASURES } from "#storage/cells/total-columns.ts";

/** What reports, limits and checks put down while they read, by its columns; of one connection and one transaction. */
export const TEMPORARY_TABLES = {
  chosen_combination: ["id INTEGER PRIMARY KEY", "shape TEXT"],
  chosen_result: ["id INTEGER PRIMARY KEY"],
  chosen_manner_id: ["id INTEGER PRIMARY KEY"],
  chosen_outcome: [
    "id INTEGER PRIMARY KEY",
    "ok INTEGER",
    "cancelled INTEGER",
    "upstream_error INTEGER",
    "untold INTEGER",
  ],
  chosen_manner: [
    "id INTEGER PRIMARY KEY",
    "result INTEGER",
    "ok INTEGER",
    "cancelled INTEGER",
    "upstream_error INTEGER",
    ...UNITS.map((unit) => `${unit} INTEGER`),
    "streamed INTEGER",
  ],
  chosen_dimension: ["id INTEGER PRIMARY KEY", "first_day BIGINT", "group_id INTEGER"],
  chosen_rest: ["id INTEGER PRIMARY KEY", "end_day BIGINT", "group_id INTEGER"],
  chosen_day: ["day INTEGER PRIMARY KEY"],
  combination_group: ["id INTEGER PRIMARY KEY", "group_id INTEGER", "value TEXT"],
  combination_use: ["id INTEGER PRIMARY KEY", "requests DOUBLE PRECISION"],
  bucket_range: ["place INTEGER PRIMARY KEY", "bucket INTEGER", "from_at BIGINT", "to_at BIGINT"],
  priced_manner: [
    "id INTEGER PRIMARY KEY",
    "result INTEGER",
    "outcome TEXT",
    ...UNITS.map((unit) => `${unit} INTEGER`),
  ],
  ended_day: [
    "combination INTEGER",
    "day INTEGER",
    ...CARRIED_MEASURES.map((column) => `${column} DOUBLE PRECISION`),
  ],
  journal_end: [
    "from_us BIGINT",
    "to_us BIGINT",
    "ends INTEGER",
    "duration_us DOUBLE PRECISION",
    "first_byte_us DOUBLE PRECISION",
    "cost_hi DOUBLE PRECISION",
    "cost_lo DOUBLE PRECISION",
    "input_tokens DOUBLE PRECISION",
    "output_tokens DOUBLE PRECISION",
  ],
  priced_name: ["id INTEGER PRIMARY KEY", "name_id INTEGER", "model TEXT", "relayed INTEGER", "tier TEXT"],
} as const satisfies { readonly [table: string]: readonly string[] };

export type TemporaryTable = keyof typeof TEMPORARY_TABLES;
