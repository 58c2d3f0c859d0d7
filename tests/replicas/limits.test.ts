import { expect, setDefaultTimeout, test } from "bun:test";
import { createChance } from "../support/chance.ts";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { readNumber, scale } from "../support/scale.ts";
import { busyLimit, until } from "../support/waiting.ts";
import { type ServedSite, startServedSite } from "./served-site.ts";
import type { Replica } from "./site.ts";

setDefaultTimeout(120_000);

const AMOUNT = 20;
/** The time in which a replica does not know of the others yet: what is read every 750 ms, or heard every 250, and the time until it is there. */
const UNKNOWN_MS_MAX = 4_000;
const TWO_READS_MS = 1_600;

/** Returns what a replica says was used of the one limit. */
const readUsed = async (site: ServedSite, replica: Replica): Promise<number> =>
  Number((await site.read(replica, "/admin/v1/limits")).limits[0]?.used);

test.skipIf(postgresMissing !== null)(
  "a limit of requests is one budget over all replicas, and what each has counted itself is never forgotten",
  async () => {
    await using site = await startServedSite({ replicas: 2, server: await sharedPostgres() });
    const [one, two] = [site.replicaAt(0), site.replicaAt(1)];
    await site.makeLimit({ name: "daily", measure: "requests", window: "day", amount: AMOUNT });
    const send = async (replica: Replica, count: number) => {
      const statuses: number[] = [];
      for (let index = 0; index < count; index += 1) statuses.push((await site.complete(replica)).status);
      return { served: statuses.filter((status) => status === 200).length, last: statuses.at(-1) };
    };
    expect(await send(one, 12)).toEqual({ served: 12, last: 200 });
    expect(await readUsed(site, one)).toBe(12);
    await site.untilUsed(two, 12, UNKNOWN_MS_MAX);
    expect(await send(two, 10)).toEqual({ served: 8, last: 429 });
    await site.untilUsed(one, AMOUNT, UNKNOWN_MS_MAX);
    expect(await send(one, 3)).toEqual({ served: 0, last: 429 });
    // Read again and again, it stays what it is.
    await Bun.sleep(TWO_READS_MS);
    expect([await readUsed(site, one), await readUsed(site, two)]).toEqual([AMOUNT, AMOUNT]);
  },
);

/** Each comes at another moment of the 750 ms between two reads. */
const CHECKS = 4;

test.skipIf(postgresMissing !== null)(
  "limit check beside a replica waits until that knows what the others had recorded, and finds nothing",
  async () => {
    await using site = await startServedSite({ replicas: 2, server: await sharedPostgres() });
    const [one, two] = [site.replicaAt(0), site.replicaAt(1)];
    await site.makeLimit({ name: "daily", measure: "requests", window: "day", amount: 1000 });
    await site.makeLimit({ name: "minute", measure: "tokens", window: "minute", amount: 1_000_000 });
    for (let done = 1; done <= CHECKS; done += 1) {
      expect((await site.complete(two)).status).toBe(200);
      // Every replica tells it by the rows of the database.
      await site.untilRecorded(done);
      const checked = await site.run("limit", "check", "--json", "--data-dir", one.dataDir);
      expect(JSON.parse(checked.data)).toMatchObject({ server: one.url, findings: [] });
      expect(checked.code).toBe(0);
    }
  },
);

const AT_ONCE = 6;
/** Callers of each replica: together five times the amount. */
const CALLERS = [16, 9, 5];
/** A rush is over: what others let in at its beginning is known, and has ended. */
const RUSH_MS = 1_500;
const LOAD_MS = 2_500 * scale;
const SERVED_MIN = LOAD_MS / 100;
/** A silent replica is given up after 5 s at least, which the others know half a second later. */
const GIVEN_UP_MS_MAX = 5_500 + 1_500;

