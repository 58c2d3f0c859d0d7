import type { Sql } from "#storage/postgres/connection/sql.ts";

/** A replica that runs is heard twice a second. */
const SILENT_HOURS = 1;

/** The spools that have not been heard of for an hour, and how many hours it is. */
export function findSilentSpools(
  sql: Sql,
): Promise<readonly { readonly lane: number; readonly hours: number }[]> {
  return sql.all<{ lane: number; hours: number }>(
    `SELECT lane, floor(extract(epoch FROM now() - heard_at) / 3600)::integer AS hours FROM spool
     WHERE heard_at < now() - $1 * interval '1 hour' ORDER BY lane`,
    [SILENT_HOURS],
  );
}
