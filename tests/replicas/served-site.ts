import { type Provided, provide } from "../support/installation.ts";
import { until } from "../support/waiting.ts";
import { type ScriptedUpstream, startUpstream } from "../support/upstream.ts";
import { type Replica, type Site, type SiteOptions, startSite } from "./site.ts";

const ANSWER = '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}';

export interface ServedSiteOptions extends SiteOptions {
  /** The settings that the provider is made with, beside its name and address. */
  readonly provider?: Partial<Pick<Provided, "more" | "pricing">>;
  /** The time for which the provider keeps a request open, in milliseconds. */
  readonly toHoldMs?: () => number;
}

/** A site with the model `m` at a provider that counts what is open at it. */
export interface ServedSite extends Site {
  readonly upstream: CountingUpstream;
  /** By its place, from 0. */
  readonly replicaAt: (place: number) => Replica;
  /** Asks a replica for a completion; the answer is read to its end. */
  readonly complete: (replica: Replica, headers?: Record<string, string>) => Promise<Completion>;
  /** So many callers of each replica, by its place, which ask one time after the other until `stop`. */
  readonly startCallers: (counts: readonly number[], ask: (replica: Replica) => Promise<unknown>) => Callers;
  readonly makeLimit: (limit: Record<string, unknown>) => Promise<void>;
  /** Until a replica says that so much was used of the one limit: its answer waits for nothing that others have committed. */
  readonly untilUsed: (replica: Replica, amount: number, msMax: number) => Promise<void>;
}

export interface Callers {
  /** Fulfilled when each has its last answer. */
  stop(): Promise<void>;
}

export interface Completion {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** An upstream that counts requests. */
export interface CountingUpstream {
  open(): number;
  /** Since the start, or since the last `countAnew`. */
  most(): number;
  served(): number;
  /** Leaves only what is open. */
  countAnew(): void;
  /** Keeps what comes from now on open until its caller leaves, or no longer. */
  hold(isHeld: boolean): void;
}

export async function startServedSite({
  provider,
  toHoldMs,
  ...options
}: ServedSiteOptions): Promise<ServedSite> {
  await using opened = new AsyncDisposableStack();
  const { counting, scripted } = await startCounting(toHoldMs);
  opened.defer(() => scripted.stop());
  const site = opened.use(await startSite(options));
  const replicaAt = (place: number): Replica => {
    const replica = site.replicas[place];
    if (replica === undefined) throw new Error(`there is no replica ${place}`);
    return replica;
  };
  const { baseUrl } = scripted;
  await provide(replicaAt(0).url, site.adminKey, { name: "p", baseUrl, models: { m: "um" }, ...provider });
  const ending = opened.move();
  return {
    ...site,
    upstream: counting,
    replicaAt,
    async complete(replica, headers) {
      const body = { model: "m", messages: [] };
      const response = await site.ask(replica, "POST", "/v1/chat/completions", body, headers);
      return { status: response.status, headers: response.headers, text: await response.text() };
    },
    startCallers(counts, ask) {
      const stopping = new AbortController();
      const calling = site.replicas.flatMap((replica, place) =>
        Array.from({ length: counts[place] ?? 0 }, async () => {
          while (!stopping.signal.aborted) await ask(replica);
        }),
      );
      return { stop: async () => (stopping.abort(), void (await Promise.all(calling))) };
    },
    async makeLimit(limit) {
      const made = await site.ask(replicaAt(0), "POST", "/admin/v1/limits", { subject: {}, ...limit });
      if (made.status !== 201) throw new Error(`the limit was not made: ${await made.text()}`);
    },
    async untilUsed(replica, amount, msMax) {
      let used = Number.NaN;
      await until(
        async () => {
          const { limits } = await site.read(replica, "/admin/v1/limits").catch(() => ({ limits: [] }));
          return (used = Number(limits[0]?.used)) === amount;
        },
        () => `it knows of ${used} and not of ${amount}`,
        msMax,
      );
    },
    [Symbol.asyncDispose]: () => ending.disposeAsync(),
  };
}

async function startCounting(
  toHoldMs: () => number = () => 0,
): Promise<{ readonly counting: CountingUpstream; readonly scripted: ScriptedUpstream }> {
  let [open, most, served, isHeld] = [0, 0, 0, false];
  const scripted = await startUpstream({
    script: async (call) => {
      open += 1;
      most = Math.max(most, open);
      const holdMs = toHoldMs();
      if (isHeld) await call.closed;
      else if (holdMs > 0) await Promise.race([Bun.sleep(holdMs), call.closed]);
      open -= 1;
      served += 1;
      await call.reply({ body: ANSWER });
    },
  });
  const counting: CountingUpstream = {
    open: () => open,
    most: () => most,
    served: () => served,
    countAnew() {
      [most, served] = [open, 0];
    },
    hold(nowHeld) {
      isHeld = nowHeld;
    },
  };
  return { counting, scripted };
}
