import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createSystemClock } from "#kernel/clock.ts";
import { createSystemIds } from "#kernel/ids.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { createGuestFreshness } from "#storage/replicas/freshness.ts";
import { createKeyMemory } from "./key-memory.ts";
import { postgresMissing } from "../../../support/postgres.ts";
import { createKeys } from "./keys.ts";
import { startReplica, type TestReplica } from "./replicas.ts";

setDefaultTimeout(30_000);

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

  test("a command beside the replicas makes a change that holds for all of them when it is answered", async () => {
    await using database = await createKeys(3);
    await using one = await startReplica(database.target, { graceMs: 30_000 });
    expect((await one.accepts("key-1")).accepted).toBe(true);
    const memory = createKeyMemory();
    const guest = createGuestFreshness({
      postgres: database.postgres,
      schema: database.target.schema,
      memory: memory.follower,
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
