import { expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import type { Chance } from "../support/chance.ts";
import { postgresMissing } from "../support/postgres.ts";
import { readNumber, scale } from "../support/scale.ts";
import { startLoadedSite } from "./loaded-site.ts";

setDefaultTimeout(1_800_000);

const KILLS = readNumber("LOCKPORT_REPLICA_KILLS") ?? 2 * scale;
const STOPS = Math.ceil(KILLS / 5);
const CALLERS = 4;
/** The time for which the replicas are loaded between two faults, at most. */
const PAUSE_MS_MAX = 300;
const AWAY_MS_MAX = 600;
/** More than may be under way at once, fewer than a page of the log. */
const ENDED_BEFORE_LOSS = 60;

test.skipIf(postgresMissing !== null)(
  "kills of replicas and immediate stops of PostgreSQL under load lose no event, double none, and leave every total exact",
  async () => {
    await using site = await startLoadedSite({ replicas: 3 });
    const { chance, ledger } = site;
    const load = site.load(CALLERS);
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
    await load.stop();
    const events = await site.checkRecorded();
    expect(ledger.ended.size).toBeGreaterThan(KILLS + STOPS);
    console.log(`replicas: ${KILLS} kills, ${STOPS} stops, seed ${chance.seed}: ${events} events`);
  },
);

test.skipIf(postgresMissing !== null)(
  "with PROXY_LEDGER_SYNC=database a response that has ended survives the loss of its replica's data folder",
  async () => {
    await using site = await startLoadedSite({ replicas: 2, env: { PROXY_LEDGER_SYNC: "database" } });
    const { ledger } = site;
    const [replica, other] = site.replicas;
    if (replica === undefined || other === undefined) throw new Error("two replicas were asked for");
    const load = site.load(CALLERS * 2, [replica]);
    await site.untilEnded(ENDED_BEFORE_LOSS);
    await replica.kill();
    await load.stop();
    rmSync(replica.dataDir, { recursive: true });
    const response = await site.ask(other, "GET", "/admin/v1/requests?limit=500");
    const { requests }: { readonly requests: readonly { readonly tags: readonly string[] }[] } = JSON.parse(
      await response.text(),
    );
    const recorded = new Set(requests.flatMap(({ tags }) => tags));
    expect([...ledger.ended.keys()].filter((id) => !recorded.has(`id:${id}`))).toEqual([]);
    // Another folder is another spool: what was under way is lost with the disk, and nothing that had ended.
    await replica.restart();
    const later = await site.ask(replica, "POST", "/v1/chat/completions", { model: "m", messages: [] });
    // No event of it gets the lane of the lost one: the third lane ends the id.
    expect(later.headers.get("x-proxy-request-id")?.slice(-12)).toBe("000000000003");
  },
);

function shuffle<One>(all: readonly One[], chance: Chance): readonly One[] {
  return all
    .map((one) => ({ one, place: chance.below(1_000_000) }))
    .sort((a, b) => a.place - b.place)
    .map(({ one }) => one);
}
