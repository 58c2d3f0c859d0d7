import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createSystemClock } from "#kernel/clock.ts";
import { createSystemIds } from "#kernel/ids.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { createGuestFreshness } from "#storage/replicas/freshness.ts";
import { createKeyMemory } from "./key-memory.ts";
import { postgresMissing } from "../../../support/postgres.ts";
import { createTcpProxy } from "../../../support/tcp-proxy.ts";
import { busyLimit, timed, until } from "../../../support/waiting.ts";
import type { TestDatabase } from "../support.ts";
import { createKeys } from "./keys.ts";
import { startReplica, type TestReplica } from "./replicas.ts";

// Each waits for a grace or two, on a machine that may be busy.
setDefaultTimeout(30_000);

const GRACE_MS = 1_500;
/** What a change may take beyond the grace of a replica that is silent. */
const OVERTIME_MS_MAX = 1_000;
/** What a replica that was cut off takes to serve again. */
const RECOVERS_MS_MAX = 5_000;
/** Longer than a test may take: what waits for it fails. */
const LONG_GRACE_MS = 60_000;
/** Requests that are written while a replica stands still. */
const QUEUED = 20;

/** The lanes of the replicas that no change waits for any more, though their rows are there. */
async function listFenced({ postgres }: TestDatabase): Promise<readonly number[]> {
  const rows = await postgres.all<{ lane: number }>("SELECT lane FROM replica WHERE is_fenced ORDER BY lane");
  return rows.map(({ lane }) => lane);
}

async function acceptedBy(replicas: readonly TestReplica[], key: string): Promise<readonly boolean[]> {
  return (await Promise.all(replicas.map((one) => one.accepts(key)))).map(({ accepted }) => accepted);
}

