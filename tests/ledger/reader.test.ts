import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProxyError } from "#kernel/errors.ts";
import type { StatsQuery } from "#stats/store.ts";
import { QuestionQueue, ReaderClient } from "#storage/threads/reader-client.ts";
import { openForReading } from "#storage/sqlite/ledger/file/database.ts";
import { type QuestionOf, type ReportName, toScript } from "#storage/reports/reports.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { each } from "#storage/sql/script.ts";
import { LeftError, untilLeft } from "#storage/threads/reader-server.ts";
import { createTestLog, DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT, writeUsages } from "./usage.ts";

const READER_WORKER = new URL("../../src/storage/sqlite/ledger/reader-worker.ts", import.meta.url);
const PAGE = { limit: 10, offset: 0 };
const REPORTS_WAITING_MAX = 1000;
const REPORTS_WAITING_PER_ASKER_MAX = 50;
const LOOKUPS_WAITING_MAX = 1000;

const folder = mkdtempSync(join(tmpdir(), "lockport-reader-"));
let databasePath = "";
beforeAll(() => {
  const { writer, reader, ...written } = writeUsages(join(folder, "ledger"), [
    { subject: SUBJECT, ending: ENDING },
  ]);
  writer.close();
  reader.close();
  databasePath = written.databasePath;
});
afterAll(() => rmSync(folder, { recursive: true }));

const RealWorker = globalThis.Worker;
const open: ReaderClient[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.stop()));
  globalThis.Worker = RealWorker;
});

/** A client whose Workers note what they are asked. */
function createClient(path = databasePath, waitMsMax: number | null = null) {
  const asked: string[] = [];
  const limits: number[] = [];
  const marks: Int32Array[] = [];
  globalThis.Worker = class extends RealWorker {
    override postMessage(...message: [any, any?]): void {
      if (message[0].kind === "start") marks.push(message[0].start.left);
      if (message[0].kind === "ask") {
        const { name, question } = message[0];
        asked.push(name);
        limits.push(question.page?.limit);
      }
      super.postMessage(...message);
    }
  };
  const { log, lines } = createTestLog();
  const client = new ReaderClient({
    workerUrl: READER_WORKER,
    place: { databasePath: path },
    log,
    waitMsMax,
  });
  open.push(client);
  return { client, asked, limits, marks, lines };
}

const LIST = ["listRequests", { query: EVERYTHING, page: PAGE }] as const;
const list = (limit: number) => ["listRequests", { query: EVERYTHING, page: { limit, offset: 0 } }] as const;
const LAST_USED = ["loadLastUsed", []] as const;

function askSeries(query: StatsQuery) {
  return ["readSeries", { ...query, bucket: "day", nowUs: NEW_YEAR_US }] as const;
}

async function causeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "no refusal",
    (cause: unknown) => cause,
  );
}

