import type { Log } from "#kernel/log.ts";
import { select } from "#storage/sql/rows.ts";
import type { Script } from "#storage/sql/script.ts";
import type { RowOf, Table, ValuesOf } from "#storage/sql/table.ts";
import {
  apiKeys,
  limits,
  models,
  priceSchedule,
  priceVariants,
  principals,
  providers,
  relayTokens,
} from "./tables.ts";

/** A value that the schema allows and this version cannot read: the database was changed by hand, or a newer version wrote it. */
export interface UnreadableRow {
  readonly table: string;
  readonly id: string;
  readonly column: string;
}

export type TellUnreadable = (row: UnreadableRow) => void;

/** False, and each of its columns told, for a row that this version cannot read. */
export function isReadable<Of extends Table>(
  table: Of,
  row: RowOf<Of>,
  tell: TellUnreadable,
): row is RowOf<Of> & ValuesOf<Of> {
  const unreadable = listUnreadable(table, row);
  for (const one of unreadable) tell(one);
  return unreadable.length === 0;
}

/** The rows that can be read. One that cannot be is told, and takes no other one with it. */
export function listReadable<Of extends Table>(
  table: Of,
  rows: readonly RowOf<Of>[],
  tell: TellUnreadable,
): readonly (RowOf<Of> & ValuesOf<Of>)[] {
  return rows.filter((row) => isReadable(table, row, tell));
}

const CODED: readonly Table[] = [
  providers,
  models,
  priceVariants,
  priceSchedule,
  limits,
  apiKeys,
  relayTokens,
  principals,
];

/** Every row of the catalog that is not in force, since this version cannot read it. */
export function* findUnreadableRows(): Script<readonly UnreadableRow[]> {
  const found: UnreadableRow[] = [];
  for (const table of CODED) {
    const rows = yield* select(table);
    found.push(...rows.flatMap((row) => listUnreadable(table, row)));
  }
  return found;
}

function listUnreadable({ name, columns, key }: Table, row: object): readonly UnreadableRow[] {
  const id = key.map((property) => String(Reflect.get(row, property))).join(" ");
  return Object.entries(row).flatMap(([property, value]) => {
    const column = columns[property]?.name;
    if (value !== undefined || column === undefined) return [];
    return { table: name, id, column };
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
