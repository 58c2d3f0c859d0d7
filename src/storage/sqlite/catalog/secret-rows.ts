import { and, asc, count, eq, type SQL } from "drizzle-orm";
import type { ErrorCode } from "#kernel/errors.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { Connection } from "./connection.ts";
import { principals } from "./schema.ts";
import { toPublicColumns, type SecretTable } from "./secret-lookup.ts";

type NewSecret = SecretTable["$inferInsert"];
type OwnedSecret = Omit<SecretTable["$inferSelect"], "hash"> & { readonly principalName: string };

export interface SecretFilter {
  readonly principalId?: string;
}

export interface SecretRows {
  /** Within a transaction. */
  insert(secret: NewSecret): void;
  /** Within a transaction. Throws the code of the table when there is no such row, or it is not that principal's. */
  delete(filter: SecretFilter & { readonly id: string }): void;
  /** By creation time, of one principal or of all. */
  list(filter: SecretFilter, page: Page): Promise<Paged<OwnedSecret>>;
}

/** The rows of API keys, or of relay tokens. */
export function createSecretRows(
  connection: Connection,
  table: SecretTable,
  missing: { readonly code: ErrorCode; readonly message: string },
): SecretRows {
  const { orm } = connection;
  const ownedBy = (principalId: string | undefined): SQL | undefined =>
    principalId === undefined ? undefined : eq(table.principalId, principalId);
  return {
    insert(secret) {
      orm.insert(table).values(secret).run();
    },

    delete({ id, principalId }) {
      const deleted = orm
        .delete(table)
        .where(and(eq(table.id, id), ownedBy(principalId)))
        .returning({ id: table.id })
        .all();
      if (deleted.length === 0) throw new ProxyError(missing.code, missing.message);
    },

    list: ({ principalId }, page) =>
      connection.read(() => {
        const owned = ownedBy(principalId);
        const rows = orm
          .select({ ...toPublicColumns(table), principalName: principals.name })
          .from(table)
          .innerJoin(principals, eq(principals.id, table.principalId))
          .where(owned)
          .orderBy(asc(table.createdAtUs), asc(table.id))
          .limit(page.limit)
          .offset(page.offset)
          .all();
        return { rows, total: orm.select({ total: count() }).from(table).where(owned).get()?.total ?? 0 };
      }),
  };
}
