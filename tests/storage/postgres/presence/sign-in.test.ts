import { describe, expect, test } from "bun:test";
import { ATTEMPTS_BURST, ATTEMPTS_PER_SECOND } from "#identity/attempts.ts";
import { createSystemClock } from "#kernel/clock.ts";
import { createSharedAttempts, createSharedStates } from "#storage/replicas/sign-in.ts";
import { postgresMissing } from "../../../support/postgres.ts";
import { silentLog } from "../../support.ts";
import { createDatabase } from "../support.ts";

const clock = createSystemClock();

describe.skipIf(postgresMissing !== null)("signing in at several replicas", () => {
  test("guessing at three replicas at once gets no more attempts than at one", async () => {
    await using database = await createDatabase();
    const buckets = await Promise.all(
      [1, 2, 3].map(async () => {
        const sql = await database.open();
        return createSharedAttempts({ sql, clock, log: silentLog }).openBucket("password");
      }),
    );
    const startedMs = performance.now();
    let drawn = 0;
    const guess = async (bucket: (typeof buckets)[number]) => {
      while (performance.now() - startedMs < 1_500) {
        const waitMs = await bucket.draw();
        if (waitMs === 0) drawn += 1;
        else await Bun.sleep(waitMs);
      }
    };
    await Promise.all(buckets.map(guess));
    const seconds = (performance.now() - startedMs) / 1_000;
    expect(drawn).toBeLessThanOrEqual(Math.ceil(ATTEMPTS_BURST + ATTEMPTS_PER_SECOND * seconds));
    // Nor fewer: the burst is there for whoever comes first.
    expect(drawn).toBeGreaterThanOrEqual(ATTEMPTS_BURST);
  });

  test("passwords and login links have a bucket each, and a clock that was set back does not close it", async () => {
    await using database = await createDatabase();
    const attempts = createSharedAttempts({ sql: database.postgres, clock, log: silentLog });
    const passwords = attempts.openBucket("password");
    expect(await passwords.draw()).toBe(0);
    // Empty for longer than this test takes.
    await database.postgres.run("UPDATE attempt_bucket SET available = -1000");
    expect(await attempts.openBucket("login_link").draw()).toBe(0);
    const elsewhere = createSharedAttempts({ sql: database.postgres, clock, log: silentLog }).openBucket(
      "password",
    );
    expect(await elsewhere.draw()).toBeGreaterThan(0);
    await database.postgres.run("UPDATE attempt_bucket SET filled_at = clock_timestamp() + interval '1 day'");
    expect(await elsewhere.draw()).toBe(0);
  });

  test("without a database each replica limits its own attempts", async () => {
    await using database = await createDatabase();
    const sql = await database.open();
    const bucket = createSharedAttempts({ sql, clock, log: silentLog }).openBucket("password");
    await sql.close();
    let drawn = 0;
    for (let index = 0; index < ATTEMPTS_BURST + 5; index += 1) drawn += Number((await bucket.draw()) === 0);
    expect(drawn).toBeGreaterThanOrEqual(ATTEMPTS_BURST);
    expect(drawn).toBeLessThan(ATTEMPTS_BURST + 5);
  });

  test("a single sign-on state is good for one callback, whichever replica it comes to", async () => {
    await using database = await createDatabase();
    const other = createSharedStates(await database.open(), clock);
    const states = createSharedStates(database.postgres, clock);
    const expiresAtUs = clock.nowUs() + 600_000_000;
    const claims = await Promise.all([states.claim("one", expiresAtUs), other.claim("one", expiresAtUs)]);
    expect(claims.filter(Boolean)).toEqual([true]);
    expect(await other.claim("one", expiresAtUs)).toBe(false);
    expect(await other.claim("two", expiresAtUs)).toBe(true);
    // A state that has long expired goes with the next one.
    await states.claim("old", clock.nowUs() - 7_200_000_000);
    expect(await database.postgres.all("SELECT 1 FROM used_sign_in")).toHaveLength(2);
  });
});
