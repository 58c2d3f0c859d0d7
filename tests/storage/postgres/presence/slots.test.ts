import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createConcurrencyLimiter, type PermitQueue } from "#forward/concurrency-limiter.ts";
import { postgresMissing, sharedPostgres } from "../../../support/postgres.ts";
import { createTcpProxy } from "../../../support/tcp-proxy.ts";
import { busyLimit, until } from "../../../support/waiting.ts";
import { createPostgresCatalog, type PostgresStores } from "../catalog-engine.ts";

setDefaultTimeout(60_000);

const LIMIT = 8;

/** Requests of replicas to one upstream, each of which has its connection for as long as it has its permit. */
function createUpstream() {
  let [open, most] = [0, 0];
  const queues = new Map<PostgresStores, PermitQueue>();
  const never = new AbortController().signal;
  const queueOf = (replica: PostgresStores) => {
    const queue =
      queues.get(replica) ?? createConcurrencyLimiter(replica.presence.slots).openQueue("upstream");
    queues.set(replica, queue);
    return queue;
  };
  return {
    open: () => open,
    most: () => most,
    /** So many requests at once: how many were done, how many were cut before, and how long one of them has waited. */
    async send(replica: PostgresStores, { limit = LIMIT, requests = LIMIT, atOnce = LIMIT, holdMs = 20 }) {
      const queue = queueOf(replica);
      const told = { done: 0, cut: 0, waitedMsMax: 0 };
      let left = requests;
      const work = async () => {
        while (left > 0) {
          left -= 1;
          const sinceMs = performance.now();
          using permit = queue.tryAcquire(limit) ?? (await queue.acquire(limit, never));
          if (permit === null) return;
          told.waitedMsMax = Math.max(told.waitedMsMax, performance.now() - sinceMs);
          most = Math.max(most, (open += 1));
          const cut = Promise.withResolvers<"cut">();
          permit.whenCut({ cancel: () => cut.resolve("cut") });
          told[await Promise.race([Bun.sleep(holdMs).then(() => "done" as const), cut.promise])] += 1;
          open -= 1;
        }
      };
      await Promise.all(Array.from({ length: atOnce }, work));
      return told;
    },
  };
}

describe.skipIf(postgresMissing !== null)("slots of replicas", () => {
  test.each([true, false])(
    "idle slots of one replica serve a request that waits at another within a second (notified: %p)",
    async (hears) => {
      await using engine = createPostgresCatalog();
      const [one, two] = [await engine.open({ hears }), await engine.open({ hears })];
      const upstream = createUpstream();
      expect((await upstream.send(one, { holdMs: 50 })).done).toBe(LIMIT);
      expect(one.presence.slots.count).toBe(LIMIT);
      const { waitedMsMax, done } = await upstream.send(two, { holdMs: 50 });
      expect(done).toBe(LIMIT);
      expect(waitedMsMax).toBeLessThan(busyLimit(1_000));
      expect(upstream.most()).toBe(LIMIT);
      // Unused for longer than slots are kept, they go back by themselves, but for one, with which requests go on in an outage.
      engine.clock.advanceMs(3_000);
      await until(
        () => one.presence.slots.count + two.presence.slots.count === 1,
        () => "idle slots have gone back",
      );
    },
  );

  test("with one slot for three replicas that all want it each has its turn", async () => {
    await using engine = createPostgresCatalog();
    const replicas = [await engine.open(), await engine.open(), await engine.open()];
    const upstream = createUpstream();
    const load = { limit: 1, requests: 40, atOnce: 5 };
    const results = await Promise.all(replicas.map((replica) => upstream.send(replica, load)));
    expect(results.map(({ done }) => done)).toEqual([40, 40, 40]);
    expect(upstream.most()).toBe(1);
  });

  test("without a database a replica goes on with its own slots, and its requests are cut before others have them", async () => {
    await using engine = createPostgresCatalog();
    const network = createTcpProxy((await sharedPostgres()).port);
    const leased = { graceMs: 1_000, slotLeaseMs: 2_000 };
    const [one, two] = [await engine.open(leased), await engine.open({ ...leased, network })];
    const upstream = createUpstream();
    const long = upstream.send(two, { holdMs: 60_000 });
    await until(
      () => upstream.open() === LIMIT,
      () => "every slot is in use",
    );
    network.silence();
    const waiting = upstream.send(one, {});
    await until(
      () => !two.presence.health().isDatabaseUp,
      () => "its heartbeat has failed",
    );
    const pass = (ms: number) => engine.clock.advanceMs(ms);
    pass(1_500);
    expect(two.presence.health().isServing).toBe(false);
    // Its streams go on.
    expect(upstream.open()).toBe(LIMIT);
    const passing = setInterval(pass, 20, 200);
    expect(await long).toMatchObject({ done: 0, cut: LIMIT });
    expect(await waiting).toMatchObject({ done: LIMIT, cut: 0 });
    clearInterval(passing);
    expect(upstream.most()).toBe(LIMIT);
    network.stop();
  });
});
