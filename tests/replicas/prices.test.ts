import { expect, setDefaultTimeout, test } from "bun:test";
import { postgresMissing } from "../support/postgres.ts";
import { startServedSite } from "./served-site.ts";
import type { Replica } from "./site.ts";

setDefaultTimeout(120_000);

/** Time for both replicas to be asked before the moment as well. */
const AHEAD_MS = 3_000;
const MODEL = "/admin/v1/models/m";
const SCHEDULE = "/admin/v1/pricing/schedule";

test.skipIf(postgresMissing !== null)(
  "a price to come holds on each of two replicas from its moment on and not before, and one that the other replica took back never does",
  async () => {
    await using site = await startServedSite({ replicas: 2, provider: { pricing: { input_tokens: 1 } } });
    const [first, second] = [site.replicaAt(0), site.replicaAt(1)];
    const ask = async (replica: Replica, method: string, path: string, body?: object): Promise<any> => {
      const response = await site.ask(replica, method, path, body);
      const text = await response.text();
      expect([response.status, response.ok ? "" : text]).toEqual([200, ""]);
      return JSON.parse(text);
    };
    const momentMs = Date.now() + AHEAD_MS;
    const toCome = (price: number, ms: number) => ({
      pricing: { input_tokens: price },
      effective_from: new Date(ms).toISOString(),
    });
    await ask(first, "PATCH", MODEL, toCome(9, momentMs));
    await ask(first, "PATCH", MODEL, toCome(99, momentMs - AHEAD_MS / 3));
    const { schedule } = await ask(second, "GET", SCHEDULE);
    expect(schedule.map(({ pricing }: any) => pricing.input_tokens)).toEqual([99, 9]);
    await ask(second, "DELETE", `${SCHEDULE}/${schedule[0].id}`);
    const follow = async (replica: Replica) => {
      const counts = { before: 0, after: 0 };
      while (counts.after === 0) {
        const sentMs = Date.now();
        const { models } = await ask(replica, "GET", "/admin/v1/models");
        const { input_tokens: price } = models.find(({ alias }: any) => alias === "m").pricing;
        // An answer across the moment may have either.
        if (Date.now() < momentMs) {
          expect(price).toBe(1);
          counts.before += 1;
        } else if (sentMs > momentMs) {
          expect(price).toBe(9);
          counts.after += 1;
        } else expect([1, 9]).toContain(price);
      }
      return counts.before;
    };
    for (const before of await Promise.all([first, second].map(follow))) expect(before).toBeGreaterThan(0);
    for (const replica of [first, second]) {
      expect((await ask(replica, "GET", SCHEDULE)).schedule).toEqual([]);
      const { changes } = await ask(replica, "GET", "/admin/v1/pricing/history?model=m");
      expect(changes.map(({ price, from }: any) => [price, Date.parse(from) === momentMs])).toEqual([
        [9, true],
        [1, false],
      ]);
    }
  },
);
