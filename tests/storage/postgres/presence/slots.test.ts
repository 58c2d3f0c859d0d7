import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { postgresMissing } from "../../../support/postgres.ts";
import { createTcpProxy } from "../../../support/tcp-proxy.ts";
import { busyLimit, until } from "../../../support/waiting.ts";
import { createKeys } from "./keys.ts";
import { startReplica } from "./replicas.ts";

setDefaultTimeout(60_000);

const LIMIT = 8;

/** An upstream that counts the connections that are open to it. */
function startUpstream() {
  let open = 0;
  let most = 0;
  const count = (connection: { isOpen: boolean }) => {
    open -= Number(connection.isOpen);
    connection.isOpen = false;
  };
  const listener = Bun.listen<{ isOpen: boolean }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = { isOpen: true };
        most = Math.max(most, (open += 1));
      },
      // What it sends says that it is at its end.
      data(socket) {
        count(socket.data);
        socket.end();
      },
      close: ({ data }) => count(data),
    },
  });
  return {
    port: listener.port,
    open: () => open,
    most: () => most,
    [Symbol.dispose]: () => listener.stop(true),
  };
}

describe.skipIf(postgresMissing !== null)("slots of replicas", () => {
  test.each([true, false])(
    "idle slots of one replica serve a request that waits at another within a second (notified: %p)",
    async (hears) => {
      await using database = await createKeys(1);
      using upstream = startUpstream();
      const at = { port: upstream.port, limit: LIMIT };
      await using one = await startReplica(database.target, { lane: 1, hears });
      await using two = await startReplica(database.target, { lane: 2, hears });
      expect((await one.load({ ...at, requests: LIMIT, atOnce: LIMIT, holdMs: 50 })).done).toBe(LIMIT);
      expect((await one.health()).slots).toBe(LIMIT);
      const { waitedMsMax, done } = await two.load({ ...at, requests: LIMIT, atOnce: LIMIT, holdMs: 50 });
      expect(done).toBe(LIMIT);
      expect(waitedMsMax).toBeLessThan(busyLimit(1_000));
      expect(upstream.most()).toBe(LIMIT);
      // What nobody needs goes back by itself, but for one, with which requests go on in an outage.
      await until(
        async () => (await one.health()).slots + (await two.health()).slots === 1,
        () => "idle slots have gone back",
      );
    },
  );

  test("with one slot for three replicas that all want it each has its turn", async () => {
    await using database = await createKeys(1);
    using upstream = startUpstream();
    const load = { port: upstream.port, limit: 1, requests: 40, atOnce: 5, holdMs: 20 };
    await using one = await startReplica(database.target, { lane: 1 });
    await using two = await startReplica(database.target, { lane: 2 });
    await using three = await startReplica(database.target, { lane: 3 });
    const results = await Promise.all([one.load(load), two.load(load), three.load(load)]);
    expect(results.map(({ done }) => done)).toEqual([40, 40, 40]);
    expect(upstream.most()).toBe(1);
  });

  test("without a database a replica goes on with its own slots, and its requests are cut before others have them", async () => {
    await using database = await createKeys(1);
    using upstream = startUpstream();
    const at = { port: upstream.port, limit: LIMIT };
    const network = createTcpProxy(Number(new URL(database.target.url).port));
    const behind = { ...database.target, url: network.toUrl(database.target.url) };
    const leased = { graceMs: 1_000, slotLeaseMs: 2_000 };
    await using one = await startReplica(database.target, { lane: 1, ...leased });
    await using two = await startReplica(behind, { lane: 2, ...leased });
    const long = two.load({ ...at, requests: LIMIT, atOnce: LIMIT, holdMs: 60_000 });
    await until(
      () => upstream.open() === LIMIT,
      () => "every slot is in use",
    );
    network.silence();
    const waiting = one.load({ ...at, requests: LIMIT, atOnce: LIMIT, holdMs: 20 });
    await until(
      async () => !(await two.health()).isServing,
      () => "its grace is over",
    );
    // Its streams go on.
    expect(upstream.open()).toBe(LIMIT);
    expect(await long).toMatchObject({ done: 0, cut: LIMIT });
    expect(await waiting).toMatchObject({ done: LIMIT, cut: 0 });
    await until(
      () => upstream.open() === 0,
      () => "nothing is open",
    );
    expect(upstream.most()).toBe(LIMIT);
    network.stop();
  });
});
