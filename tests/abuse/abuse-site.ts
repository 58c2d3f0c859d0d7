import { startSite, type Site } from "../faults/site.ts";
import { checkInvariants, type Figures, type Scenario } from "../invariants/invariants.ts";
import { executable } from "../support/executable.ts";
import { callApi } from "../support/installation.ts";
import type { Attempts } from "../support/invariants.ts";

/** The answer of the upstream of these tests. */
export const COMPLETION = '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}';
export const SETUP_MS_MAX = 120_000;

export interface AbuseSite extends Site {
  /** The number of requests that its upstream has had. */
  readonly arrivals: () => number;
  /** Ends it, and looks at all that must hold. */
  check(attempts?: Attempts, places?: Scenario["places"]): Promise<Figures>;
  stop(): Promise<void>;
}

/** The executable before an upstream that answers every request alike, as fast as there is. */
export async function startAbuseSite(env: Record<string, string> = {}): Promise<AbuseSite> {
  let arrivals = 0;
  const upstream = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    // A kept connection that is closed under the next request is a 502, and none of these tests is about that.
    idleTimeout: 0,
    async fetch(request) {
      arrivals += 1;
      await request.arrayBuffer();
      return new Response(COMPLETION, { headers: { "content-type": "application/json" } });
    },
  });
  const site = await startSite({
    lockport: await executable(),
    baseUrl: `http://127.0.0.1:${upstream.port}/v1`,
    more: { timeout_read: 60, timeout_connect: 10 },
    env: { PROXY_LOG: "info", ...env },
  });
  const body = { model: "m", messages: [] };
  return {
    ...site,
    arrivals: () => arrivals,
    check: (attempts = {}, places = {}) =>
      checkInvariants({
        ...site,
        ask: () => callApi(site.server.url, site.asked.key, "POST", "/v1/chat/completions", body),
        attempts,
        places,
      }),
    async stop() {
      await site.installation.remove();
      await upstream.stop(true);
    },
  };
}

/** Takes each of so many, so many at a time. */
export async function forEach(count: number, width: number, take: (index: number) => Promise<unknown>) {
  let next = 0;
  const work = async () => {
    while (next < count) await take(next++);
  };
  await Promise.all(Array.from({ length: width }, work));
}
