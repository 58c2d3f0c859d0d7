import type { JournalPosition } from "#storage/journal/segments.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";

/** Another process has begun a run of the spool, or the lane is another spool's: this one writes no more. */
export class SupersededError extends Error {
  override readonly name = "SupersededError";
}

/** The stored position is not the one that a batch began at: a commit whose answer was lost, or an older database. */
export class PositionMovedError extends Error {
  override readonly name = "PositionMovedError";
}

/** A run of a spool, as it was claimed. */
export interface SpoolClaim {
  /** The spool's own name, from its data folder. */
  readonly id: string;
  readonly lane: number;
  readonly run: number;
}

interface SpoolRow {
  readonly id: string;
  readonly run: number;
  readonly segment: number;
  readonly offset: number;
  readonly batch: number;
}

export interface SpoolState {
  readonly position: JournalPosition;
  /** The number of the last batch. */
  readonly batch: number;
}

/**
 * Where the spool's journal goes on. A database that was put back to an older state has an older run of it, or does not
 * know it: its row is made to be this run's, so that what is missing comes out of the segments that are kept.
 */
export async function readSpool(sql: Sql, claim: SpoolClaim): Promise<SpoolState> {
  const row = (await findSpool(sql, claim)) ?? (await restoreSpool(sql, claim));
  if (row === null || row.id !== claim.id || row.run > claim.run) throw new SupersededError();
  if (row.run < claim.run) {
    const changed = await sql.run("UPDATE spool SET run = $3 WHERE lane = $1 AND id = $2 AND run < $3", [
      claim.lane,
      claim.id,
      claim.run,
    ]);
    if (changed === 0) throw new PositionMovedError();
  }
  return { position: { segment: row.segment, offsetBytes: row.offset }, batch: row.batch };
}

/**
 * Moves the position from where the batch began to where it ends, which no two writers can do, and holds the spool's row
 * until the end of the transaction. Returns the number of the batch, which is above every one before.
 */
export async function moveSpool(
  sql: Sql,
  claim: SpoolClaim,
  {
    from,
    to,
    lastBatch,
    isRecorded,
  }: {
    readonly from: JournalPosition;
    readonly to: JournalPosition;
    readonly lastBatch: number;
    /** Whether it has events: numbers in `recorded_batch` follow one another. */
    readonly isRecorded: boolean;
  },
): Promise<number> {
  const [moved] = await sql.all<{ batch: number }>(
    `UPDATE spool SET segment = $6, "offset" = $7, batch = greatest(batch, $8) + $9, heard_at = now()
     WHERE lane = $1 AND id = $2 AND run = $3 AND segment = $4 AND "offset" = $5 RETURNING batch`,
    [
      claim.lane,
      claim.id,
      claim.run,
      from.segment,
      from.offsetBytes,
      to.segment,
      to.offsetBytes,
      lastBatch,
      isRecorded ? 1 : 0,
    ],
  );
  if (moved === undefined) throw new PositionMovedError();
  return moved.batch;
}

async function findSpool(sql: Sql, { lane }: SpoolClaim): Promise<SpoolRow | null> {
  // FOR UPDATE waits for a transaction whose COMMIT has not been answered, so that what is read is what came of it.
  const rows = await sql.all<SpoolRow>(
    'SELECT id, run, segment, "offset", batch FROM spool WHERE lane = $1 FOR UPDATE',
    [lane],
  );
  return rows[0] ?? null;
}

async function restoreSpool(sql: Sql, claim: SpoolClaim): Promise<SpoolRow | null> {
  await sql.run("INSERT INTO spool (lane, id, run) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", [
    claim.lane,
    claim.id,
    claim.run,
  ]);
  // The next new spool would be given the lane.
  await sql.run("SELECT setval(pg_get_serial_sequence('spool', 'lane'), (SELECT max(lane) FROM spool))");
  return findSpool(sql, claim);
}
