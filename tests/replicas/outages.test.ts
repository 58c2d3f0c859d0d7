import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { postgresMissing } from "../support/postgres.ts";
import { busyLimit, timed, until } from "../support/waiting.ts";
import { type Completion, type ServedSite, startServedSite } from "./served-site.ts";
import type { Replica } from "./site.ts";

setDefaultTimeout(120_000);

/** Far longer than PostgreSQL is away and takes to start, on a busy machine too. */
const GRACE_MS = 5_000;
const AWAY_MS = 1_000;
/** How long each of two outages in a row lasts, and the time between them. */
const IN_A_ROW_MS = 1_600;
const BETWEEN_MS = 700;
/** Within which everything serves again once PostgreSQL is back. */
const RECOVERY_MS_MAX = 5_000;
/** Within which a change ends that cannot be made. */
const CHANGE_MS_MAX = 5_000;

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
      let recorded = 0;
      await until(
        async () => (recorded = await countRecorded().catch(() => 0)) >= completed,
        () => `${completed} requests are recorded, and not ${recorded}`,
        RECOVERY_MS_MAX,
      );
      expect(recorded).toBe(completed);
    });
  }

  test("twice in a row, replicas know within 5 s of its return what the others have used of a limit meanwhile, and how old that is", async () => {
    const [asked, other] = [site.replicaAt(0), site.replicaAt(1)];
    const limit = { name: "daily", subject: {}, measure: "requests", amount: 1_000_000, window: "day" };
    expect((await site.ask(asked, "POST", "/admin/v1/limits", limit)).status).toBe(201);
    for (const replica of site.replicas) await untilUsed(replica, completed);
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
    await untilUsed(asked, completed);
  });

  test("a change fails within 5 s where nothing answers, and none that was not committed was reported as made", async () => {
    const replica = site.replicaAt(0);
    await leave("silent");
    const { result: refused, tookMs } = await timed(() => makeKey(replica));
    expect(tookMs).toBeLessThan(busyLimit(CHANGE_MS_MAX));
    expect(refused.status).toBe(500);
    await comeBack("silent");
    await until(
      async () => (await makeKey(replica)).status === 201,
      () => "a key is made",
      RECOVERY_MS_MAX,
    );
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

function makeKey(replica: Replica): Promise<Response> {
  return site.ask(replica, "POST", "/my/keys", { label: "made" });
}

/** What a replica says was used of the one limit comes to this in time: its answer waits for nothing that others have committed. */
async function untilUsed(replica: Replica, amount: number): Promise<void> {
  let used = Number.NaN;
  await until(
    async () => {
      const answer = await site.ask(replica, "GET", "/admin/v1/limits");
      if (answer.status === 200) used = Number(JSON.parse(await answer.text()).limits[0]?.used);
      return used === amount;
    },
    () => `it knows of ${used} requests and not of ${amount}`,
    RECOVERY_MS_MAX,
  );
}

/** In seconds. */
async function readAge({ url }: Replica): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^proxy_limits_age_seconds (.*)$/m.exec(text)?.[1]);
}

async function countRecorded(): Promise<number> {
  const response = await site.ask(site.replicaAt(1), "GET", "/admin/v1/requests?limit=1");
  if (response.status !== 200) throw new Error(`the log answered ${response.status}`);
  const { total }: { readonly total: number } = JSON.parse(await response.text());
  return total;
}
