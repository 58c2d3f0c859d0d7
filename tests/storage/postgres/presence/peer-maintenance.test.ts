import { describe, expect, test } from "bun:test";
import { createPeerMaintenance } from "#storage/replicas/presence.ts";
import { IdleTimes, type Peer } from "#storage/replicas/replica-row.ts";
import { postgresMissing } from "../../../support/postgres.ts";
import { createTestLog } from "../../../ledger/usage.ts";
import { createFakeClock } from "../../support.ts";
import { ADD_REPLICA, createDatabase } from "../support.ts";

const SILENT = "00000000-0000-4000-8000-000000000001";
const LIVING = "00000000-0000-4000-8000-000000000002";

async function createReplicas() {
  const database = await createDatabase();
  const { postgres } = database;
  for (const [id, lane] of [
    [SILENT, 1],
    [LIVING, 2],
  ] as const)
    await postgres.run(ADD_REPLICA, [id, lane]);
  await postgres.run("UPDATE replica SET applied = 1 + 2 * lane");
  const clock = createFakeClock();
  const idleTimes = new IdleTimes();
  const { log, lines } = createTestLog();
  const deps = { postgres, clock, idleTimes, slotLeaseMs: 10_000, log };
  return { ...database, postgres, clock, idleTimes, lines, maintain: createPeerMaintenance(deps) };
}

describe.skipIf(postgresMissing !== null)("what any replica does for all", () => {
  test("a silent replica is fenced, and its slots are free only after it has had time to cut its requests", async () => {
    await using all = await createReplicas();
    const { postgres, clock, idleTimes, maintain } = all;
    await postgres.run("INSERT INTO slot_pool VALUES ('host', now(), now())");
    await postgres.run("INSERT INTO slot_lease VALUES ('host', $1, 3, 3, null, now())", [SILENT]);
    const keep = async () => {
      await postgres.run("UPDATE replica SET heartbeats = heartbeats + 1 WHERE id = $1", [LIVING]);
      const rows = await postgres.all<Peer>(
        `SELECT id::text AS id, lane, heartbeats, grace_ms AS "graceMs", is_fenced AS "isFenced" FROM replica ORDER BY lane`,
      );
      idleTimes.observe("server", rows, clock.monotonicMs());
      await maintain(rows);
      const fenced = await postgres.all<{ lane: number }>(
        "SELECT lane FROM replica WHERE is_fenced ORDER BY lane",
      );
      const leases = await postgres.all("SELECT 1 FROM slot_lease");
      return { fenced: fenced.map(({ lane }) => lane), leases: leases.length };
    };
    expect(await keep()).toEqual({ fenced: [], leases: 1 });
    clock.advanceMs(4_900);
    expect(await keep()).toEqual({ fenced: [], leases: 1 });
    clock.advanceMs(200);
    expect(await keep()).toEqual({ fenced: [1], leases: 1 });
    // Its grace of 1 s, its lease of 10 s, and 5 s more.
    clock.advanceMs(10_800);
    expect(await keep()).toEqual({ fenced: [1], leases: 1 });
    // A heartbeat: it has gone on.
    await postgres.run("UPDATE replica SET heartbeats = heartbeats + 1 WHERE id = $1", [SILENT]);
    clock.advanceMs(200);
    expect(await keep()).toEqual({ fenced: [1], leases: 1 });
    clock.advanceMs(16_100);
    expect(await keep()).toEqual({ fenced: [1], leases: 0 });
    clock.advanceMs(1_000);
    await keep();
    // Once each, with when the slots come back.
    expect(all.lines.map((line) => line.trim())).toEqual([
      "WARN  a replica is silent: changes wait for it no longer, its slots come back later lane=1 slots_in_seconds=11",
      "WARN  the slots of a silent replica are free again lane=1",
    ]);
  });

  test("the log of changes keeps what a replica has not applied, and a quarter of an hour", async () => {
    await using all = await createReplicas();
    const { postgres, clock, maintain } = all;
    await postgres.run("DELETE FROM change_log");
    await postgres.run(
      `INSERT INTO change_log (version, ordinal, token, kind, at)
       SELECT version, 1, gen_random_uuid(), 'key', clock_timestamp() - (20 - 2 * version) * interval '1 minute'
       FROM generate_series(1, 6) AS version`,
    );
    await postgres.run("UPDATE catalog_state SET version = 6");
    const versions = async () => {
      clock.advanceMs(61_000);
      await maintain([]);
      const rows = await postgres.all<{ version: number }>("SELECT version FROM change_log ORDER BY version");
      return rows.map(({ version }) => version);
    };
    // Version 2 is 16 minutes old, 3 and later ones are younger.
    expect(await versions()).toEqual([3, 4, 5, 6]);
    await postgres.run("UPDATE change_log SET at = at - interval '1 hour'");
    expect(await versions()).toEqual([3, 4, 5, 6]);
    await postgres.run("UPDATE replica SET is_fenced = true WHERE id = $1", [SILENT]);
    expect(await versions()).toEqual([5, 6]);
    // One that ended a week ago without a word.
    await postgres.run("UPDATE replica SET heard_at = now() - interval '8 days' WHERE id = $1", [SILENT]);
    await versions();
    expect(await postgres.all("SELECT lane FROM replica")).toEqual([{ lane: 2 }]);
  });
});
