import { setDefaultTimeout, test } from "bun:test";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { runProcess } from "../support/process.ts";
import { until } from "../support/waiting.ts";
import { startLoadedSite } from "./loaded-site.ts";
import type { Site } from "./site.ts";

setDefaultTimeout(120_000);

test.skipIf(postgresMissing !== null)(
  "replicas of a PostgreSQL that was restored to an older state bring the missing usage back by themselves, once",
  async () => {
    await using site = await startLoadedSite({ replicas: 2, server: await sharedPostgres() });
    const { ledger, replicas } = site;
    const load = site.load(4);
    await site.untilEnded(100);
    const dumped = await dump(site);
    await site.untilEnded(ledger.ended.size + 150);
    for (const { network } of replicas) network.refuse();
    await restore(site, dumped);
    for (const { network } of replicas) network.resume();
    // Under load, and not only by their end.
    await untilRecorded(site, ledger.ended.size);
    await load.stop();
    await site.checkRecorded();
  },
);

async function untilRecorded(site: Site, count: number): Promise<void> {
  for (const replica of site.replicas) {
    await until(
      async () => {
        const response = await site.ask(replica, "GET", "/stats/requests?limit=1");
        const text = await response.text();
        return response.status === 200 && JSON.parse(text).total >= count;
      },
      () => `${count} requests are recorded`,
    );
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
