import { type KeptResponse, ORPHANED_AT_US, type ResponseStore } from "#catalog/kept-response.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import type { Reads } from "./reads.ts";
import { keptResponses } from "./response-schema.ts";
import { toSelection } from "./rows.ts";

/** One statement for a batch, which returns what it has kept. A principal may be deleted while it is answered. */
const KEEP = `INSERT INTO kept_responses
    (id_hash, principal_id, model_id, provider_id, event_id, event_lane, is_settled, expires_at_us)
  SELECT id_hash, principal_id, model_id, provider_id, event_id, event_lane, is_settled,
    CASE WHEN is_settled OR EXISTS (SELECT 1 FROM principals WHERE id = principal_id) THEN expires_at_us ELSE ${ORPHANED_AT_US} END
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::boolean[], $8::bigint[])
    AS told (id_hash, principal_id, model_id, provider_id, event_id, event_lane, is_settled, expires_at_us)
  ORDER BY id_hash, principal_id
  ON CONFLICT (id_hash, principal_id) DO UPDATE SET model_id = excluded.model_id, provider_id = excluded.provider_id,
    event_id = excluded.event_id, event_lane = excluded.event_lane, is_settled = excluded.is_settled, expires_at_us = excluded.expires_at_us
    WHERE kept_responses.is_settled
  RETURNING id_hash, principal_id`;
const SELECT = `SELECT ${toSelection(keptResponses)} FROM kept_responses`;
const IS_OF = "WHERE id_hash = $1 AND principal_id = $2";

/** The kept responses in PostgreSQL. No replica remembers them. */
export function createResponseStore(reads: Reads): ResponseStore {
  return {
    keep: (responses) =>
      reads.query(async (sql) => {
        const rows = await sql.all<{ id_hash: string; principal_id: string }>(KEEP, [
          responses.map(({ idHash }) => idHash),
          responses.map(({ principalId }) => principalId),
          responses.map(({ modelId }) => modelId),
          responses.map(({ providerId }) => providerId),
          responses.map(({ eventId }) => eventId),
          responses.map(({ lane }) => lane),
          responses.map(({ isSettled }) => isSettled),
          responses.map(({ expiresAtUs }) => expiresAtUs),
        ]);
        const kept = new Set(rows.map((row) => `${row.id_hash} ${row.principal_id}`));
        return responses.filter(({ idHash, principalId }) => !kept.has(`${idHash} ${principalId}`));
      }),

    find: (idHashes, principalId) =>
      reads.query(async (sql) => {
        const [row] = await sql.all<KeptResponse>(
          `${SELECT} WHERE id_hash = ANY($1::text[]) AND principal_id = $2 LIMIT 1`,
          [idHashes, principalId],
        );
        return row ?? null;
      }),

    markSettled: ({ idHash, principalId }) =>
      reads.query(async (sql) => {
        await sql.run(`UPDATE kept_responses SET is_settled = true ${IS_OF}`, [idHash, principalId]);
      }),

    remove: ({ idHash, principalId }) =>
      reads.query(async (sql) => {
        await sql.run(`DELETE FROM kept_responses ${IS_OF}`, [idHash, principalId]);
      }),

    removeExpired: (nowUs, rowsMax) =>
      reads.query((sql) =>
        sql.run(
          `DELETE FROM kept_responses WHERE ctid = ANY(ARRAY(
             SELECT ctid FROM kept_responses WHERE is_settled AND expires_at_us <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`,
          [nowUs, rowsMax],
        ),
      ),

    listOrphans: (rowsMax) =>
      reads.query((sql) =>
        sql.all<KeptResponse>(
          `${SELECT} WHERE NOT is_settled AND expires_at_us = ${ORPHANED_AT_US} LIMIT $1`,
          [rowsMax],
        ),
      ),
  };
}

/** Within the deletion of a principal: what it has of pending events is found no more, and waits for a server to settle it. */
export async function orphanResponses(sql: Sql, principalId: string): Promise<void> {
  await sql.run(
    `UPDATE kept_responses SET expires_at_us = ${ORPHANED_AT_US} WHERE principal_id = $1 AND NOT is_settled`,
    [principalId],
  );
}
