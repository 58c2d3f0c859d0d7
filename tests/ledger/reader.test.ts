import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProxyError } from "#kernel/errors.ts";
import type { StatsQuery } from "#stats/store.ts";
import { ReaderClient } from "#storage/ledger/threads/reader-client.ts";
import { createTestLog, DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT, writeUsages } from "./usage.ts";

const READER_WORKER = new URL("../../src/storage/sqlite/ledger/reader-worker.ts", import.meta.url);
const PAGE = { limit: 10, offset: 0 };
const QUERIES_WAITING_MAX = 1000;
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

/** A client whose Worker notes what it is asked. */
function createClient(path = databasePath) {
  const asked: string[] = [];
  globalThis.Worker = class extends RealWorker {
    override postMessage(...message: [any, any?]): void {
      if (message[0].kind === "ask") asked.push(message[0].asked.kind);
      super.postMessage(...message);
    }
  };
  const { log, lines } = createTestLog();
  const client = new ReaderClient({ workerUrl: READER_WORKER, databasePath: path, log });
  open.push(client);
  return { client, asked, lines };
}

const LIST = { kind: "listRequests", question: { query: EVERYTHING, page: PAGE } } as const;
const LAST_USED = { kind: "loadLastUsed", question: { ids: [] } } as const;

function askSeries(query: StatsQuery) {
  return { kind: "readSeries", question: { ...query, bucket: "day", nowUs: NEW_YEAR_US } } as const;
}

async function causeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "no refusal",
    (cause: unknown) => cause,
  );
}

