import type { BoardAnswer, LimitBoard, OpenUse, Peer } from "#limits/open-elsewhere.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";

/**
 * The board of `open_use`: a row for each replica, which is written when it says something new and goes with the replica's
 * own. What a fenced replica has said is not read: it is cut off, stopped or killed, and others stopped waiting for it.
 */
export class OpenUseBoard implements LimitBoard {
  readonly #postgres: Postgres;
  readonly #replicaId: string;

  constructor(postgres: Postgres, replicaId: string) {
    this.#postgres = postgres;
    this.#replicaId = replicaId;
  }

  async exchange(own: readonly OpenUse[]): Promise<BoardAnswer> {
    const rows = await this.#postgres.all<Row>(EXCHANGE, [this.#replicaId, encode(own)]);
    return {
      ownId: this.#replicaId,
      turn: rows[0]?.turn ?? 0,
      peers: rows.flatMap(({ id, uses }): Peer[] =>
        id === null ? [] : [{ id, uses: uses === null ? [] : decode(uses) }],
      ),
    };
  }
}

interface Row {
  readonly turn: number;
  /** Null: there is no other. */
  readonly id: string | null;
  /** Null: it has said nothing yet. */
  readonly uses: string | null;
}

/** A replica whose row is gone for a moment has none here either. */
const EXCHANGE = `
  WITH said AS (
    INSERT INTO open_use AS own (replica_id, uses)
    SELECT id, $2 FROM replica
    WHERE id = $1 AND NOT EXISTS (SELECT FROM open_use WHERE replica_id = $1 AND uses = $2)
    ON CONFLICT (replica_id) DO UPDATE SET uses = excluded.uses
  )
  SELECT floor(extract(epoch FROM clock_timestamp()))::double precision AS turn, other.id, other.uses
  FROM (VALUES (1)) AS answer LEFT JOIN (
    SELECT replica.id::text AS id, uses FROM replica LEFT JOIN open_use ON replica_id = replica.id
    WHERE replica.id <> $1 AND NOT is_fenced
  ) AS other ON true`;

function encode(uses: readonly OpenUse[]): string {
  return JSON.stringify(
    uses.map(({ limitId, value, label, open, wanted }) => [limitId, value, label, open, wanted]),
  );
}

/** Entries that another version of the product has written in another form are passed over. */
function decode(text: string): OpenUse[] {
  const rows: unknown = JSON.parse(text);
  return Array.isArray(rows) ? rows.flatMap(toUse) : [];
}

function toUse(row: unknown): OpenUse[] {
  if (!Array.isArray(row)) return [];
  const parts: readonly unknown[] = row;
  const [limitId, value, label, open, wanted] = parts;
  const isUse =
    typeof limitId === "string" &&
    typeof value === "string" &&
    typeof label === "string" &&
    typeof open === "number" &&
    typeof wanted === "number";
  return isUse ? [{ limitId, value, label, open, wanted }] : [];
}
