import { expect, test } from "bun:test";
import { type KeptResponse, type ResponseStore } from "#catalog/kept-response.ts";
import { KEPT_AT_ONCE_MAX, KeptResponses, MadeResponse } from "#forward/kept-responses.ts";
import { createSystemClock } from "#kernel/clock.ts";
import { createSecretBox } from "#kernel/crypto.ts";
import { createLog } from "#kernel/log.ts";
import { createUsageMetrics } from "#usage/metrics.ts";
import { SUBJECT } from "../ledger/usage.ts";

const LANE = 7;

/** `keep` is what the store does with each batch. */
function startKept(
  keep: (batch: readonly KeptResponse[]) => Promise<readonly KeptResponse[] | void>,
  days = 30,
  isWritten = () => false,
) {
  const marked: string[] = [];
  const lines: string[] = [];
  const unused = () => Promise.reject(new Error("not asked for"));
  const store: ResponseStore = {
    keep: async (batch) => (await keep(batch)) ?? [],
    find: unused,
    markSettled: async ({ idHash }) => void marked.push(idHash),
    remove: unused,
    removeExpired: unused,
    listOrphans: unused,
  };
  const responses = new KeptResponses({
    store,
    secrets: createSecretBox(new Uint8Array(32).fill(3)),
    settlements: { settle: unused, isSettled: async () => isWritten() },
    catalog: { snapshot: unused },
    metrics: createUsageMetrics(),
    clock: createSystemClock(),
    log: createLog({ level: "debug", json: true, write: (line) => lines.push(line), timestamp: () => "" }),
    lane: LANE,
    days,
  });
  const keepOne = (id: string, principalId = "p", isSettled = true) =>
    responses.keep({ ...SUBJECT, principalId }, { id, modelId: "m", isSettled });
  return { responses, marked, keepOne, lines };
}

test("responses that are answered in one moment are written together, so many at once, and each waits for its own", async () => {
  const batches: number[] = [];
  const { keepOne } = startKept(async (batch) => void batches.push(batch.length));
  const count = 2 * KEPT_AT_ONCE_MAX + 5;
  const keys = await Promise.all(Array.from({ length: count }, (_, at) => keepOne(`resp_${at}`)));
  expect(new Set(keys.map((key) => key?.idHash)).size).toBe(count);
  expect(batches.reduce((sum, length) => sum + length, 0)).toBe(count);
  expect(Math.max(...batches)).toBe(KEPT_AT_ONCE_MAX);
  expect(batches.length).toBeLessThanOrEqual(4);
});

test("what is kept says where the response is and which request it answered, and has no id in it; of one key there is one row", async () => {
  const kept: KeptResponse[] = [];
  const { keepOne } = startKept(async (batch) => void kept.push(...batch));
  await Promise.all([keepOne("resp_one"), keepOne("resp_one"), keepOne("resp_one", "other")]);
  expect(kept.map(({ principalId }) => principalId)).toEqual(["p", "other"]);
  expect(kept[0]).toMatchObject({
    modelId: "m",
    providerId: SUBJECT.providerId,
    eventId: SUBJECT.arrivedAtUs,
    lane: LANE,
    isSettled: true,
  });
  expect(kept[0]!.idHash).toMatch(/^[0-9a-f]{64}$/);
  expect(JSON.stringify(kept)).not.toContain("resp_one");
});

test("a response whose key waits for an earlier settlement is told apart from the ones that are kept, also of one moment", async () => {
  const kept: KeptResponse[] = [];
  const { keepOne } = startKept(async (batch) => {
    kept.push(...batch);
    return batch.filter(({ principalId }) => principalId === "late");
  });
  const keys = await Promise.all([
    keepOne("resp_one", "p", false),
    keepOne("resp_one", "p", false),
    keepOne("resp_one", "late", false),
    keepOne("resp_two"),
  ]);
  expect(keys.map((key) => key?.principalId ?? null)).toEqual(["p", null, null, "p"]);
  expect(kept).toHaveLength(3);
});

test("an answer whose id cannot be written goes on without one, with a warning that does not name it, and the next one is kept", async () => {
  let isBroken = true;
  const { keepOne, lines } = startKept(async () => {
    if (isBroken) throw new Error("the disk is full");
  });
  expect(await keepOne("resp_lost")).toBeNull();
  expect(lines.join("")).toContain("not found by its id");
  expect(lines.join("")).not.toContain("resp_lost");
  isBroken = false;
  expect(await keepOne("resp_kept")).not.toBeNull();
});

test("with 0 days nothing is written", async () => {
  const { keepOne } = startKept(() => Promise.reject(new Error("written")), 0);
  expect(await keepOne("resp_one")).toBeNull();
});

test.each([
  ["a stream that has told of its end", "in_progress"],
  ["an answer that is at its end", "completed"],
])("of %s in the background the row is settled only once the ledger has its usage", async (_name, first) => {
  const kept: KeptResponse[] = [];
  let isWritten = false;
  const { responses, marked } = startKept(
    async (batch) => void kept.push(...batch),
    30,
    () => isWritten,
  );
  const made = new MadeResponse(responses, { ...SUBJECT, background: () => Promise.resolve() }, "m");
  const told = { id: "resp_bg", isBackground: true, isStored: true };
  made.answered(200);
  if (first !== "completed") await made.told({ ...told, status: first });
  const reading = {
    usage: null,
    errorKind: null,
    complete: true,
    response: { ...told, status: "completed" },
  };
  expect(await made.ended(reading)).toEqual(reading);
  expect(kept).toMatchObject([{ isSettled: false }]);
  await responses.close();
  expect(marked).toEqual([]);
  // The disk may have refused the line: a later poll settles it.
  made.recorded();
  await responses.close();
  expect(marked).toEqual([]);
  isWritten = true;
  made.recorded();
  await responses.close();
  expect(marked).toEqual([kept[0]!.idHash]);
});
