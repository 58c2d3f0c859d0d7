import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import type { Storage } from "#storage/engine.ts";
import { folderLocks } from "#storage/files/folder-lock.ts";
import { createManualClock, DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "../ledger/usage.ts";
import { readLines } from "../support/process.ts";
import { scale } from "../support/scale.ts";
import { apiKey, FLUSH_WAIT_MS_MAX, PAGE, principal, relayToken, type LedgerEngine } from "./support.ts";

const KILLS = 2 * scale;
/** So many events are said before each kill. */
const SETTLING_KILLS_AFTER = [40, 130, 3, 260];
const KILL_ROUND_US = 1_000_000_000;

/** The promises of every engine's ledger: recording, replay, exactly once, retention, key use, gauges, and a reader beside it. */
export function testLedgerContract(engineName: string, createEngine: () => LedgerEngine): void {
  describe(`the ledger of ${engineName}`, () => {
    test("shows in the request log what ended before it was asked, and not what is still under way", async () => {
      await using engine = createEngine();
      const storage = await engine.serve();
      const running = storage.ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 5 });
      for (let index = 0; index < 3; index += 1) {
        await record(storage, NEW_YEAR_US + index);
        const askedMs = performance.now();
        const { total } = await storage.stats.listRequests(EVERYTHING, PAGE);
        const isInTime = performance.now() - askedMs < FLUSH_WAIT_MS_MAX;
        expect(total).toBeWithin(isInTime ? index + 1 : 0, index + 2);
      }
      await running.end(ENDING);
      await storage.ledger.flush();
      expect(await listArrivals(storage)).toEqual([5, 2, 1, 0].map((later) => NEW_YEAR_US + later));
    });

    test("records in the strict setting as well", async () => {
      await using engine = createEngine();
      const storage = await engine.serve({ ledgerSync: "request" });
      await Promise.all([0, 1, 2, 3].map((index) => record(storage, NEW_YEAR_US + index)));
      await record(storage, NEW_YEAR_US + 4);
      await storage.ledger.flush();
      expect((await storage.stats.listRequests(EVERYTHING, PAGE)).total).toBe(5);
    });

    test("closed and opened again has every event once, and what was under way at the close is unreachable", async () => {
      await using engine = createEngine();
      const first = await engine.serve();
      expect(first.wasServed).toBe(false);
      await record(first, NEW_YEAR_US);
      first.ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 1 });
      await first.close();
      const second = await engine.serve();
      expect(second.wasServed).toBe(true);
      await record(second, NEW_YEAR_US + 2);
      await second.ledger.flush();
      const { rows } = await second.stats.listRequests(EVERYTHING, PAGE);
      expect(rows.map((row) => [row.outcome, row.errorKind, row.statusCode, row.durationUs])).toEqual([
        ["ok", null, 200, ENDING.durationUs],
        ["unreachable", "interrupted", 502, 0],
        ["ok", null, 200, ENDING.durationUs],
      ]);
      if (!engine.keepsCommitted) expect(readdirSync(join(engine.dataDir, "journal")).length).toBe(1);
      await second.close();
      await engine.checkLedger({ eventCount: 3, isAtRest: true });
    });

    test("holds its data folder from the first look at the data until all is closed: no other server starts in between", async () => {
      await using engine = createEngine();
      const manual = createManualClock();
      const looks: boolean[] = [];
      const look = () => looks.push(folderLocks.isTaken(engine.dataDir));
      const clock = { nowUs: () => (look(), manual.nowUs()), monotonicMs: () => manual.monotonicMs() };
      const storage = await engine.serve({ clock });
      expect(looks.length).toBeGreaterThan(0);
      expect(looks).not.toContain(false);
      await storage.close();
      expect(folderLocks.isTaken(engine.dataDir)).toBe(false);
    });

    test("is served by one process: a second one is told so, and gets it when the first has closed", async () => {
      await using engine = createEngine();
      const first = await engine.serve();
      const refusal: unknown = await engine.serve().catch((cause: unknown) => cause);
      expect(refusal).toBeInstanceOf(SetupError);
      expect(String(refusal)).toContain("Another lockport serves from this folder");
      await first.close();
      await engine.serve();
    });

    test("killed at random moments loses no confirmed event, doubles none, and records its open requests as unreachable", async () => {
      await using engine = createEngine();
      const confirmed = new Set<number>();
      const announced = new Set<number>();
      for (let round = 0; round < KILLS; round += 1) {
        const linesBeforeKill = 50 + Math.floor(Math.random() * 2000);
        const child = await engine.spawn("record", NEW_YEAR_US + round * KILL_ROUND_US);
        const lines = await readUntilKilled(child, linesBeforeKill);
        for (const line of lines) {
          const [word, arrival] = line.split(" ");
          (word === "done" ? confirmed : announced).add(Number(arrival));
        }
        await engine.checkLedger();
      }
      const storage = await engine.serve({ clock: createManualClock() });
      await storage.ledger.flush();
      const { total } = await storage.stats.listRequests(EVERYTHING, { limit: 10, offset: 0 });
      await storage.close();

      const events = await engine.checkLedger({ isAtRest: true });
      expect(total).toBe(events.length);
      const ok = new Set(events.filter((event) => event.outcome === "ok").map(({ id }) => id));
      expect([...confirmed].filter((arrival) => !ok.has(arrival))).toEqual([]);
      // The ids are the arrivals themselves, so an event that was written twice would have an arrival that was not
      // announced. The line of the very last event of a round may have died in the pipe.
      const unannounced = events.filter(({ id }) => !announced.has(id));
      expect(unannounced.length).toBeLessThanOrEqual(KILLS);
      const cutOff = events.filter((event) => event.outcome !== "ok");
      expect(cutOff.length).toBeGreaterThan(0);
      expect(new Set(cutOff.map((event) => `${event.error_kind} ${event.status_code}`))).toEqual(
        new Set(["interrupted 502"]),
      );
      const opens = [...announced].filter((arrival) => !confirmed.has(arrival));
      const recorded = new Set(events.map(({ id }) => id));
      // Announced right before the kill and not yet opened: at most one a round.
      expect(opens.filter((arrival) => !recorded.has(arrival)).length).toBeLessThanOrEqual(KILLS);
    }, 60_000);

    test("killed while answers in the background are begun and settled settles each once, and loses none", async () => {
      await using engine = createEngine();
      const said: number[] = [];
      const settle = async (count: number, killAfter: number) => {
        const first = NEW_YEAR_US + said.length * 1_000;
        const child = await engine.spawn("settle", first, count, JSON.stringify(said));
        const lines = await readUntilKilled(child, killAfter);
        said.push(...lines.map(Number));
      };
      for (const killAfter of SETTLING_KILLS_AFTER) await settle(5_000, killAfter);
      // Ends by itself, and settles what is left.
      await settle(0, Number.POSITIVE_INFINITY);
      expect(said.length).toBeGreaterThan(400);
      const events = await engine.checkLedger({ isAtRest: true });
      const byId = new Map(events.map((event) => [event.id, event]));
      expect(said.filter((id) => byId.get(id)?.cost_lo !== Number(ENDING.costPico))).toEqual([]);
      // A begin that was not said is cut off, and never anything else.
      const others = events.filter(({ id }) => !said.includes(id));
      expect(others.filter(({ error_kind }) => error_kind !== "interrupted")).toEqual([]);
    }, 90_000);

    test("removes rows older than the limit, in slices, while what is younger and every total stays", async () => {
      await using engine = createEngine();
      const clock = createManualClock(NEW_YEAR_US + 100 * DAY_US);
      const storage = await engine.serve({ clock, usageRetentionDays: 30 });
      await record(storage, NEW_YEAR_US);
      for (let index = 0; index < 6000; index += 1) void record(storage, NEW_YEAR_US + DAY_US + index);
      await record(storage, NEW_YEAR_US + 90 * DAY_US);
      await storage.ledger.flush();
      await storage.maintain();
      expect(await listArrivals(storage)).toEqual([NEW_YEAR_US + 90 * DAY_US]);
      for (const bucket of ["hour", "month"] as const) {
        const window = { sinceUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + 41 * DAY_US };
        const query = bucket === "hour" ? { ...EVERYTHING, window } : EVERYTHING;
        const { buckets } = await storage.stats.readSeries({ ...query, bucket, nowUs: clock.now });
        const requests = buckets.reduce((sum, one) => sum + one.requests, 0);
        expect({ bucket, requests }).toEqual({ bucket, requests: bucket === "hour" ? 6001 : 6002 });
      }
    });

    test("applies the retention while nothing is recorded any more", async () => {
      await using engine = createEngine();
      const clock = createManualClock(NEW_YEAR_US);
      const storage = await engine.serve({ clock, usageRetentionDays: 30 });
      await record(storage, NEW_YEAR_US);
      await storage.ledger.flush();
      clock.now = NEW_YEAR_US + 29 * DAY_US;
      await storage.maintain();
      expect(await listArrivals(storage)).toEqual([NEW_YEAR_US]);
      clock.now = NEW_YEAR_US + 31 * DAY_US;
      await storage.maintain();
      expect(await listArrivals(storage)).toEqual([]);
    });

    test("has the last use of a key right away, after the process, never an earlier one, and none once the key is deleted", async () => {
      await using engine = createEngine();
      const first = await engine.serve();
      await first.identity.createPrincipal(principal("ann"), null);
      for (const name of ["one", "two"])
        await first.identity.keys.create(apiKey(name, "principal-ann"), null);
      await first.identity.relayTokens.create(relayToken("three", "principal-ann"), null);
      const ids = ["key-one", "key-two", "token-three", "never"];
      for (const [index, id] of ids.slice(0, 3).entries()) first.keyUse.saveLastUsed(id, 10 + index);
      const used = new Map(ids.slice(0, 3).map((id, index) => [id, 10 + index]));
      expect(await first.keyUse.loadLastUsed(ids)).toEqual(used);
      await first.close();
      const reader = await engine.openReader();
      expect(await reader.loadLastUsed(ids)).toEqual(used);
      const second = await engine.serve();
      second.keyUse.saveLastUsed("key-one", 5);
      await second.maintain();
      expect(await second.keyUse.loadLastUsed(ids)).toEqual(used);
      await second.identity.keys.delete({ id: "key-two" }, null);
      await second.maintain();
      used.delete("key-two");
      expect(await second.keyUse.loadLastUsed(ids)).toEqual(used);
    });

    test("tells by its gauges what is committed and what waits", async () => {
      await using engine = createEngine();
      const storage = await engine.serve();
      for (let index = 0; index < 3; index += 1) await record(storage, NEW_YEAR_US + index);
      await storage.ledger.flush();
      expect(storage.ledgerGauges()).toMatchObject({
        writerRunning: true,
        writerEvents: 3,
        writerFailures: 0,
        combinations: 1,
        journalPendingBytes: 0,
        journalUncommittedBytes: 0,
        readerWaiting: 0,
      });
    });
  });

  describe(`a reader beside the server of ${engineName}`, () => {
    test("takes no lock, and has after settling what had ended before", async () => {
      await using engine = createEngine();
      const reader = await engine.openReader();
      const storage = await engine.serve();
      for (let count = 1; count <= 5; count += 1) {
        await record(storage, NEW_YEAR_US + count);
        // It waits for so long and no longer, which a busy machine may pass: then it says what is left.
        while ((await reader.settle()) > 0);
        expect((await reader.stats.listRequests(EVERYTHING, PAGE)).total).toBe(count);
      }
      await storage.close();
      // The data is free for the next server while the reader is open.
      const next = await engine.serve();
      expect((await reader.stats.listRequests(EVERYTHING, PAGE)).total).toBe(5);
      await next.close();
      await reader.close();
    });

    test("of data that no server has had answers every report as empty and makes nothing; once there is some it reads it", async () => {
      await using engine = createEngine();
      const reader = await engine.openReader();
      const context = { nowUs: NEW_YEAR_US, providerNames: new Map<string, string>() };
      expect(await reader.settle()).toBe(0);
      expect(await reader.stats.listRequests(EVERYTHING, PAGE)).toMatchObject({ rows: [], total: 0 });
      const series = await reader.stats.readSeries({ ...EVERYTHING, bucket: "day", nowUs: NEW_YEAR_US });
      expect(series.buckets).toEqual([]);
      const asked = { ...EVERYTHING, grouping: "team", format: "json", context } as const;
      const summary = await reader.stats.readSummary(asked);
      expect(await new Blob([...summary.chunks]).json()).toEqual({ usage: [] });
      expect(await reader.stats.readFacets({ ...EVERYTHING, context })).toMatchObject({ models: [] });
      const errors = await reader.stats.readErrors({ ...EVERYTHING, bucket: "day", context });
      expect(await new Blob([...errors.chunks]).json()).toMatchObject({ series: [], breakdown: [] });
      expect(await reader.loadLastUsed(["key-1"])).toEqual(new Map());
      expect(readdirSync(engine.dataDir)).toEqual([]);

      const storage = await engine.serve();
      await record(storage, NEW_YEAR_US);
      await storage.close();
      expect((await reader.stats.listRequests(EVERYTHING, PAGE)).total).toBe(1);
      await reader.close();
    });
  });
}

async function record({ ledger }: Pick<Storage, "ledger">, arrivedAtUs: number): Promise<void> {
  await ledger.open({ ...SUBJECT, arrivedAtUs }).end(ENDING);
}

async function listArrivals({ stats }: Pick<Storage, "stats">): Promise<number[]> {
  const { rows, total } = await stats.listRequests(EVERYTHING, PAGE);
  expect(total).toBe(rows.length);
  return rows.map((row) => row.arrivedAtUs);
}

/** The lines of a process that is killed after so many of them: no clock decides where. */
async function readUntilKilled(
  child: Awaited<ReturnType<LedgerEngine["spawn"]>>,
  linesBeforeKill: number,
): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of readLines(child.stdout))
    if (lines.push(line) >= linesBeforeKill) child.kill("SIGKILL");
  await child.exited;
  expect(child.signalCode).toBe(linesBeforeKill === Number.POSITIVE_INFINITY ? null : "SIGKILL");
  return lines;
}
