import type { Database } from "bun:sqlite";
import { SetupError } from "#kernel/errors.ts";

/**
 * Throws a `SetupError` unless every page is sound, and with `integrity_check` every index too (sqlite.org/pragma.html).
 * Reads the whole file. The sentence says `name`, since a copy's own path means nothing to its reader.
 */
export function requireSound(db: Database, name: string, check: "quick_check" | "integrity_check"): void {
  const [[finding] = []] = db.query(`PRAGMA ${check}(1)`).values();
  if (finding === "ok") return;
  throw new SetupError("configuration", `The database ${name} is damaged: restore it from a backup.`);
}

/** Throws a `SetupError` when a row refers to one that is not there. */
export function requireReferences(db: Database, name: string): void {
  if (db.query("PRAGMA foreign_key_check").get() === null) return;
  throw new SetupError(
    "configuration",
    `The database ${name} holds rows that refer to missing ones: restore it from a backup.`,
  );
}
