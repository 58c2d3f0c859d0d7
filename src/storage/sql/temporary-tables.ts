import { UNITS } from "#kernel/units.ts";
import { CARRIED_MEASURES } from "#storage/cells/measures.ts";

/** What reports, limits and checks put down while they read, by its columns; of one connection and one transaction. */
export const TEMPORARY_TABLES = {
  chosen_manner: [
    "id INTEGER PRIMARY KEY",
    "result INTEGER",
    "ok INTEGER",
    "unmetered INTEGER",
    ...UNITS.map((unit) => `${unit} INTEGER`),
    "streamed INTEGER",
  ],
  priced_manner: [
    "id INTEGER PRIMARY KEY",
    "result INTEGER",
    "unmetered INTEGER",
    ...UNITS.map((unit) => `${unit} INTEGER`),
  ],
  ended_day: [
    "combination INTEGER",
    "day INTEGER",
    ...CARRIED_MEASURES.map(({ name }) => `${name} DOUBLE PRECISION`),
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
} as const satisfies { readonly [table: string]: readonly string[] };

export type TemporaryTable = keyof typeof TEMPORARY_TABLES;
