import { sleep } from "#kernel/timer.ts";

/** How a server that is stopped lets its callers go. */
export interface Departure {
  /** It goes on listening until load balancers know and no request has come for this time. */
  readonly quietMs: number;
  /** It listens no longer than this: a load balancer looks at `/healthz` once in a second or two. */
  readonly listeningMsMax: number;
  /** Connections that were made before it stopped listening send their first request within this time. */
  readonly settleMs: number;
}

export const DEPARTURE: Departure = { quietMs: 250, listeningMsMax: 5_000, settleMs: 100 };

interface Traffic {
  /** When the newest request arrived. */
  latestArrivalUs(): number;
  /** True while a load balancer has not been told. */
  awaitsHealthCheck(): boolean;
}

interface Quiet {
  readonly quietMs: number;
  readonly limitMs: number;
  readonly hurry: AbortSignal | undefined;
}

/** Fulfilled when load balancers know and no request has come for `quietMs`, after `limitMs`, or when `hurry` aborts. */
export async function untilQuiet(traffic: Traffic, { quietMs, limitMs, hurry }: Quiet): Promise<void> {
  let seenUs = traffic.latestArrivalUs();
  for (let leftMs = limitMs; leftMs > 0; leftMs -= quietMs) {
    await sleep(Math.min(quietMs, leftMs), hurry);
    if (hurry?.aborted === true) return;
    const latestUs = traffic.latestArrivalUs();
    if (latestUs === seenUs && !traffic.awaitsHealthCheck()) return;
    seenUs = latestUs;
  }
}
