import type { UsedStates } from "#identity/sso-state.ts";
import type { Clock } from "#kernel/clock.ts";
import { sha256Hex } from "#kernel/crypto.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";

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
