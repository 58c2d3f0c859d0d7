import {
  type KeptResponse,
  ORPHANED_AT_US,
  type ResponseKey,
  type ResponseStore,
} from "#catalog/kept-response.ts";
import { select, selectOne } from "#storage/sql/rows.ts";
import { all, dialectOf, one, run, type Script } from "#storage/sql/script.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { keptResponses } from "./tables.ts";

const IS_OF = "WHERE id_hash = ? AND principal_id = ?";
const IS_EXPIRED = "WHERE is_settled = TRUE AND expires_at_us <= ?";

/** The kept responses. No memory holds them, so that a write of one leaves the catalog's memory alone. */
export function createResponseStore({ ask, put }: Pick<CatalogDriver, "ask" | "put">): ResponseStore {
  return {
    keep: (responses) => put(() => keep(responses)),
    find: (idHashes, principalId) => ask(() => find(idHashes, principalId)),
    markSettled: (key) => put(() => markSettled(key)),
    remove: (key) => put(() => remove(key)),
    async removeExpired(nowUs, rowsMax) {
      // Nearly always there is none: then nothing is written.
      const hasAny = await ask(() => hasExpired(nowUs));
      return hasAny ? put(() => removeExpired(nowUs, rowsMax)) : 0;
    },
    listOrphans: (rowsMax) => ask(() => listOrphans(rowsMax)),
  };
}

/**
 * One statement of one text for a batch of any size, since callers wait for it. A principal may be deleted while it is
 * answered: then its response is an orphan from the start.
 */
function* keep(responses: readonly KeptResponse[]): Script<readonly KeptResponse[]> {
  const { toList, toMember } = yield* dialectOf();
  const cell = (at: number) => toMember("list.value", at);
  const whole = (at: number) => `CAST(${cell(at)} AS bigint)`;
  const isSettled = `CAST(${cell(6)} AS boolean)`;
  const kept = yield* all<ResponseKey>(
    `INSERT INTO kept_responses
      (id_hash, principal_id, model_id, provider_id, event_id, event_lane, is_settled, expires_at_us)
    SELECT ${cell(0)}, ${cell(1)}, ${cell(2)}, ${cell(3)}, ${whole(4)}, ${whole(5)}, ${isSettled},
      CASE WHEN ${isSettled} OR EXISTS (SELECT 1 FROM principals WHERE id = ${cell(1)})
        THEN ${whole(7)} ELSE ${ORPHANED_AT_US} END
    FROM ${toList("text")} ORDER BY list.value
    ON CONFLICT (id_hash, principal_id) DO UPDATE SET model_id = excluded.model_id,
      provider_id = excluded.provider_id, event_id = excluded.event_id, event_lane = excluded.event_lane,
      is_settled = excluded.is_settled, expires_at_us = excluded.expires_at_us
      WHERE kept_responses.is_settled = TRUE
    RETURNING id_hash AS "idHash", principal_id AS "principalId"`,
    [responses.map(toCells)],
  );
  const keys = new Set(kept.map(toText));
  return responses.filter((response) => !keys.has(toText(response)));
}

/** In the order of the columns; replicas that keep the same ones at once lock them in the order of these texts. */
function toCells(response: KeptResponse): string {
  const { idHash, principalId, modelId, providerId, eventId, lane, isSettled, expiresAtUs } = response;
  return JSON.stringify([idHash, principalId, modelId, providerId, eventId, lane, isSettled, expiresAtUs]);
}

function toText({ idHash, principalId }: ResponseKey): string {
  return `${idHash} ${principalId}`;
}

function* find(idHashes: readonly string[], principalId: string): Script<KeptResponse | null> {
  const { isAnyOf } = yield* dialectOf();
  const where = `WHERE ${isAnyOf("id_hash", "text")} AND principal_id = ? LIMIT 1`;
  return yield* selectOne(keptResponses, where, [idHashes, principalId]);
}

function* markSettled({ idHash, principalId }: ResponseKey): Script<void> {
  yield* run(`UPDATE kept_responses SET is_settled = TRUE ${IS_OF}`, [idHash, principalId]);
}

function* remove({ idHash, principalId }: ResponseKey): Script<void> {
  yield* run(`DELETE FROM kept_responses ${IS_OF}`, [idHash, principalId]);
}

function* hasExpired(nowUs: number): Script<boolean> {
  return (yield* one(`SELECT 1 FROM kept_responses ${IS_EXPIRED} LIMIT 1`, [nowUs])) !== null;
}

/** Rows that another replica removes at this moment are left to it. */
function* removeExpired(nowUs: number, rowsMax: number): Script<number> {
  const { hasLocks } = yield* dialectOf();
  return yield* run(
    `DELETE FROM kept_responses WHERE (id_hash, principal_id) IN
      (SELECT id_hash, principal_id FROM kept_responses ${IS_EXPIRED} LIMIT ? ${hasLocks ? "FOR UPDATE SKIP LOCKED" : ""})`,
    [nowUs, rowsMax],
  );
}

function* listOrphans(rowsMax: number): Script<readonly KeptResponse[]> {
  const where = `WHERE is_settled = FALSE AND expires_at_us = ${ORPHANED_AT_US} LIMIT ?`;
  return yield* select(keptResponses, where, [rowsMax]);
}

/** Within the deletion of a principal: what it has of pending events is found no more, and waits for a server to settle it. */
export function* orphanResponses(principalId: string): Script<void> {
  yield* run(
    `UPDATE kept_responses SET expires_at_us = ${ORPHANED_AT_US} WHERE principal_id = ? AND NOT is_settled`,
    [principalId],
  );
}
