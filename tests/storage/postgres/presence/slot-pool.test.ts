import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { migrate } from "#storage/postgres/connection/migrate.ts";
import { SlotPools } from "#storage/replicas/slot-pool.ts";
import { postgresMissing, startPostgres } from "../../../support/postgres.ts";
import { until } from "../../../support/waiting.ts";
import { ADD_REPLICA, connect, restartAs } from "../support.ts";

setDefaultTimeout(60_000);

const NEVER_MS = 600_000;

describe.skipIf(postgresMissing !== null)("a PostgreSQL that was started again", () => {
  test("gives out slots soon to a replica that knows it as the one before, and later to one that does not", async () => {
    await using server = await startPostgres({ settings: { restore_command: "false" } });
    const target = { url: server.url, schema: "lockport" };
    await using postgres = await connect(server.url, { target });
    await migrate(postgres);
    const open = async () => {
      const replicaId = crypto.randomUUID();
      await postgres.run(ADD_REPLICA, [replicaId, 1]);
      const settle = { ms: NEVER_MS, sameMs: 50 };
      return new SlotPools({ postgres, replicaId, notify: () => undefined, settle });
    };
    const ask = async (pools: SlotPools, keep: number, wanted: number) =>
      (await pools.claim({ pool: "host", limit: 8, keep, wanted })).slots;
    const knowing = await open();
    expect(await ask(knowing, 0, 2)).toBe(2);
    // On the one connection what server it is was asked for before.
    expect(await ask(knowing, 2, 2)).toBe(2);

    await server.stop("immediate");
    await server.start();
    const unknowing = await open();
    // At once it keeps what it has and gets no more, whoever it is.
    expect(await ask(knowing, 2, 3)).toBe(2);
    await until(
      async () => (await ask(knowing, 2, 3)) === 3,
      () => "it gives one to the replica that knows it",
    );
    expect(await ask(unknowing, 0, 1)).toBe(0);

    // Recovered from an archive, it begins another timeline, as a standby does that is promoted.
    await restartAs(server, "recovery");
    const isRecovered = "SELECT 1 WHERE NOT pg_is_in_recovery()";
    await until(
      async () => (await server.sql(isRecovered)).length > 0,
      () => "it takes changes",
    );
    const timeline = "SELECT timeline_id AS id FROM pg_control_checkpoint()";
    await until(
      async () => (await server.sql<{ id: number }>(timeline))[0]?.id === 2,
      () => "it has begun a timeline of its own",
    );
    for (let times = 0; times < 10; times += 1) {
      expect(await ask(knowing, 3, 4)).toBe(3);
      await Bun.sleep(20);
    }
  });
});
