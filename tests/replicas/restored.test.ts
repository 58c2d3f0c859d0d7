import { expect, setDefaultTimeout, test } from "bun:test";
import { startLoad, startMixedUpstream, type Ledger } from "../binary/mixed-load.ts";
import { createChance } from "../support/chance.ts";
import { provide } from "../support/installation.ts";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { readNumber } from "../support/scale.ts";
import { checkRecorded } from "./recorded.ts";
import { runProcess } from "../support/process.ts";
import { startSite, type Site } from "./site.ts";

setDefaultTimeout(120_000);

/** For what takes a second or two on an idle machine. */
const WAIT_MS_MAX = 30_000;

test.skipIf(postgresMissing !== null)(
  "replicas of a PostgreSQL that was restored to an older state bring the missing usage back by themselves, once",
  async () => {
    const chance = createChance(readNumber("LOCKPORT_SEED"));
    const upstream = await startMixedUpstream();
    const ledger: Ledger = { sent: new Set(), ended: new Map(), keys: new Set() };
    const site = await startSite({ replicas: 2, server: await sharedPostgres() });
    try {
      const [first] = site.replicas;
      if (first === undefined) throw new Error("there is no replica");
      await provide(first.url, site.adminKey, {
        name: "mixed",
        baseUrl: upstream.baseUrl,
        models: { m: "um" },
        pricing: { input_tokens: 2.5, output_tokens: 10 },
      });
      const load = site.replicas.map((replica) =>
        startLoad({
          url: replica.url,
          key: site.adminKey,
          upstream,
          chance,
          ledger,
          callers: 4,
          onEnded: () => {},
        }),
      );
      await untilEnded(ledger, 100);
      const dumped = await dump(site);
      await untilEnded(ledger, ledger.ended.size + 150);
      for (const { network } of site.replicas) network.refuse();
      await restore(site, dumped);
      for (const { network } of site.replicas) network.resume();
      // Under load, and not only by their end.
      await untilRecorded(site, ledger.ended.size);
      await Promise.all(load.map((each) => each.stop()));
      for (const { process } of site.replicas) expect(await process.stop()).toBe(0);
      await checkRecorded(site, { ledger, upstream });
    } finally {
      await site[Symbol.asyncDispose]();
      await upstream.stop();
    }
  },
);

async function untilEnded({ ended }: Ledger, count: number): Promise<void> {
  await until(async () => ended.size >= count, `${count} requests have ended`);
}

async function untilRecorded(site: Site, count: number): Promise<void> {
  for (const replica of site.replicas) {
    await until(async () => {
      const response = await site.ask(replica, "GET", "/stats/requests?limit=1");
      const text = await response.text();
      return response.status === 200 && JSON.parse(text).total >= count;
    }, `${count} requests are recorded`);
  }
}

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + WAIT_MS_MAX;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`not in time: ${what}`);
    await Bun.sleep(20);
  }
}

/** The schema as `pg_dump` writes it. */
async function dump({ database, schema }: Site): Promise<string> {
  const dumped = await runProcess([
    `${database.binFolder}/pg_dump`,
    "--schema",
    schema.schema,
    "--dbname",
    database.url,
  ]);
  if (dumped.code !== 0) throw new Error(`pg_dump: ${dumped.messages}`);
  return dumped.data;
}

async function restore({ database, schema }: Site, dumped: string): Promise<void> {
  await database.sql(`DROP SCHEMA ${schema.schema} CASCADE`);
  const restoring = Bun.spawn({
    cmd: [`${database.binFolder}/psql`, "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", database.url],
    stdin: Buffer.from(dumped),
    stdout: "ignore",
    stderr: "inherit",
  });
  if ((await restoring.exited) !== 0) throw new Error("the dump could not be restored");
}
