import { expect } from "bun:test";
import { startLoad, startMixedUpstream, type Ledger, type Load } from "../binary/mixed-load.ts";
import { type Chance, createChance } from "../support/chance.ts";
import { provide } from "../support/installation.ts";
import { checkPostgresLedger } from "../support/postgres-totals.ts";
import { readNumber } from "../support/scale.ts";
import { until } from "../support/waiting.ts";
import { startSite, type Replica, type Site, type SiteOptions } from "./site.ts";

const PRICES = { input_tokens: 2.5, output_tokens: 10 };

/** A site with a provider of mixed answers, and what its callers were told. */
export interface LoadedSite extends Site {
  /** From `LOCKPORT_SEED` where it is set. */
  readonly chance: Chance;
  readonly ledger: Ledger;
  /** So many callers of each replica, until `stop`. */
  load(callers: number, replicas?: readonly Replica[]): Load;
  /** Until so many requests have ended since the start. */
  untilEnded(count: number): Promise<void>;
  /**
   * Ends the replicas and checks invariants 1 and 2 over all of them: one event for each request that reached its upstream,
   * none twice and none invented, and totals that are the sum of the events to the pico. Returns how many events there are.
   */
  checkRecorded(): Promise<number>;
}

export async function startLoadedSite(options: SiteOptions): Promise<LoadedSite> {
  const chance = createChance(readNumber("LOCKPORT_SEED"));
  const ledger: Ledger = { sent: new Set(), ended: new Map(), keys: new Set() };
  await using opened = new AsyncDisposableStack();
  const upstream = await startMixedUpstream();
  opened.defer(() => upstream.stop());
  const site = opened.use(await startSite(options));
  const { adminKey, replicas, schema } = site;
  const provider = { name: "mixed", baseUrl: upstream.baseUrl, models: { m: "um" }, pricing: PRICES };
  await provide(replicas[0]?.url ?? "", adminKey, provider);
  const ending = opened.move();
  return {
    ...site,
    chance,
    ledger,
    load(callers, loaded = replicas) {
      const loads = loaded.map(({ url }) =>
        startLoad({ url, key: adminKey, upstream, chance, ledger, callers, onEnded: () => {} }),
      );
      const stop = async () => void (await Promise.all(loads.map((each) => each.stop())));
      ending.defer(stop);
      return { stop };
    },
    untilEnded: (count) =>
      until(
        () => ledger.ended.size >= count,
        () => `${count} requests have ended`,
      ),
    async checkRecorded() {
      for (const { process } of replicas) expect(await process.stop()).toBe(0);
      const events = await checkPostgresLedger(schema, {
        arrivals: upstream.arrivals,
        ended: ledger.ended.keys(),
        sent: ledger.sent,
      });
      const checked = await site.run("ledger", "check", "--json");
      expect({ code: checked.code, messages: checked.messages }).toEqual({ code: 0, messages: "" });
      return events.length;
    },
    [Symbol.asyncDispose]: () => ending.disposeAsync(),
  };
}
