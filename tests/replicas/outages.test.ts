import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { postgresMissing } from "../support/postgres.ts";
import { busyLimit } from "../support/waiting.ts";
import { type Completion, type ServedSite, startServedSite } from "./served-site.ts";
import type { Replica } from "./site.ts";

setDefaultTimeout(120_000);

/** Far longer than PostgreSQL is away and takes to start, on a busy machine too. */
const GRACE_MS = 5_000;
const AWAY_MS = 1_000;
/** The time that each of two outages in a row lasts, and the time between them. */
const IN_A_ROW_MS = 1_600;
const BETWEEN_MS = 700;
/** Within which everything serves again once PostgreSQL is back. */
const RECOVERY_MS_MAX = 5_000;

let site: ServedSite;
/** Requests that were answered, each of which is an event. */
let completed = 0;

describe.skipIf(postgresMissing !== null)("while PostgreSQL is away", () => {
  beforeAll(async () => {
    site = await startServedSite({ replicas: 2, env: { PROXY_DATABASE_GRACE: `${GRACE_MS / 1000}s` } });
    for (const replica of site.replicas) expect((await complete(replica)).status).toBe(200);
  });
  afterAll(() => site[Symbol.asyncDispose]());

  for (const mode of ["immediate", "fast", "silent"] as const) {
    test(`(${mode}) for less than the grace no request with a key fails, and usage is there afterwards`, async () => {
      await leave(mode);
      const endMs = performance.now() + AWAY_MS;
      while (performance.now() < endMs) {
        for (const replica of site.replicas) {
          expect((await complete(replica)).status).toBe(200);
        }
      }
      await comeBack(mode);
      for (const replica of site.replicas) expect((await complete(replica)).status).toBe(200);
      await site.untilRecorded(completed, RECOVERY_MS_MAX);
      expect((await site.read(site.replicaAt(1), "/admin/v1/requests?limit=1")).total).toBe(completed);
    });
  }

  test("twice in a row, replicas know within 5 s of its return what the others have used of a limit meanwhile, and how old that is", async () => {
    const [asked, other] = [site.replicaAt(0), site.replicaAt(1)];
    await site.makeLimit({ name: "daily", measure: "requests", amount: 1_000_000, window: "day" });
    for (const replica of site.replicas) await site.untilUsed(replica, completed, RECOVERY_MS_MAX);
    expect(await readAge(asked)).toBeLessThan(busyLimit(RECOVERY_MS_MAX) / 1000);
    const before = completed;
    let oldest = 0;
    for (const betweenMs of [0, BETWEEN_MS]) {
      await Bun.sleep(betweenMs);
      await leave("immediate");
      const endMs = performance.now() + IN_A_ROW_MS;
      while (performance.now() < endMs) await complete(other);
      oldest = Math.max(oldest, await readAge(asked));
      await comeBack("immediate");
    }
    expect(oldest).toBeGreaterThan(IN_A_ROW_MS / 2_000);
    expect(completed).toBeGreaterThan(before);
    await site.untilUsed(asked, completed, RECOVERY_MS_MAX);
  });
});

async function leave(mode: "immediate" | "fast" | "silent"): Promise<void> {
  if (mode === "silent") for (const { network } of site.replicas) network.silence();
  else await site.database.stop(mode);
}

async function comeBack(mode: "immediate" | "fast" | "silent"): Promise<void> {
  if (mode === "silent") for (const { network } of site.replicas) network.resume();
  else await site.database.start();
}

async function complete(replica: Replica): Promise<Completion> {
  const completion = await site.complete(replica);
  if (completion.status === 200) completed += 1;
  return completion;
}

/** In seconds. */
async function readAge({ url }: Replica): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^proxy_limits_age_seconds (.*)$/m.exec(text)?.[1]);
}
