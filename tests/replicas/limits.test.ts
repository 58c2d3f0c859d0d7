import { expect, setDefaultTimeout, test } from "bun:test";
import { callApi, provide } from "../support/installation.ts";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { startUpstream } from "../support/upstream.ts";
import { startSite, type Replica } from "./site.ts";

setDefaultTimeout(120_000);

const AMOUNT = 20;
/** What a replica does not know of the others yet: what is read every 750 ms, and the time until it is committed. */
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
