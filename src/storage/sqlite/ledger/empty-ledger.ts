import { Database } from "bun:sqlite";
import type { Script } from "#storage/sql/script.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { SCHEMA_SQL } from "./file/schema.ts";

/** Reads a ledger in memory in which nothing was ever recorded. */
export function readEmpty<Answer>(script: Script<Answer>): Answer {
  const empty = new Database(":memory:", { strict: true });
  try {
    empty.run(SCHEMA_SQL);
    return readFrom(empty, script);
  } finally {
    empty.close();
  }
}
