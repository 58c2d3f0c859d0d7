import type { Log } from "#kernel/log.ts";

/** What the schema allows and this version cannot read: the database was changed by hand, or a newer version wrote it. */
export interface UnreadableRow {
  readonly table: string;
  readonly id: string;
  readonly column: string;
}

/** Its message has no value: what is in a column may be a secret. */
export class UnreadableRowError extends Error {
  override readonly name = "UnreadableRowError";
  readonly row: UnreadableRow;

  constructor(row: UnreadableRow) {
    super(`${row.table} ${row.id}: ${row.column} cannot be read`);
    this.row = row;
  }
}

export type TellUnreadable = (row: UnreadableRow) => void;

/** Rows that are read; one that cannot be is left out and told, and takes no other one with it. */
export function readRows<Row, Read>(
  rows: readonly Row[],
  read: (row: Row) => Read,
  tell: TellUnreadable,
): readonly Read[] {
  return rows.flatMap((row) => {
    try {
      return [read(row)];
    } catch (cause) {
      if (!(cause instanceof UnreadableRowError)) throw cause;
      tell(cause.row);
      return [];
    }
  });
}

/** Rows that are remembered as told. */
const TOLD_MAX = 1_000;

/** Tells of each row once, however often it is read. */
export function createUnreadableTelling(log: Pick<Log, "error">): TellUnreadable {
  const told = new Set<string>();
  return (row) => {
    const name = Object.values(row).join(" ");
    if (told.has(name) || told.size >= TOLD_MAX) return;
    told.add(name);
    log.error(
      "a row of the catalog cannot be read and is not in force: correct or delete it, as lockport doctor says",
      {
        ...row,
      },
    );
  };
}
