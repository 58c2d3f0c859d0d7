import { sha256Hex } from "#kernel/crypto.ts";
import { SetupError } from "#kernel/errors.ts";

/** One step of a schema. Its SQL never changes once released: databases remember its hash. */
export interface Migration {
  /** Such as `0000_catalog`; the names are in the order of the steps. */
  readonly name: string;
  /** Several statements; none that PostgreSQL refuses within a transaction. */
  readonly sql: string;
}

/** A step that a database has, as it remembers it. */
export interface AppliedMigration {
  readonly name: string;
  readonly hash: string;
}

/** Hash of the text as it is in the repository: a checkout with CRLF line ends makes the same schema. */
export function hashOf({ sql }: Migration): string {
  return sha256Hex(sql.replaceAll("\r\n", "\n"));
}

/**
 * The steps that a database lacks. Throws a SetupError for a newer or an altered one, which `what` names; `copy` is what a
 * person would restore.
 */
export function listPending(
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
  { what, copy }: { readonly what: string; readonly copy: string },
): readonly Migration[] {
  for (const [position, migration] of migrations.slice(0, applied.length).entries()) {
    const row = applied[position];
    if (row?.name !== migration.name || row.hash !== hashOf(migration)) {
      throw new SetupError(
        "configuration",
        `${what} is of no released lockport (migration ${row?.name} differs) and cannot be brought up to date: start the executable that made it, or restore ${copy}.`,
      );
    }
  }
  if (applied.length > migrations.length) {
    throw new SetupError(
      "configuration",
      `${what} was made by a newer version: start that version, or restore ${copy}.`,
    );
  }
  return migrations.slice(applied.length);
}
