import { expect, setDefaultTimeout, test } from "bun:test";
import { createChance } from "../support/chance.ts";
import { callApi, provide } from "../support/installation.ts";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { readNumber, scale } from "../support/scale.ts";
import { startUpstream } from "../support/upstream.ts";
import { startSite, type Replica } from "./site.ts";

setDefaultTimeout(120_000);

const AMOUNT = 20;
/** What a replica does not know of the others yet: what is read every 750 ms, or heard every 250, and the time until it is there. */
const UNKNOWN_MS_MAX = 4_000;
const TWO_READS_MS = 1_600;
const ANSWER = '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}';

test.skipIf(postgresMissing !== null)(
  "a limit of requests is one budget over all replicas, and what each has counted itself is never forgotten",
  async () => {
    const upstream = await startUpstream({ script: (call) => call.reply({ body: ANSWER }) });
    const site = await startSite({ replicas: 2, server: await sharedPostgres() });
    try {
      const [one, two] = site.replicas;
      if (one === undefined || two === undefined) throw new Error("two replicas");
      await provide(one.url, site.adminKey, { name: "p", baseUrl: upstream.baseUrl, models: { m: "um" } });
      const limit = {
        name: "daily",
        subject: {},
        measure: "requests",
        window: "day",
        amount: AMOUNT,
      };
      expect((await site.ask(one, "POST", "/admin/v1/limits", limit)).status).toBe(201);
      const send = async (replica: Replica, count: number) => {
        const statuses: number[] = [];
        for (let index = 0; index < count; index += 1) {
          const body = { model: "m", messages: [] };
          const response = await callApi(replica.url, site.adminKey, "POST", "/v1/chat/completions", body);
          await response.arrayBuffer();
          statuses.push(response.status);
        }
        return { served: statuses.filter((status) => status === 200).length, last: statuses.at(-1) };
      };
      const used = async (replica: Replica) => {
        const answer = await site.ask(replica, "GET", "/admin/v1/limits");
        return Number(JSON.parse(await answer.text()).limits[0]?.used);
      };
      const knows = async (replica: Replica, amount: number) => {
        const sinceMs = performance.now();
        while ((await used(replica)) !== amount) {
          if (performance.now() - sinceMs > UNKNOWN_MS_MAX)
            throw new Error(`it knows of ${await used(replica)}`);
          await Bun.sleep(50);
        }
      };
      expect(await send(one, 12)).toEqual({ served: 12, last: 200 });
      expect(await used(one)).toBe(12);
      await knows(two, 12);
      expect(await send(two, 10)).toEqual({ served: 8, last: 429 });
      await knows(one, AMOUNT);
      expect(await send(one, 3)).toEqual({ served: 0, last: 429 });
      // Read again and again, it stays what it is.
      await Bun.sleep(TWO_READS_MS);
      expect([await used(one), await used(two)]).toEqual([AMOUNT, AMOUNT]);
    } finally {
      await site[Symbol.asyncDispose]();
      await upstream.stop();
    }
  },
);

const AT_ONCE = 6;
/** Callers of each replica: together five times the amount. */
const CALLERS = [16, 9, 5];
/** A rush is over: what others let in at its beginning is known, and has ended. */
const RUSH_MS = 1_500;
const LOAD_MS = 2_500 * scale;
/** A silent replica is given up after 5 s at least, which the others know half a second later; and what this machine is slow by. */
const GIVEN_UP_MS_MAX = 5_500 + 1_500;

test.skipIf(postgresMissing !== null)(
  "a limit of concurrent requests counts what is open on all replicas, and not what a killed one had",
  async () => {
    const chance = createChance(readNumber("LOCKPORT_SEED"));
    let [open, most, served, isHeld] = [0, 0, 0, false];
    const upstream = await startUpstream({
      script: async (call) => {
        open += 1;
        most = Math.max(most, open);
        await Promise.race([isHeld ? call.closed : Bun.sleep(20 + chance.below(80)), call.closed]);
        open -= 1;
        served += 1;
        await call.reply({ body: ANSWER });
      },
    });
    const server = await sharedPostgres();
    const site = await startSite({ replicas: 3, server, env: { PROXY_DATABASE_GRACE: "3s" } });
    try {
      const [one, two, three] = site.replicas;
      if (one === undefined || two === undefined || three === undefined) throw new Error("three replicas");
      await provide(one.url, site.adminKey, { name: "p", baseUrl: upstream.baseUrl, models: { m: "um" } });
      const limit = { name: "at once", subject: {}, measure: "concurrent", amount: AT_ONCE };
      expect((await site.ask(one, "POST", "/admin/v1/limits", limit)).status).toBe(201);
      const complete = async ({ url }: Replica) => {
        const body = { model: "m", messages: [] };
        const response = await callApi(url, site.adminKey, "POST", "/v1/chat/completions", body);
        return { status: response.status, text: await response.text() };
      };
      const used = async (replica: Replica) => {
        const answer = await site.ask(replica, "GET", "/admin/v1/limits");
        return Number(JSON.parse(await answer.text()).limits[0]?.used);
      };
      const until = async (isSo: () => Promise<boolean>, waitMsMax: number) => {
        const sinceMs = performance.now();
        while (!(await isSo())) {
          if (performance.now() - sinceMs > waitMsMax) throw new Error("it did not come to that");
          await Bun.sleep(20);
        }
      };

      const stopping = new AbortController();
      const callers = site.replicas.flatMap((replica, index) =>
        Array.from({ length: CALLERS[index] ?? 0 }, async () => {
          while (!stopping.signal.aborted) if ((await complete(replica)).status !== 200) await Bun.sleep(10);
        }),
      );
      await Bun.sleep(RUSH_MS);
      const rush = most;
      [most, served] = [open, 0];
      await Bun.sleep(LOAD_MS);
      stopping.abort();
      await Promise.all(callers);
      console.log(`limits: at most ${most} of ${AT_ONCE} open, ${rush} in the rush, ${served} served`);
      // Each replica's own are never above it.
      expect(rush).toBeLessThanOrEqual(AT_ONCE * site.replicas.length);
      expect(most).toBeLessThanOrEqual(AT_ONCE);
      expect(served).toBeGreaterThan(LOAD_MS / 100);

      await until(async () => (await used(one)) === 0, UNKNOWN_MS_MAX);
      isHeld = true;
      const hold = async () => {
        // What the others were refused a moment ago is still theirs.
        while ((await complete(one)).status === 429) await Bun.sleep(50);
      };
      const held = Array.from({ length: AT_ONCE }, () => hold().catch(() => null));
      await until(
        async () => (await used(two)) === AT_ONCE && (await used(three)) === AT_ONCE,
        UNKNOWN_MS_MAX,
      );
      const refused = await complete(two);
      expect(refused).toMatchObject({
        status: 429,
        text: expect.stringContaining("6 of 6 requests under way"),
      });
      isHeld = false;
      await one.kill();
      await Promise.all(held);
      // The killed replica still counts: the others do not know yet that it has ended.
      expect((await complete(two)).status).toBe(429);
      await until(async () => (await complete(two)).status === 200, GIVEN_UP_MS_MAX);
      await one.restart();
      expect(await used(one)).toBe(0);
      expect((await complete(one)).status).toBe(200);
    } finally {
      await site[Symbol.asyncDispose]();
      await upstream.stop();
    }
  },
);