describe.skipIf(postgresMissing !== null)("replicas that answer from memory", () => {
  test("no replica accepts a key once its deletion was answered, and each answers from memory before", async () => {
    await using database = await createKeys(60);
    await using one = await startReplica(database.target, { lane: 1, graceMs: 30_000 });
    await using two = await startReplica(database.target, { lane: 2, graceMs: 30_000 });
    const late: string[] = [];
    const run = { isOver: false };
    let asked = 0;
    const hammer = async (replica: TestReplica) => {
      while (!run.isOver) asked += Number((await replica.accepts("key-60")).asked);
    };
    const hammering = [hammer(one), hammer(two)];
    for (let index = 1; index < 60; index += 1) {
      const key = `key-${index}`;
      const [deleting, other] = index % 2 === 0 ? [one, two] : [two, one];
      expect(await acceptedBy([one, two], key)).toEqual([true, true]);
      expect(await deleting.delete(key)).toEqual({ touched: 1, stillHas: false });
      if ((await acceptedBy([other, deleting], key)).includes(true)) late.push(key);
    }
    run.isOver = true;
    await Promise.all(hammering);
    expect(late).toEqual([]);
    // Trust is not lost by a change: nobody had to ask.
    expect(asked).toBe(0);
    // One by one, never as a whole.
    expect((await two.health()).loads).toBe(1);
  });

  test("without notifications a deletion waits for the next question of each replica", async () => {
    await using database = await createKeys(3);
    await using one = await startReplica(database.target, { lane: 1, graceMs: 30_000, hears: false });
    await using two = await startReplica(database.target, { lane: 2, graceMs: 30_000, hears: false });
    const { tookMs } = await timed(() => one.delete("key-1"));
    // Their grace is half a minute.
    expect(tookMs).toBeLessThan(busyLimit(1_000));
    expect(await acceptedBy([one, two], "key-1")).toEqual([false, false]);
    expect(await two.accepts("key-2")).toEqual({ accepted: true, asked: false });
  });

  test("a stopped replica delays a deletion for its grace alone, and accepts no deleted key when it goes on", async () => {
    await using database = await createKeys(3);
    await using one = await startReplica(database.target, { lane: 1, graceMs: GRACE_MS });
    await using two = await startReplica(database.target, { lane: 2, graceMs: GRACE_MS });
    two.pause();
    const { tookMs } = await timed(() => one.delete("key-1"));
    expect(tookMs).toBeLessThan(busyLimit(GRACE_MS + OVERTIME_MS_MAX));
    // Answered any sooner, it would still be believed there.
    expect(await listFenced(database)).toEqual([2]);
    // They lie in the pipe, as requests do in a socket.
    const queued = Array.from({ length: QUEUED }, () => two.accepts("key-1"));
    // The next deletion does not wait for it.
    expect((await timed(() => one.delete("key-2"))).tookMs).toBeLessThan(busyLimit(GRACE_MS / 2));
    const queuedLater = Array.from({ length: QUEUED }, () => two.accepts("key-2"));
    two.resume();
    const answers = await Promise.all([...queued, ...queuedLater]);
    expect(answers.filter(({ accepted }) => accepted)).toEqual([]);
    expect(await two.accepts("key-3")).toMatchObject({ accepted: true });
    // It believes its memory again, which was read anew.
    expect(await two.accepts("key-3")).toEqual({ accepted: true, asked: false });
    expect((await two.health()).loads).toBe(2);
  });

  test("a killed replica delays a deletion for its grace alone; one that stops in order, or starts again, not at all", async () => {
    await using database = await createKeys(5);
    await using one = await startReplica(database.target, { lane: 1, graceMs: GRACE_MS });
    const two = await startReplica(database.target, { lane: 2, graceMs: LONG_GRACE_MS });
    await two.stop();
    expect((await timed(() => one.delete("key-1"))).tookMs).toBeLessThan(LONG_GRACE_MS / 2);

    const three = await startReplica(database.target, { lane: 2, graceMs: LONG_GRACE_MS });
    await three.kill();
    const waiting = timed(() => one.delete("key-2"));
    await using four = await startReplica(database.target, { lane: 2, graceMs: GRACE_MS });
    // Its successor on the same spool tells that the killed one has ended.
    expect((await waiting).tookMs).toBeLessThan(LONG_GRACE_MS / 2);
    expect(await acceptedBy([one, four], "key-2")).toEqual([false, false]);

    await four.kill();
    const { tookMs } = await timed(() => one.delete("key-3"));
    expect(tookMs).toBeLessThan(busyLimit(GRACE_MS + OVERTIME_MS_MAX));
    expect(await listFenced(database)).toEqual([2]);
    expect((await timed(() => one.delete("key-4"))).tookMs).toBeLessThan(busyLimit(GRACE_MS / 2));
  });

  test("a replica that is cut off in silence answers until its grace is over, and refuses then what it cannot know", async () => {
    await using database = await createKeys(3);
    const { port } = new URL(database.target.url);
    const network = createTcpProxy(Number(port));
    await using one = await startReplica(database.target, { lane: 1, graceMs: GRACE_MS });
    const behind = { ...database.target, url: network.toUrl(database.target.url) };
    await using two = await startReplica(behind, { lane: 2, graceMs: GRACE_MS });
    network.silence();
    expect(await two.accepts("key-1")).toEqual({ accepted: true, asked: false });
    const { tookMs } = await timed(() => one.delete("key-1"));
    expect(tookMs).toBeLessThan(busyLimit(GRACE_MS + OVERTIME_MS_MAX));
    expect(await two.accepts("key-1").catch(String)).toContain("DatabaseUnreachableError");
    expect(await two.accepts("key-2").catch(String)).toContain("DatabaseUnreachableError");
    expect((await two.health()).isServing).toBe(false);
    network.resume();
    await until(
      async () => (await two.health()).isServing,
      () => "it serves again",
      RECOVERS_MS_MAX,
    );
    expect(await acceptedBy([two, two], "key-1")).toEqual([false, false]);
    expect(await two.accepts("key-2")).toEqual({ accepted: true, asked: false });
    network.stop();
  });

  test("a command beside the replicas makes a change that holds for all of them when it is answered", async () => {
    await using database = await createKeys(3);
    await using one = await startReplica(database.target, { graceMs: 30_000 });
    expect((await one.accepts("key-1")).accepted).toBe(true);
    const memory = createKeyMemory();
    const guest = createGuestFreshness({
      postgres: database.postgres,
      schema: database.target.schema,
      memory,
      clock: createSystemClock(),
      ids: createSystemIds(),
    });
    await guest.refreshed();
    expect([guest.isTrusted(), memory.has("key-1")]).toEqual([false, true]);
    const deleteKey = async (tx: Transaction) => {
      const result = await tx.run("DELETE FROM test_key WHERE id = 'key-1'");
      return { result, changes: [{ kind: "key", id: "key-1" } as const] };
    };
    expect(await guest.mutate(deleteKey)).toBe(1);
    expect(await one.accepts("key-1")).toEqual({ accepted: false, asked: false });
    expect(memory.has("key-1")).toBe(false);
    // What fails is not made, and told as it was thrown.
    const failing = guest.mutate(async (tx) => {
      await tx.run("DELETE FROM test_key");
      throw new TypeError("no");
    });
    expect(await failing.catch(String)).toBe("TypeError: no");
    await guest.refreshed();
    expect(memory.has("key-2")).toBe(true);
  });

  test("with a grace of 0 memory is never believed without asking, and no change waits", async () => {
    await using database = await createKeys(3);
    await using one = await startReplica(database.target, { lane: 1, graceMs: 0 });
    await using two = await startReplica(database.target, { lane: 2, graceMs: 0, hears: false });
    expect(await two.accepts("key-1")).toEqual({ accepted: true, asked: true });
    two.pause();
    // It would be waited for until it goes on.
    await one.delete("key-1");
    const queued = two.accepts("key-1");
    two.resume();
    expect(await queued).toEqual({ accepted: false, asked: true });
    expect(await one.accepts("key-1")).toEqual({ accepted: false, asked: true });
  });
});
