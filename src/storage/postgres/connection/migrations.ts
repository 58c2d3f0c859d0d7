import catalog0000 from "#drizzle/postgres/0000_catalog.sql" with { type: "text" };
import ledger0001 from "#drizzle/postgres/0001_ledger.sql" with { type: "text" };
import presence0002 from "#drizzle/postgres/0002_presence.sql" with { type: "text" };

/** One step of the schema. Its SQL never changes once released: databases remember its hash. */
export interface Migration {
  /** Such as `0000_catalog`; the names are in the order of the steps. */
  readonly name: string;
  /** Several statements; none that PostgreSQL refuses within a transaction. */
  readonly sql: string;
}

/** The files of drizzle/postgres in order. A new file is imported as text above and named here. */
export const MIGRATIONS: readonly Migration[] = [
  { name: "0000_catalog", sql: catalog0000 },
  { name: "0001_ledger", sql: ledger0001 },
  { name: "0002_presence", sql: presence0002 },
];
