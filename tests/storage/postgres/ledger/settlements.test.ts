import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sealCells } from "#storage/cells/maintenance.ts";
import { runStep } from "#storage/postgres/ledger/maintenance.ts";
import type { Settlement } from "#usage/event.ts";
import { toSettlement } from "../../../ledger/contract-settlement.ts";
import { drain } from "../../../ledger/contract-writer.ts";
import {
  DAY_US,
  ENDING,
  NEW_YEAR_US,
  PENDING,
  SUBJECT,
  toBeginLine,
  toEndLine,
  toSettleLine,
} from "../../../ledger/usage.ts";
import { postgresMissing } from "../../../support/postgres.ts";
import { checkPostgresTotals } from "../../../support/postgres-totals.ts";
import { createDatabase, type TestDatabase } from "../support.ts";
import { createSpool } from "./writer-bench.ts";

function settle(lane: number, arrivedAtUs: number, costPico: bigint): Settlement {
  const usage = { subject: { ...SUBJECT, arrivedAtUs }, ending: PENDING };
  return toSettlement(usage, { ...ENDING, costPico }, { settledAtUs: arrivedAtUs + 9, lane }).settlement;
}

describe.skipIf(postgresMissing !== null)("an event that another replica settles", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockport-settlements-"));
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  test("is settled once, also before its own replica has brought it, by whichever of two settlements came first", async () => {
    const { postgres } = database;
    const [own, other] = [await createSpool(postgres, folder, 1), await createSpool(postgres, folder, 2)];
    own.append(1, Buffer.concat([toBeginLine(1, SUBJECT), toEndLine(1, PENDING)]));
    // Another event of the same instant, which is not the one that is meant.
    other.append(1, Buffer.concat([toBeginLine(1, SUBJECT), toEndLine(1, PENDING)]));
    const early = settle(1, SUBJECT.arrivedAtUs, 7n);
    other.append(1, Buffer.concat([toSettleLine(early), toSettleLine({ ...early, costPico: 8n })]));
    const costs = () =>
      postgres.all("SELECT lane, cost_lo FROM event WHERE id = $1 ORDER BY lane", [SUBJECT.arrivedAtUs]);

    const others = await other.openWriter();
    await drain(others);
    expect(await costs()).toEqual([{ lane: 2, cost_lo: null }]);
    expect(await postgres.all("SELECT id, lane FROM settlement")).toEqual([{ id: NEW_YEAR_US, lane: 1 }]);

    const owns = await own.openWriter();
    await drain(owns);
    const settled = [
      { lane: 1, cost_lo: 7 },
      { lane: 2, cost_lo: null },
    ];
    expect(await costs()).toEqual(settled);
    expect(await postgres.all("SELECT id FROM settlement")).toEqual([]);
    expect(await postgres.all("SELECT lane FROM pending_event")).toEqual([{ lane: 2 }]);

    // A settlement that comes later changes nothing, whoever tells it.
    own.append(1, toSettleLine(settle(1, SUBJECT.arrivedAtUs, 9n)));
    await drain(owns);
    expect(await costs()).toEqual(settled);
    await checkPostgresTotals(postgres);
    owns.close();
    others.close();
  });

  test("is settled by two replicas at once without one waiting for the other in a circle", async () => {
    const { postgres } = database;
    const spools = [await createSpool(postgres, folder, 3), await createSpool(postgres, folder, 4)];
    const events = Array.from({ length: 40 }, (_, index) => NEW_YEAR_US + 1_000 + index);
    for (const spool of spools)
      for (const [index, arrivedAtUs] of events.entries())
        spool.append(
          1,
          Buffer.concat([toBeginLine(index + 1, { ...SUBJECT, arrivedAtUs }), toEndLine(index + 1, PENDING)]),
        );
    const writers = await Promise.all(spools.map((spool) => spool.openWriter()));
    await Promise.all(writers.map(drain));
    for (const [at, spool] of spools.entries())
      for (const eventId of at === 0 ? events : events.toReversed())
        for (const lane of [3, 4]) spool.append(1, toSettleLine(settle(lane, eventId, 5n)));
    await Promise.all(writers.map(drain));
    expect(
      await postgres.all("SELECT lane, sum(cost_lo) AS cost FROM event WHERE lane > 2 GROUP BY 1 ORDER BY 1"),
    ).toEqual([
      { lane: 3, cost: 200 },
      { lane: 4, cost: 200 },
    ]);
    await checkPostgresTotals(postgres);
    for (const writer of writers) writer.close();
  });

  test("is settled while its day is sealed and others come late to it, and every total is the sum of its rows", async () => {
    const { postgres } = database;
    const [own, other] = [await createSpool(postgres, folder, 5), await createSpool(postgres, folder, 6)];
    const events = Array.from(
      { length: 120 },
      (_, index) => NEW_YEAR_US + (index % 3) * DAY_US + (index % 24) * (DAY_US / 24) + index,
    );
    for (const [index, arrivedAtUs] of events.entries())
      own.append(
        1,
        Buffer.concat([toBeginLine(index + 1, { ...SUBJECT, arrivedAtUs }), toEndLine(index + 1, PENDING)]),
      );
    const [owns, others] = [await own.openWriter(), await other.openWriter()];
    await drain(owns);
    const seal = () => runStep(postgres, () => sealCells(NEW_YEAR_US / DAY_US + 4));
    const state = { isOver: false };
    const sealing = (async () => {
      while (!state.isOver) await seal();
    })();
    for (const [index, eventId] of events.entries()) {
      const late = { ...SUBJECT, arrivedAtUs: eventId + 1_000_000 };
      other.append(1, Buffer.concat([toBeginLine(index + 1, late), toEndLine(index + 1, ENDING)]));
      other.append(1, toSettleLine(settle(5, eventId, 5n)));
      if (index % 10 === 9) await drain(others);
    }
    state.isOver = true;
    await sealing;
    while (await seal());
    await checkPostgresTotals(postgres);
    expect(await postgres.all("SELECT 1 FROM open_cell")).toEqual([]);
    expect(await postgres.all("SELECT 1 FROM pending_event WHERE lane = 5")).toEqual([]);
    owns.close();
    others.close();
  });
});
