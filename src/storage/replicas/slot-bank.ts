import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import type { Hints } from "./hints.ts";
import { DEMAND_MS_MAX } from "./replica-row.ts";
import { readServerLine, ServerLine } from "./server-line.ts";
import type { Peer } from "./silence.ts";
import { type Borrower, type Loan, toLoan } from "./slot-shares.ts";

/** What a replica says of the slots of a pool, which are those of one queue: how many there are at most, and how many it keeps and wants. */
export interface SlotClaim {
  readonly pool: string;
  readonly limit: number;
  readonly keep: number;
  readonly wanted: number;
}

/**
 * A server of PostgreSQL that has just started may have forgotten loans: it was restored, or promoted too early. It lends
 * nothing until every replica that can ask has said what it has.
 */
const SETTLE_MS = 3_000;
/**
 * The pause of a PostgreSQL that goes on where the server before it ended, whose loans are all there: three signs of life,
 * for a disk that was put back beneath it. With outages in a row it would lend nothing in between otherwise.
 */
const SETTLE_SAME_MS = 750;
/** A replica that stands still in the middle of a claim holds the lock; a call that waits for it says nothing of the network. */
const LOCK_MS_MAX = 500;

export interface SlotBankDeps {
  readonly postgres: Postgres;
  readonly replicaId: string;
  readonly hints: Pick<Hints, "tell">;
  /** For tests, whose other waits are not these. */
  readonly settle?: { readonly ms: number; readonly sameMs: number };
}

const SETTLE = { ms: SETTLE_MS, sameMs: SETTLE_SAME_MS };

/** The loans of this replica. A loan is written before a slot of it is used, and after the last one that it no longer has was. */
export class SlotBank {
  readonly #deps: SlotBankDeps;
  readonly #line: ServerLine;

  constructor(deps: SlotBankDeps) {
    this.#deps = deps;
    this.#line = new ServerLine(() => readServerLine(deps.postgres));
  }

  /**
   * Says what the replica keeps and wants, and returns what it has now: at least what it keeps. The pool's row is locked
   * first, so that loans of one pool are made one after the other. A claim whose answer was lost is repeated with what is
   * known here, which is never more than what is written.
   */
  async claim(claim: SlotClaim): Promise<Loan> {
    const { postgres, hints, settle = SETTLE } = this.#deps;
    const claimed = await postgres.transaction(async (tx) => {
      await tx.run(`SET LOCAL lock_timeout = ${LOCK_MS_MAX}`);
      const { seenMs, server } = await lockPool(tx, claim.pool);
      void this.#line.follow(server);
      const isSettled = seenMs > (this.#line.isSame(server) ? settle.sameMs : settle.ms);
      const { own, others } = await this.#readBorrowers(tx, claim.pool);
      const request = { ...claim, starvedMs: own.starvedMs, canGrow: isSettled && !own.isFenced };
      const loan = toLoan(request, others);
      await this.#write(tx, claim, loan);
      const isShort = claim.wanted > loan.lent;
      const wasShort = own.isAsking && own.wanted > own.lent;
      return { loan, isNews: (isShort && !wasShort) || (loan.share !== null && loan.lent < own.lent) };
    });
    // Others look at once: to give back, or to take what was given back. Only when something is new, or hints would answer hints.
    if (claimed.isNews) hints.tell();
    return claimed.loan;
  }

  async #readBorrowers(tx: Transaction, pool: string) {
    const rows = await tx.all<BorrowerRow>(
      `SELECT replica.id = $2 AS "isOwn", is_fenced AS "isFenced", coalesce(lent, 0) AS lent, coalesce(wanted, 0) AS wanted,
         coalesce(extract(epoch FROM clock_timestamp() - starved_since) * 1000, 0)::double precision AS "starvedMs",
         NOT is_fenced AND coalesce(asked_at > clock_timestamp() - $3 * interval '1 millisecond', false) AS "isAsking"
       FROM replica LEFT JOIN slot_loan ON replica_id = replica.id AND pool = $1`,
      [pool, this.#deps.replicaId, DEMAND_MS_MAX],
    );
    const own = rows.find(({ isOwn }) => isOwn);
    if (own === undefined) throw new TypeError("this replica has no row");
    return { own, others: rows.filter(({ isOwn }) => !isOwn) };
  }

  async #write(tx: Transaction, { pool, wanted }: SlotClaim, { lent }: Loan): Promise<void> {
    await tx.run(
      `INSERT INTO slot_loan AS loan (pool, replica_id, lent, wanted, starved_since, asked_at)
       VALUES ($1, $2, $3, $4, CASE WHEN $5 THEN clock_timestamp() END, clock_timestamp())
       ON CONFLICT (pool, replica_id) DO UPDATE SET
         lent = excluded.lent, wanted = excluded.wanted, asked_at = excluded.asked_at,
         starved_since = CASE WHEN $5 THEN coalesce(loan.starved_since, excluded.starved_since) END`,
      [pool, this.#deps.replicaId, lent, wanted, lent === 0 && wanted > 0],
    );
  }
}

interface BorrowerRow extends Borrower {
  readonly isOwn: boolean;
  readonly isFenced: boolean;
}

interface PoolRow {
  /** For how long the pool has known the server. */
  readonly seenMs: number;
  /** When that was started. */
  readonly server: string;
}

async function lockPool(tx: Transaction, pool: string): Promise<PoolRow> {
  const [row] = await tx.all<PoolRow>(
    `INSERT INTO slot_pool AS pool (name, server_started_at, server_seen_at)
     VALUES ($1, pg_postmaster_start_time(), to_timestamp(0))
     ON CONFLICT (name) DO UPDATE SET
       server_seen_at = CASE WHEN pool.server_started_at = excluded.server_started_at
         THEN pool.server_seen_at ELSE clock_timestamp() END,
       server_started_at = excluded.server_started_at
     RETURNING server_started_at::text AS server,
       (extract(epoch FROM clock_timestamp() - server_seen_at) * 1000)::double precision AS "seenMs"`,
    [pool],
  );
  if (row === undefined) throw new TypeError("the pool has no row");
  return row;
}

/** Frees what a fenced replica has, unless it has given a sign of life since this beat. Its own requests are cut by then. */
export async function freeSlots(
  postgres: Postgres,
  { id, beat }: Pick<Peer, "id" | "beat">,
): Promise<number> {
  return postgres.run(
    `WITH gone AS (SELECT id FROM replica WHERE id = $1 AND beat = $2 AND is_fenced FOR UPDATE SKIP LOCKED)
     DELETE FROM slot_loan USING gone WHERE replica_id = gone.id`,
    [id, beat],
  );
}