test.skipIf(postgresMissing !== null)(
  "a limit of concurrent requests counts what is open on all replicas, and not what a killed one had",
  async () => {
    const chance = createChance(readNumber("LOCKPORT_SEED"));
    await using site = await startServedSite({
      replicas: 3,
      server: await sharedPostgres(),
      env: { PROXY_DATABASE_GRACE: "3s" },
      toHoldMs: () => 20 + chance.below(80),
    });
    const { complete, upstream } = site;
    const [one, two, three] = [site.replicaAt(0), site.replicaAt(1), site.replicaAt(2)];
    await site.makeLimit({ name: "at once", measure: "concurrent", amount: AT_ONCE });

    const callers = site.startCallers(CALLERS, async (replica) => {
      if ((await complete(replica)).status !== 200) await Bun.sleep(10);
    });
    await Bun.sleep(busyLimit(RUSH_MS));
    const rush = upstream.most();
    upstream.countAnew();
    await Bun.sleep(LOAD_MS);
    await until(
      () => upstream.served() > SERVED_MIN,
      () => `${upstream.served()} requests were served`,
    );
    const [most, served] = [upstream.most(), upstream.served()];
    await callers.stop();
    console.log(`limits: at most ${most} of ${AT_ONCE} open, ${rush} in the rush, ${served} served`);
    // Each replica's own are never above it.
    expect(rush).toBeLessThanOrEqual(AT_ONCE * site.replicas.length);
    expect(most).toBeLessThanOrEqual(AT_ONCE);

    await site.untilUsed(one, 0, UNKNOWN_MS_MAX);
    upstream.hold(true);
    const hold = async () => {
      // A place that the others were refused a moment ago is still theirs.
      while ((await complete(one)).status === 429) await Bun.sleep(50);
    };
    const held = Array.from({ length: AT_ONCE }, () => hold().catch(() => null));
    await site.untilUsed(two, AT_ONCE, UNKNOWN_MS_MAX);
    await site.untilUsed(three, AT_ONCE, UNKNOWN_MS_MAX);
    const refused = await complete(two);
    expect(refused).toMatchObject({
      status: 429,
      text: expect.stringContaining("6 of 6 requests under way"),
    });
    upstream.hold(false);
    await one.kill();
    await Promise.all(held);
    // The killed replica still counts: the others do not know yet that it has ended.
    expect((await complete(two)).status).toBe(429);
    await until(
      async () => (await complete(two)).status === 200,
      () => "what a killed replica had open still counts",
      GIVEN_UP_MS_MAX,
    );
    await one.restart();
    expect(await readUsed(site, one)).toBe(0);
    expect((await complete(one)).status).toBe(200);
  },
);

test.skipIf(postgresMissing !== null)(
  "a limit of concurrent requests that was just made counts from each replica's first request on what the others hold",
  async () => {
    await using site = await startServedSite({ replicas: 3, server: await sharedPostgres() });
    const { complete, upstream } = site;
    const [one, two, three] = [site.replicaAt(0), site.replicaAt(1), site.replicaAt(2)];
    upstream.hold(true);
    const held = Array.from({ length: AT_ONCE }, () => complete(one).catch(() => null));
    await until(
      () => upstream.open() === AT_ONCE,
      () => `${upstream.open()} requests are open`,
    );
    // A request that passes from now on is answered.
    upstream.hold(false);
    await site.makeLimit({ name: "at once", measure: "concurrent", amount: AT_ONCE });
    const first = await Promise.all([complete(two), complete(three)]);
    expect(first.map(({ status, text }) => [status, text.includes("6 of 6 requests under way")])).toEqual([
      [429, true],
      [429, true],
    ]);
    expect(upstream.most()).toBe(AT_ONCE);
    // Another that is made while the one before holds, and by a replica that has nothing open.
    const made = await site.ask(two, "POST", "/admin/v1/limits", {
      name: "fewer",
      subject: {},
      measure: "concurrent",
      amount: 1,
      each: "principal",
    });
    expect(await made.json()).toMatchObject({ used: AT_ONCE });
    expect((await complete(three)).status).toBe(429);
    await one.kill();
    await Promise.all(held);
  },
);
