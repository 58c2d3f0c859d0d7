import { expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { startLoad, startMixedUpstream, type Ledger } from "../binary/mixed-load.ts";
import { createChance } from "../support/chance.ts";
import { provide } from "../support/installation.ts";
import { postgresMissing } from "../support/postgres.ts";
import { readNumber, scale } from "../support/scale.ts";
import { checkRecorded } from "./recorded.ts";
import { startSite, type Site } from "./site.ts";

setDefaultTimeout(1_800_000);

const KILLS = readNumber("LOCKPORT_REPLICA_KILLS") ?? 2 * scale;
const STOPS = Math.ceil(KILLS / 5);
const CALLERS = 4;
/** How long the replicas are loaded between two faults, at most. */
const PAUSE_MS_MAX = 600;
const AWAY_MS_MAX = 1_000;
const PRICES = { input_tokens: 2.5, output_tokens: 10 };

test.skipIf(postgresMissing !== null)(
  "kills of replicas and immediate stops of PostgreSQL under load lose no event, double none, and leave every total exact",
  async () => {
    const chance = createChance(readNumber("LOCKPORT_SEED"));
    const upstream = await startMixedUpstream();
    const ledger: Ledger = { sent: new Set(), ended: new Map(), keys: new Set() };
    const site = await startSite({ replicas: 3 });
    try {
      await provideMixed(site, upstream.baseUrl);
      const load = site.replicas.map((replica) =>
        startLoad({
          url: replica.url,
          key: site.adminKey,
          upstream,
          chance,
          ledger,
          callers: CALLERS,
          onEnded: () => {},
        }),
      );
      const faults = [...Array<"kill">(KILLS).fill("kill"), ...Array<"stop">(STOPS).fill("stop")];
      for (const fault of shuffle(faults, chance)) {
        await Bun.sleep(chance.below(PAUSE_MS_MAX));
        if (fault === "kill") {
          const replica = chance.pick(site.replicas);
          await replica.kill();
          await replica.restart();
        } else {
          await site.database.stop("immediate");
          await Bun.sleep(chance.below(AWAY_MS_MAX));
          await site.database.start();
        }
      }
      await Bun.sleep(PAUSE_MS_MAX);
      await Promise.all(load.map((each) => each.stop()));
      for (const { process } of site.replicas) expect(await process.stop()).toBe(0);
      const events = await checkRecorded(site, { ledger, upstream });
      expect(ledger.ended.size).toBeGreaterThan(KILLS + STOPS);
      console.log(`replicas: ${KILLS} kills, ${STOPS} stops, seed ${chance.seed}: ${events} events`);
    } finally {
      await site[Symbol.asyncDispose]();
      await upstream.stop();
    }
  },
);

test.skipIf(postgresMissing !== null)(
  "with PROXY_LEDGER_SYNC=database a response that has ended survives the loss of its replica's data folder",
  async () => {
    const chance = createChance(readNumber("LOCKPORT_SEED"));
    const upstream = await startMixedUpstream();
    const ledger: Ledger = { sent: new Set(), ended: new Map(), keys: new Set() };
    const site = await startSite({ replicas: 2, env: { PROXY_LEDGER_SYNC: "database" } });
    try {
      await provideMixed(site, upstream.baseUrl);
      const [replica, other] = site.replicas;
      if (replica === undefined || other === undefined) throw new Error("two replicas were asked for");
      const load = startLoad({
        url: replica.url,
        key: site.adminKey,
        upstream,
        chance,
        ledger,
        callers: CALLERS * 2,
        onEnded: () => {},
      });
      await Bun.sleep(1_000);
      await replica.kill();
      await load.stop();
      rmSync(replica.dataDir, { recursive: true });
      const response = await site.ask(other, "GET", "/admin/v1/requests?limit=500");
      const { requests }: { readonly requests: readonly { readonly tags: readonly string[] }[] } = JSON.parse(
        await response.text(),
      );
      const recorded = new Set(requests.flatMap(({ tags }) => tags));
      expect(ledger.ended.size).toBeGreaterThan(10);
      expect([...ledger.ended.keys()].filter((id) => !recorded.has(`id:${id}`))).toEqual([]);
      // Another folder is another spool: what was under way is lost with the disk, and nothing that had ended.
      await replica.restart();
      const later = await site.ask(replica, "POST", "/v1/chat/completions", { model: "m", messages: [] });
      // No event of it gets the lane of the lost one: the third lane ends the id.
      expect(later.headers.get("x-proxy-request-id")?.slice(-12)).toBe("000000000003");
    } finally {
      await site[Symbol.asyncDispose]();
      await upstream.stop();
    }
  },
);

function provideMixed(site: Site, baseUrl: string): Promise<void> {
  const [replica] = site.replicas;
  if (replica === undefined) throw new Error("there is no replica");
  return provide(replica.url, site.adminKey, {
    name: "mixed",
    baseUrl,
    models: { m: "um" },
    pricing: PRICES,
  });
}

function shuffle<One>(all: readonly One[], chance: ReturnType<typeof createChance>): readonly One[] {
  return all
    .map((one) => ({ one, place: chance.below(1_000_000) }))
    .sort((a, b) => a.place - b.place)
    .map(({ one }) => one);
}
