import { setDefaultTimeout, test } from "bun:test";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { dumpSchema, restoreSchema } from "../storage/postgres/ledger/schema-dump.ts";
import { startLoadedSite } from "./loaded-site.ts";

setDefaultTimeout(120_000);

test.skipIf(postgresMissing !== null)(
  "replicas of a PostgreSQL that was restored to an older state bring the missing usage back by themselves, once",
  async () => {
    await using site = await startLoadedSite({ replicas: 2, server: await sharedPostgres() });
    const { database, ledger, replicas, schema } = site;
    const load = site.load(4);
    await site.untilEnded(100);
    const dumped = await dumpSchema(database, schema);
    await site.untilEnded(ledger.ended.size + 150);
    for (const { network } of replicas) network.refuse();
    await restoreSchema(database, schema, dumped);
    for (const { network } of replicas) network.resume();
    // Under load, and not only by their end.
    await site.untilRecorded(ledger.ended.size);
    await load.stop();
    await site.checkRecorded();
  },
);
