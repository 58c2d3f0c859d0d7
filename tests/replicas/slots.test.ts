import { expect, setDefaultTimeout, test } from "bun:test";
import { createChance } from "../support/chance.ts";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { readNumber, scale } from "../support/scale.ts";
import { busyLimit, timed } from "../support/waiting.ts";
import { startServedSite } from "./served-site.ts";

setDefaultTimeout(300_000);

const CAP = 8;
const SECONDS = 2 * scale;
/** Callers of each replica: more than the cap in one, few in another. */
const CALLERS = [14, 5, 1];
const FREE_SLOT_MS_MAX = 1_000;

test.skipIf(postgresMissing !== null)(
  `of three replicas with unequal load and kills, no more than max_concurrency requests are at a provider, and a free slot is taken within a second`,
  async () => {
    const chance = createChance(readNumber("LOCKPORT_SEED"));
    await using site = await startServedSite({
      replicas: 3,
      server: await sharedPostgres(),
      env: { PROXY_DATABASE_GRACE: "3s" },
      provider: { more: { max_concurrency: CAP } },
      toHoldMs: () => 20 + chance.below(80),
    });
    const { complete, replicaAt, upstream } = site;
    const [other, idle] = [replicaAt(1), replicaAt(2)];
    let slowestMs = 0;
    const callers = site.startCallers(CALLERS, async (replica) => {
      const { tookMs } = await timed(() => complete(replica).catch(() => Bun.sleep(20)));
      if (replica === idle) slowestMs = Math.max(slowestMs, tookMs);
    });
    const endMs = performance.now() + SECONDS * 1_000;
    while (performance.now() < endMs) {
      await Bun.sleep(300 + chance.below(700));
      await other.kill();
      await other.restart();
    }
    await callers.stop();
    expect(upstream.most()).toBeGreaterThan(CAP / 2);
    expect(upstream.most()).toBeLessThanOrEqual(CAP);
    expect(upstream.served()).toBeGreaterThan(SECONDS * 10);
    console.log(
      `slots: at most ${upstream.most()} of ${CAP} open, ${upstream.served()} served, the longest of one caller ${Math.round(slowestMs)} ms`,
    );

    // Idle slots of the one go to a caller of another.
    const { result, tookMs } = await timed(() => complete(idle));
    expect(result.status).toBe(200);
    expect(tookMs).toBeLessThan(busyLimit(FREE_SLOT_MS_MAX));
  },
);
