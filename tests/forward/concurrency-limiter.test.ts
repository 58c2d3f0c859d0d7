import { describe, expect, test } from "bun:test";
import { OWN_SLOTS, type SlotHolder } from "#catalog/slots.ts";
import type { ConcurrencyLimiter, Permit } from "#forward/concurrency-limiter.ts";
import { createConcurrencyLimiter, QUEUE_LENGTH_MAX } from "#forward/concurrency-limiter.ts";

const never = new AbortController().signal;
const lane = (maxConcurrency: number | null, name = "provider host") => ({ queueName: name, maxConcurrency });

type Lane = ReturnType<typeof lane>;

function tryAcquire(limiter: ConcurrencyLimiter, { queueName, maxConcurrency }: Lane): Permit | null {
  return limiter.openQueue(queueName).tryAcquire(maxConcurrency);
}

function acquire(limiter: ConcurrencyLimiter, { queueName, maxConcurrency }: Lane, signal: AbortSignal) {
  return limiter.openQueue(queueName).acquire(maxConcurrency, signal);
}

describe("the limiter", () => {
  test("lets as many in as the cap says and serves who waits in order", async () => {
    const limiter = createConcurrencyLimiter(OWN_SLOTS);
    const first = mustEnter(tryAcquire(limiter, lane(2)));
    const second = mustEnter(tryAcquire(limiter, lane(2)));
    expect(tryAcquire(limiter, lane(2))).toBeNull();
    const order: string[] = [];
    const a = note(acquire(limiter, lane(2), never), "a", order);
    const b = note(acquire(limiter, lane(2), never), "b", order);
    const c = note(acquire(limiter, lane(2), never), "c", order);
    expect(order).toEqual([]);
    second[Symbol.dispose]();
    mustEnter(await a)[Symbol.dispose]();
    mustEnter(await b);
    expect(order).toEqual(["a", "b"]);
    first[Symbol.dispose]();
    await c;
    expect(order).toEqual(["a", "b", "c"]);
  });

  test("nobody overtakes those who wait", async () => {
    const limiter = createConcurrencyLimiter(OWN_SLOTS);
    const permit = mustEnter(tryAcquire(limiter, lane(1)));
    const waiting = acquire(limiter, lane(1), never);
    permit[Symbol.dispose]();
    // The permit is given on at once, so that somebody new finds none.
    expect(tryAcquire(limiter, lane(1))).toBeNull();
    mustEnter(await waiting)[Symbol.dispose]();
    expect(tryAcquire(limiter, lane(1))).not.toBeNull();
  });

  test("who leaves the line is passed over and takes no permit along", async () => {
    const limiter = createConcurrencyLimiter(OWN_SLOTS);
    const permit = mustEnter(tryAcquire(limiter, lane(1)));
    const impatient = new AbortController();
    const left = acquire(limiter, lane(1), impatient.signal);
    const stayed = acquire(limiter, lane(1), never);
    impatient.abort();
    expect(await left).toBeNull();
    permit[Symbol.dispose]();
    mustEnter(await stayed)[Symbol.dispose]();
    const aborted = new AbortController();
    aborted.abort();
    expect(await acquire(limiter, lane(1), aborted.signal)).toBeNull();
    expect(tryAcquire(limiter, lane(1))).not.toBeNull();
  });

  test("releasing twice gives back one permit only", () => {
    const limiter = createConcurrencyLimiter(OWN_SLOTS);
    const first = mustEnter(tryAcquire(limiter, lane(2)));
    mustEnter(tryAcquire(limiter, lane(2)));
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(tryAcquire(limiter, lane(2))).not.toBeNull();
    expect(tryAcquire(limiter, lane(2))).toBeNull();
  });

  test("lanes do not hinder one another", () => {
    const limiter = createConcurrencyLimiter(OWN_SLOTS);
    expect(tryAcquire(limiter, lane(1, "one host"))).not.toBeNull();
    expect(tryAcquire(limiter, lane(1, "other host"))).not.toBeNull();
    expect(tryAcquire(limiter, lane(1, "one host"))).toBeNull();
  });

  test("a raised cap that the next request brings lets the line move at once, a lowered one is reached as permits come back", async () => {
    const limiter = createConcurrencyLimiter(OWN_SLOTS);
    const permits = [mustEnter(tryAcquire(limiter, lane(1)))];
    const waiting = [acquire(limiter, lane(1), never), acquire(limiter, lane(1), never)];
    expect(tryAcquire(limiter, lane(3))).toBeNull();
    for (const wait of waiting) permits.push(mustEnter(await wait));
    expect(tryAcquire(limiter, lane(1))).toBeNull();
    permits.pop()?.[Symbol.dispose]();
    permits.pop()?.[Symbol.dispose]();
    expect(tryAcquire(limiter, lane(1))).toBeNull();
    permits.pop()?.[Symbol.dispose]();
    expect(tryAcquire(limiter, lane(1))).not.toBeNull();
  });

  test("who entered while there was no cap counts when there is one", () => {
    const limiter = createConcurrencyLimiter(OWN_SLOTS);
    const permits = [1, 2, 3].map(() => mustEnter(tryAcquire(limiter, lane(null))));
    expect(tryAcquire(limiter, lane(3))).toBeNull();
    permits[0]?.[Symbol.dispose]();
    expect(tryAcquire(limiter, lane(3))).not.toBeNull();
  });

  test("slots that are lent come and go, and a request whose slot is taken away is told once", async () => {
    let lent = 0;
    const holders: SlotHolder[] = [];
    const limiter = createConcurrencyLimiter({
      open(_, holder) {
        holders.push(holder);
        return { allow: (limit) => Math.min(limit, lent) };
      },
    });
    const waiting = acquire(limiter, lane(3), new AbortController().signal);
    const [holder] = holders;
    expect([holder?.inUse, holder?.waiting]).toEqual([0, 1]);
    lent = 1;
    holder?.advance();
    const permit = mustEnter(await waiting);
    expect([holder?.inUse, holder?.waiting]).toEqual([1, 0]);
    expect(tryAcquire(limiter, lane(3))).toBeNull();
    const closed: string[] = [];
    permit.whenCut({
      cancel(cause) {
        closed.push(cause);
        permit[Symbol.dispose]();
      },
    });
    holder?.cut();
    holder?.cut();
    expect(closed).toEqual(["halted"]);
    expect(holder?.inUse).toBe(0);
  });

  test("a line that is full takes nobody more, and moves on for those who are in it", async () => {
    const limiter = createConcurrencyLimiter(OWN_SLOTS);
    const request = { queueName: "a", maxConcurrency: 1 };
    const permit = tryAcquire(limiter, request);
    const { signal } = new AbortController();
    const waiting = Array.from({ length: QUEUE_LENGTH_MAX }, () => acquire(limiter, request, signal));
    expect(await acquire(limiter, request, signal)).toBeNull();
    permit?.[Symbol.dispose]();
    expect(await waiting[0]).not.toBeNull();
    const second = waiting[1]?.then(() => "entered");
    expect(await Promise.race([second, Bun.sleep(0).then(() => "still waiting")])).toBe("still waiting");
  });
});

function mustEnter(permit: Permit | null): Permit {
  if (permit === null) throw new Error("no permit");
  return permit;
}

async function note(wait: Promise<Permit | null>, name: string, order: string[]): Promise<Permit | null> {
  const permit = await wait;
  order.push(name);
  return permit;
}
