import {
  ATTEMPTS_BURST,
  ATTEMPTS_PER_SECOND,
  type AttemptKind,
  createAttemptBucket,
  type SharedAttempts,
} from "#identity/attempts.ts";
import type { UsedStates } from "#identity/sso-state.ts";
import type { Clock } from "#kernel/clock.ts";
import { sha256Hex } from "#kernel/crypto.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import type { Sql } from "#storage/postgres/connection/pool.ts";

/** Beyond what the bucket says: others draw as well. */
const AGAIN_MS_MIN = 20;

export interface SharedAttemptsDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * One bucket for all replicas. Each has one of its own before it, so that guessing at one replica asks the database no more
 * often than the limit allows; without a database that one holds alone.
 */
export function createSharedAttempts({ sql, clock, log }: SharedAttemptsDeps): SharedAttempts {
  return {
    openBucket(kind) {
      const own = createAttemptBucket(clock);
      return {
        async draw() {
          const waitMs = await own.draw();
          if (waitMs > 0) return waitMs;
          try {
            return await drawShared(sql, kind);
          } catch (cause) {
            log.warn("attempts at signing in are limited by each replica alone", describeCause(cause));
            return 0;
          }
        },
      };
    },
  };
}

/** The attempts that are in the bucket by now. A clock that was set, in either direction, fills it. */
const FILLED = `least($2::double precision,
  bucket.available + abs(extract(epoch FROM statement_timestamp() - bucket.filled_at))::double precision * $3::double precision)`;

/** Takes an attempt out of the bucket and returns 0, or the time until there may be one. */
async function drawShared(sql: Sql, kind: AttemptKind): Promise<number> {
  const bucket = [kind, ATTEMPTS_BURST, ATTEMPTS_PER_SECOND];
  const drawn = await sql.run(
    `INSERT INTO attempt_bucket AS bucket (name, available, filled_at)
     VALUES ($1, $2::double precision - 1, statement_timestamp())
     ON CONFLICT (name) DO UPDATE SET available = ${FILLED} - 1, filled_at = statement_timestamp() WHERE ${FILLED} >= 1`,
    bucket,
  );
  if (drawn > 0) return 0;
  const [row] = await sql.all<{ filled: number }>(
    `SELECT ${FILLED} AS filled FROM attempt_bucket AS bucket WHERE name = $1`,
    bucket,
  );
  return Math.max(AGAIN_MS_MIN, ((1 - (row?.filled ?? 1)) / ATTEMPTS_PER_SECOND) * 1000);
}

/** Replicas whose clocks differ must not forget a state that another still takes. */
const CLOCK_SKEW_US_MAX = 3_600_000_000;

/** Single sign-on states of all replicas: whichever of them a browser is led back to. `claim` throws DatabaseUnreachableError. */
export function createSharedStates(sql: Sql, clock: Clock): UsedStates {
  return {
    async claim(state, expiresAtUs) {
      const claimed = await sql.run(
        "INSERT INTO used_sign_in (state_hash, expires_at_us) VALUES ($1, $2) ON CONFLICT (state_hash) DO NOTHING",
        [sha256Hex(state), expiresAtUs],
      );
      await sql.run("DELETE FROM used_sign_in WHERE expires_at_us < $1", [clock.nowUs() - CLOCK_SKEW_US_MAX]);
      return claimed > 0;
    },
  };
}