describe("the reader", () => {
  test("answers each question with its own answer, one at a time and in the order of asking", async () => {
    const { client, asked } = createClient();
    const [page, uses, series] = await Promise.all([
      client.ask(LIST),
      client.ask(LAST_USED),
      client.ask(askSeries(EVERYTHING)),
      // Asked by now is the first question alone.
      Promise.resolve().then(() => expect(asked).toEqual(["listRequests"])),
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
      const { chunks } = await client.ask({
        kind: "readSummary",
        question: { ...EVERYTHING, grouping: "own", format: "json", context },
      });
      expect(await new Blob([...chunks]).json()).toMatchObject({ usage: [{ model: "fast", requests: 1 }] });
    }
  });

  test("passes a refusal on as it was thrown, logs nothing of it, and goes on", async () => {
    const { client, lines } = createClient();
    const window = { sinceUs: NEW_YEAR_US - 5000 * DAY_US, untilUs: null };
    const cause = await causeOf(client.ask(askSeries({ ...EVERYTHING, window })));
    expect(cause).toBeInstanceOf(ProxyError);
    expect(cause).toMatchObject({ code: "range_too_large", param: "since", status: 400 });
    expect((await client.ask(LIST)).total).toBe(1);
    expect(lines).toEqual([]);
  });

  test("answers internal_error for anything else, names the cause in the log only, and goes on", async () => {
    const { client, lines } = createClient(join(folder, "absent.db"));
    for (let round = 0; round < 2; round += 1) {
      const cause = await causeOf(client.ask(LIST));
      expect(cause).toMatchObject({ code: "internal_error", message: "The report could not be read." });
    }
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain("SQLITE_CANTOPEN");
  });

  test("refuses questions past the limit of those that wait, and takes them again when some were answered", async () => {
    const { client } = createClient();
    const waiting = Array.from({ length: QUERIES_WAITING_MAX }, () => client.ask(LIST));
    expect(client.waitingCount).toBe(QUERIES_WAITING_MAX);
    expect(await causeOf(client.ask(LIST))).toMatchObject({ code: "internal_error" });
    await Promise.all(waiting);
    expect((await client.ask(LIST)).total).toBe(1);
  });

  test("says refusals past the limit once in a while only, as a warning", async () => {
    const { client, lines } = createClient();
    const waiting = Array.from({ length: QUERIES_WAITING_MAX }, () => client.ask(LIST));
    for (let round = 0; round < 3; round += 1) {
      expect(await causeOf(client.ask(LIST))).toMatchObject({ code: "internal_error", isLogged: true });
    }
    expect(lines).toEqual([expect.stringContaining("too many questions are waiting")]);
    await Promise.all(waiting);
  });

  test("answers look-ups before the reports that wait, and also when those are too many", async () => {
    const { client, asked } = createClient();
    const waiting = Array.from({ length: QUERIES_WAITING_MAX }, () => client.ask(LIST));
    expect(await client.ask(LAST_USED)).toEqual(new Map());
    expect(asked.slice(0, 2)).toEqual(["listRequests", "loadLastUsed"]);
    await Promise.all(waiting);
    const lookups = Array.from({ length: LOOKUPS_WAITING_MAX + 1 }, () => client.ask(LAST_USED));
    expect(await causeOf(client.ask(LAST_USED))).toMatchObject({ code: "internal_error" });
    await Promise.all(lookups);
  });

  test("counts what waits for something else first, and asks it only after that", async () => {
    const { client, asked } = createClient();
    const gate = Promise.withResolvers<void>();
    const before = () => gate.promise;
    const waiting = Array.from({ length: QUERIES_WAITING_MAX }, () => client.ask(LIST, { before }));
    expect(client.waitingCount).toBe(QUERIES_WAITING_MAX);
    expect(await causeOf(client.ask(LIST, { before }))).toMatchObject({ code: "internal_error" });
    expect(await client.ask(LAST_USED)).toEqual(new Map());
    expect(asked).toEqual(["loadLastUsed"]);
    gate.resolve();
    await Promise.all(waiting);
    expect(asked.length).toBe(QUERIES_WAITING_MAX + 1);
  });

  test("refuses a question that cannot be put to a Worker, and asks the next one", async () => {
    const { client, lines } = createClient();
    const Working = globalThis.Worker;
    globalThis.Worker = class extends Working {
      override postMessage(): void {
        throw new Error("no thread");
      }
    };
    expect(await causeOf(client.ask(LIST))).toMatchObject({
      code: "internal_error",
      message: "The report could not be read.",
    });
    expect(client.waitingCount).toBe(0);
    expect(lines.join("")).toContain("could not be asked");
    globalThis.Worker = Working;
    expect((await client.ask(LIST)).total).toBe(1);
  });
});

describe("a question that is aborted", () => {
  test("while it waits is never asked, and leaves room for another", async () => {
    const { client, asked } = createClient();
    const abort = new AbortController();
    const first = client.ask(LIST);
    const second = causeOf(client.ask(askSeries(EVERYTHING), { signal: abort.signal }));
    const third = client.ask(LAST_USED);
    abort.abort(new Error("gone"));
    expect(client.waitingCount).toBe(2);
    expect(await second).toMatchObject({ message: "gone" });
    await Promise.all([first, third]);
    expect(asked).toEqual(["listRequests", "loadLastUsed"]);
  });

  test("while it is read is refused at once, and its answer is given to nobody", async () => {
    const { client, asked } = createClient();
    const abort = new AbortController();
    const first = causeOf(client.ask(LIST, { signal: abort.signal }));
    const second = client.ask(LAST_USED);
    abort.abort(new Error("gone"));
    expect(await first).toMatchObject({ message: "gone" });
    expect(await second).toEqual(new Map());
    expect(asked).toEqual(["listRequests", "loadLastUsed"]);
  });

  test("while it waits for something else is refused at once, and is never asked", async () => {
    const { client, asked } = createClient();
    const gate = Promise.withResolvers<void>();
    const abort = new AbortController();
    const first = causeOf(client.ask(LIST, { signal: abort.signal, before: () => gate.promise }));
    abort.abort(new Error("gone"));
    expect(await first).toMatchObject({ message: "gone" });
    expect(client.waitingCount).toBe(0);
    gate.resolve();
    expect(await client.ask(LAST_USED)).toEqual(new Map());
    expect(asked).toEqual(["loadLastUsed"]);
  });

  test("before it is asked starts no Worker and asks nothing", async () => {
    const { client, asked } = createClient();
    expect(await causeOf(client.ask(LIST, { signal: AbortSignal.abort(new Error("gone")) }))).toMatchObject({
      message: "gone",
    });
    expect(client.waitingCount).toBe(0);
    expect(asked).toEqual([]);
  });

  test("leaves no listener on its signal, however it ended", async () => {
    const { client } = createClient();
    const { signal } = new AbortController();
    const window = { sinceUs: 0, untilUs: null };
    await client.ask(LIST, { signal });
    await causeOf(client.ask(askSeries({ ...EVERYTHING, window }), { signal }));
    const abort = new AbortController();
    const aborted = causeOf(client.ask(LIST, { signal: abort.signal }));
    abort.abort();
    await aborted;
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  });
});

describe("a reader that is stopped", () => {
  test("refuses what still waits instead of leaving it without an answer", async () => {
    const { client } = createClient();
    const waiting = Array.from({ length: 20 }, () => causeOf(client.ask(LIST)));
    await client.stop();
    const answers = await Promise.all(waiting);
    expect(answers.at(-1)).toMatchObject({ code: "internal_error" });
    expect(client.waitingCount).toBe(0);
  });

  test("asks nothing more, also not what was still waiting for something else", async () => {
    const { client, asked } = createClient();
    const gate = Promise.withResolvers<void>();
    const waiting = causeOf(client.ask(LIST, { before: () => gate.promise }));
    await client.stop();
    expect(await waiting).toMatchObject({ code: "internal_error" });
    gate.resolve();
    expect(await causeOf(client.ask(LIST))).toMatchObject({ code: "internal_error" });
    expect(asked).toEqual([]);
  });
});
