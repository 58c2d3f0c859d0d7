import { expect, setDefaultTimeout, test } from "bun:test";
import { createChance } from "../support/chance.ts";
import { callApi, provide } from "../support/installation.ts";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { readNumber, scale } from "../support/scale.ts";
import { startUpstream } from "../support/upstream.ts";
import { startSite } from "./site.ts";

setDefaultTimeout(300_000);

const CAP = 8;
const SECONDS = 2 * scale;
const ANSWER = '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}';
/** Callers of each replica: more than the cap in one, few in another. */
const CALLERS = [14, 5, 1];

test.skipIf(postgresMissing !== null)(
  `of three replicas with unequal load and kills, no more than max_concurrency requests are at a provider, and a free slot is taken within a second`,
  async () => {
    const chance = createChance(readNumber("LOCKPORT_SEED"));
    let open = 0;
    let most = 0;
    let served = 0;
    let slowestMs = 0;
    const upstream = await startUpstream({
      script: async (call) => {
        open += 1;
        most = Math.max(most, open);
        void call.closed.then(() => undefined);
        await Promise.race([Bun.sleep(20 + chance.below(80)), call.closed]);
        open -= 1;
        served += 1;
        await call.reply({ body: ANSWER });
      },
    });
    const server = await sharedPostgres();
    const site = await startSite({ replicas: 3, server, env: { PROXY_DATABASE_GRACE: "3s" } });
    try {
      const [busy, other, idle] = site.replicas;
      if (busy === undefined || other === undefined || idle === undefined) throw new Error("three replicas");
      await provide(busy.url, site.adminKey, {
        name: "p",
        baseUrl: upstream.baseUrl,
        more: { max_concurrency: CAP },
        models: { m: "um" },
      });
      const stopping = new AbortController();
      const complete = async (url: string) => {
        const response = await callApi(url, site.adminKey, "POST", "/v1/chat/completions", {
          model: "m",
          messages: [],
        });
        await response.arrayBuffer();
        return response.status;
      };
      const callers = site.replicas.flatMap((replica, index) =>
        Array.from({ length: CALLERS[index] ?? 0 }, async () => {
          while (!stopping.signal.aborted) {
            const startedMs = performance.now();
            await complete(replica.url).catch(() => Bun.sleep(20));
            if (replica === idle) slowestMs = Math.max(slowestMs, performance.now() - startedMs);
          }
        }),
      );
      const endMs = performance.now() + SECONDS * 1_000;
      while (performance.now() < endMs) {
        await Bun.sleep(300 + chance.below(700));
        await other.kill();
        await other.restart();
      }
      stopping.abort();
      await Promise.all(callers);
      expect(most).toBeGreaterThan(CAP / 2);
      expect(most).toBeLessThanOrEqual(CAP);
      expect(served).toBeGreaterThan(SECONDS * 10);
      console.log(
        `slots: at most ${most} of ${CAP} open, ${served} served, the longest of one caller ${Math.round(slowestMs)} ms`,
      );

      // Idle slots of the one go to a caller of another.
      const startedMs = performance.now();
      expect(await complete(idle.url)).toBe(200);
      expect(performance.now() - startedMs).toBeLessThan(1_000);
    } finally {
      await site[Symbol.asyncDispose]();
      await upstream.stop();
    }
  },
);