describe("the reader", () => {
  test("answers each question with its own answer, an asker's reports one at a time and in the order of asking", async () => {
    const { client, asked } = createClient();
    const [page, uses, series] = await Promise.all([
      client.ask(...LIST),
      client.ask(...LAST_USED),
      client.ask(...askSeries(EVERYTHING)),
      // Asked by now is the first report alone; a look-up does not wait for it.
      Promise.resolve().then(() => expect(asked).toEqual(["listRequests", "loadLastUsed"])),
    ]);
    expect(page).toMatchObject({ total: 1, snapped: null, truncated: false });
    expect(uses).toEqual(new Map());
    expect(series.buckets).toMatchObject([
      { startUs: NEW_YEAR_US, requests: 1, ok: 1, unpricedRequests: 1, costPico: ENDING.costPico },
    ]);
    expect(asked).toEqual(["listRequests", "loadLastUsed", "readSeries"]);
    expect(client.waitingCount).toBe(0);
  });

  test("hands over a report that it encoded, whole", async () => {
    const { client } = createClient();
    const context = { nowUs: NEW_YEAR_US, providerNames: new Map([["provider-1", "openai"]]) };
    for (let round = 0; round < 2; round += 1) {
      const { chunks } = await client.ask("readSummary", {
        ...EVERYTHING,
        grouping: "own",
        format: "json",
        context,
      });
      expect(await new Blob([...chunks]).json()).toMatchObject({ usage: [{ model: "fast", requests: 1 }] });
    }
  });

  test("passes a refusal on as it was thrown, logs nothing of it, and goes on", async () => {
    const { client, lines } = createClient();
    const window = { sinceUs: NEW_YEAR_US - 5000 * DAY_US, untilUs: null };
    const cause = await causeOf(client.ask(...askSeries({ ...EVERYTHING, window })));
    expect(cause).toBeInstanceOf(ProxyError);
    expect(cause).toMatchObject({ code: "range_too_large", param: "since", status: 400 });
    expect((await client.ask(...LIST)).total).toBe(1);
    expect(lines).toEqual([]);
  });

  test("answers internal_error for anything else, names the cause in the log only, and goes on", async () => {
    const { client, lines } = createClient(join(folder, "absent.db"));
    for (let round = 0; round < 2; round += 1) {
      const cause = await causeOf(client.ask(...LIST));
      expect(cause).toMatchObject({ code: "internal_error", message: "The report could not be read." });
    }
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain("SQLITE_CANTOPEN");
  });

  test("refuses reports past the limit of those that wait as reports_busy, and takes them again when some were answered", async () => {
    const { client, lines } = createClient();
    const ask = (asker: number) => client.ask(...LIST, { askerId: `${asker}` });
    const waiting = Array.from({ length: REPORTS_WAITING_MAX }, (_, asker) => ask(asker));
    expect(client.waitingCount).toBe(REPORTS_WAITING_MAX);
    for (let round = 0; round < 3; round += 1) {
      const cause = await causeOf(ask(REPORTS_WAITING_MAX));
      expect(cause).toMatchObject({ code: "reports_busy", status: 503, retryAfterSeconds: 5 });
    }
    expect(lines).toEqual([expect.stringContaining("too many questions are waiting")]);
    await Promise.all(waiting);
    expect((await client.ask(...LIST)).total).toBe(1);
  });

  test("refuses one asker's reports past its own limit, and takes another's", async () => {
    const { client } = createClient();
    const waiting = Array.from({ length: REPORTS_WAITING_PER_ASKER_MAX }, (_, index) =>
      client.ask(...list(index + 1)),
    );
    expect(await causeOf(client.ask(...LIST))).toMatchObject({ code: "reports_busy" });
    expect((await client.ask(...LIST, { askerId: "other" })).total).toBe(1);
    await Promise.all(waiting);
  });

  test("takes reports in turn by asker: one that asks many holds up nobody else", async () => {
    const { client, limits } = createClient();
    const loop = Array.from({ length: 20 }, (_, index) =>
      client.ask(...list(index + 1), { askerId: "loop" }),
    );
    const others = ["ann", "bob", "cid"].map((askerId, index) =>
      client.ask(...list(101 + index), { askerId }),
    );
    await Promise.all(others);
    // Two are read at a time, and those of "loop" one at a time.
    expect(limits.slice(0, 2)).toEqual([1, 101]);
    expect(limits.indexOf(102)).toBeLessThanOrEqual(3);
    expect(limits.indexOf(103)).toBeLessThanOrEqual(5);
    await Promise.all(loop);
    expect(limits.filter((limit) => limit <= 20)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });

  test("asks equal questions that wait once, for all of their askers, and never shares one that is being read", async () => {
    const { client, limits } = createClient();
    const ask = (askerId: string) => client.ask(...list(7), { askerId });
    const first = [client.ask(...list(1), { askerId: "x" }), client.ask(...list(2), { askerId: "y" })];
    const abort = new AbortController();
    const gone = causeOf(client.ask(...list(7), { askerId: "ann", signal: abort.signal }));
    const shared = ["ann", "bob", "cid", "bob"].map(ask);
    abort.abort(new Error("gone"));
    expect(await gone).toMatchObject({ message: "gone" });
    await Promise.all(first);
    // It is being read now: what has ended since is not in it.
    expect(limits).toEqual([1, 2, 7]);
    const later = ask("dan");
    expect((await Promise.all([...shared, later])).map(({ total }) => total)).toEqual([1, 1, 1, 1, 1]);
    expect(limits).toEqual([1, 2, 7, 7]);
  });

  test("tells questions apart by their windows, and not by the moment of asking", async () => {
    const { client, asked } = createClient();
    const ask = (nowUs: number, sinceUs: number) =>
      client.ask("readSeries", { ...EVERYTHING, window: { sinceUs, untilUs: null }, bucket: "day", nowUs });
    const blocking = client.ask(...LIST);
    const answers = await Promise.all([
      ask(NEW_YEAR_US, NEW_YEAR_US),
      ask(NEW_YEAR_US + DAY_US, NEW_YEAR_US),
      ask(NEW_YEAR_US, NEW_YEAR_US - DAY_US),
    ]);
    await blocking;
    // The newest moment counts for both.
    expect(answers.map(({ buckets }) => buckets.length)).toEqual([2, 2, 2]);
    expect(asked).toEqual(["listRequests", "readSeries", "readSeries"]);
  });

  test("answers look-ups before the reports that wait, and also when those are too many", async () => {
    const { client, asked } = createClient();
    const waiting = Array.from({ length: REPORTS_WAITING_MAX }, (_, asker) =>
      client.ask(...LIST, { askerId: `${asker}` }),
    );
    expect(await client.ask(...LAST_USED)).toEqual(new Map());
    expect(asked.slice(0, 3)).toEqual(["listRequests", "listRequests", "loadLastUsed"]);
    await Promise.all(waiting);
    const lookups = Array.from({ length: LOOKUPS_WAITING_MAX }, () => client.ask(...LAST_USED));
    expect(await causeOf(client.ask(...LAST_USED))).toMatchObject({ code: "reports_busy" });
    await Promise.all(lookups);
  });

  test("counts what waits for something else first, and asks it only after that", async () => {
    const { client, asked } = createClient();
    const gate = Promise.withResolvers<void>();
    const before = () => gate.promise;
    const waiting = Array.from({ length: REPORTS_WAITING_PER_ASKER_MAX }, () =>
      client.ask(...LIST, { before }),
    );
    expect(client.waitingCount).toBe(REPORTS_WAITING_PER_ASKER_MAX);
    expect(await causeOf(client.ask(...LIST, { before }))).toMatchObject({ code: "reports_busy" });
    expect(await client.ask(...LAST_USED)).toEqual(new Map());
    expect(asked).toEqual(["loadLastUsed"]);
    gate.resolve();
    await Promise.all(waiting);
  });

  test("refuses a question that cannot be put to a Worker, and asks the next one", async () => {
    const { client, lines } = createClient();
    const Working = globalThis.Worker;
    globalThis.Worker = class extends Working {
      override postMessage(): void {
        throw new Error("no thread");
      }
    };
    expect(await causeOf(client.ask(...LIST))).toMatchObject({
      code: "internal_error",
      message: "The report could not be read.",
    });
    expect(client.waitingCount).toBe(0);
    expect(lines.join("")).toContain("could not be asked");
    globalThis.Worker = Working;
    expect((await client.ask(...LIST)).total).toBe(1);
  });
});

describe("a question that has no asker any more", () => {
  test("while it waits is never asked, and leaves room for another", async () => {
    const { client, asked } = createClient();
    const abort = new AbortController();
    const first = client.ask(...LIST);
    const second = causeOf(client.ask(...askSeries(EVERYTHING), { signal: abort.signal }));
    const third = client.ask(...LAST_USED);
    abort.abort(new Error("gone"));
    expect(client.waitingCount).toBe(2);
    expect(await second).toMatchObject({ message: "gone" });
    await Promise.all([first, third]);
    expect(asked).toEqual(["listRequests", "loadLastUsed"]);
  });

  test("leaves its principal no turn in the name of the others that asked the same", () => {
    const queue = new QuestionQueue();
    const toAsker = (askerId: string) => ({ askerId, isLookup: false, resolve() {}, reject() {} });
    const [ann, another, bob] = ["ann", "ann", "bob"].map(toAsker);
    for (const asker of [ann!, another!, bob!]) queue.add(asker, { name: LIST[0], question: LIST[1] });
    const nextOfAnn = () => queue.next(({ askerId }) => askerId === "ann");
    queue.drop(ann!);
    expect(nextOfAnn()?.question.askers).toEqual(new Set([another!, bob!]));
    queue.drop(another!);
    expect(nextOfAnn()).toBeNull();
    expect(queue.next(() => true)?.asker).toBe(bob);
    queue.drop(bob!);
    expect(queue.next(() => true)).toBeNull();
  });

  test("while it is read is refused at once, and its answer is given to nobody", async () => {
    const { client, asked } = createClient();
    const abort = new AbortController();
    const first = causeOf(client.ask(...LIST, { signal: abort.signal }));
    const second = client.ask(...LAST_USED);
    abort.abort(new Error("gone"));
    expect(await first).toMatchObject({ message: "gone" });
    expect(await second).toEqual(new Map());
    expect(asked).toEqual(["listRequests", "loadLastUsed"]);
  });

  test("while it is read tells its Worker so once its last asker has left, and the next question is read whole", async () => {
    const { client, marks, lines } = createClient();
    const aborts = [new AbortController(), new AbortController()];
    // Both are asked as one, behind what is read first.
    const first = client.ask(...LIST);
    const questions = aborts.map(({ signal }) => causeOf(client.ask(...list(7), { signal })));
    await first;
    aborts[0]?.abort(new Error("gone"));
    expect(marks.map((mark) => Atomics.load(mark, 0))).toEqual([0]);
    aborts[1]?.abort(new Error("gone"));
    expect(marks.map((mark) => Atomics.load(mark, 0))).toEqual([1]);
    for (const question of questions) expect(await question).toMatchObject({ message: "gone" });
    expect((await client.ask(...LIST)).total).toBe(1);
    expect(client.waitingCount).toBe(0);
    expect(lines).toEqual([]);
  });

  test("while it is read ends before its next statement, whichever that is, and leaves no transaction open", () => {
    const context = { nowUs: NEW_YEAR_US, providerNames: new Map() };
    const summary = { ...EVERYTHING, grouping: "team", format: "json", context } as const;
    const database = openForReading(databasePath);
    const endEarly = <Name extends ReportName>(name: Name, question: QuestionOf<Name>) => {
      let left = Number.POSITIVE_INFINITY;
      let count = 0;
      const hasLeft = () => {
        count += 1;
        return (left -= 1) < 0;
      };
      const read = () => readFrom(database, untilLeft(toScript(name, question), hasLeft));
      const whole = read();
      // Some of a first question are not asked again.
      count = 0;
      read();
      const statements = count;
      expect(statements).toBeGreaterThan(2);
      for (let allowed = 0; allowed < statements; allowed += 1) {
        left = allowed;
        expect(read).toThrow(LeftError);
        expect(database.inTransaction).toBe(false);
      }
      left = Number.POSITIVE_INFINITY;
      expect(read()).toEqual(whole);
    };
    endEarly(...LIST);
    endEarly(...askSeries(EVERYTHING));
    endEarly("readSummary", summary);
    database.close();
  });

  test("while rows are read one by one ends between them", () => {
    const database = openForReading(databasePath);
    let looks = 0;
    let last = 0;
    const rowsMax = 1_000_000;
    const rows = each<{ n: number }>(
      "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?) SELECT n FROM number",
      [rowsMax],
      ({ n }) => (last = n),
    );
    expect(() =>
      readFrom(
        database,
        untilLeft(rows, () => (looks += 1) > 3),
      ),
    ).toThrow(LeftError);
    expect(last).toBeGreaterThan(1);
    expect(last).toBeLessThan(rowsMax / 10);
    // Nothing of it stays open.
    database.close(true);
  });

  test.each([
    ["has waited too long for something else", 5, { code: "reports_busy", status: 503 }],
    ["is aborted while it waits for something else", null, { message: "gone" }],
  ])("that %s is refused at once, and is never asked", async (_, waitMsMax, refusal) => {
    const { client, asked } = createClient(databasePath, waitMsMax);
    const gate = Promise.withResolvers<void>();
    const abort = new AbortController();
    const first = causeOf(client.ask(...LIST, { signal: abort.signal, before: () => gate.promise }));
    if (waitMsMax === null) abort.abort(new Error("gone"));
    expect(await first).toMatchObject(refusal);
    expect(client.waitingCount).toBe(0);
    gate.resolve();
    await gate.promise;
    expect(asked).toEqual([]);
  });

  test("before it is asked starts no Worker and asks nothing", async () => {
    const { client, asked } = createClient();
    expect(
      await causeOf(client.ask(...LIST, { signal: AbortSignal.abort(new Error("gone")) })),
    ).toMatchObject({
      message: "gone",
    });
    expect(client.waitingCount).toBe(0);
    expect(asked).toEqual([]);
  });

  test("leaves no listener on its signal, however it ended", async () => {
    const { client } = createClient();
    const { signal } = new AbortController();
    const window = { sinceUs: 0, untilUs: null };
    await client.ask(...LIST, { signal });
    await causeOf(client.ask(...askSeries({ ...EVERYTHING, window }), { signal }));
    const abort = new AbortController();
    const aborted = causeOf(client.ask(...LIST, { signal: abort.signal }));
    abort.abort();
    await aborted;
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  });
});

describe("a reader that is stopped", () => {
  test("refuses what waits, also for something else, and asks nothing more", async () => {
    const { client, asked } = createClient();
    const gate = Promise.withResolvers<void>();
    const waiting = Array.from({ length: 20 }, () => causeOf(client.ask(...LIST)));
    const arriving = causeOf(client.ask(...LAST_USED, { before: () => gate.promise }));
    await client.stop();
    for (const refusal of [(await Promise.all(waiting)).at(-1), await arriving])
      expect(refusal).toMatchObject({ code: "internal_error" });
    gate.resolve();
    expect(await causeOf(client.ask(...LIST))).toMatchObject({ code: "internal_error" });
    expect(client.waitingCount).toBe(0);
    expect(asked).not.toContain("loadLastUsed");
  });
});
