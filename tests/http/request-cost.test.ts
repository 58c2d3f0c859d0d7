import { heapStats } from "bun:jsc";
import { afterEach, expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { createBodyMemory } from "#http/door/body-memory.ts";
import { createFailures } from "#http/door/failures.ts";
import { createHostRule } from "#http/door/host.ts";
import { createRefusals } from "#http/door/refusals.ts";
import { createIngress } from "#http/ingress/v1.ts";
import { Drain } from "#http/door/connections.ts";
import { createArrivals } from "#kernel/ids.ts";
import { createSystemClock } from "#kernel/clock.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import { openForWriting, prepareUsageDatabase } from "#storage/sqlite/ledger/file/database.ts";
import { ENDING, LineEncoder, SUBJECT } from "../ledger/usage.ts";
import { apiKey } from "../storage/support.ts";
import { makeFolder } from "../support/folder.ts";
import { openSqliteWriter } from "../support/sqlite-writer.ts";
import { CHAT, COMPLETION } from "../forward/harness.ts";
import { startPair, stopPairs } from "../forward/pair.ts";

const MIB = 1024 * 1024;
const running: { stop(force: true): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop(true);
  await stopPairs();
});

/** The data plane behind a socket, with a caller that is known, counting what it asks for. */
async function startCounted() {
  const { proxy } = await startPair((call) => call.reply({ body: COMPLETION }));
  const asked: string[] = [];
  const hosts = createHostRule({
    host: "127.0.0.1",
    publicUrl: null,
    allowedHosts: [],
    maxBodyBytes: MIB,
    adminPasswordEnabled: false,
  });
  const silent = () => undefined;
  const clock = createSystemClock();
  const log = { debug: silent, info: silent, warn: silent, error: silent };
  const ingress = createIngress({
    clock,
    arrivals: createArrivals(clock),
    drain: new Drain(),
    failures: createFailures(log, createRefusals(log, clock)),
    hosts,
    door: {
      admit: () => ({
        principal: {
          id: "p",
          name: "ada",
          kind: "user",
          role: "member",
          enabled: true,
          createdAtUs: 0,
          tags: [],
        },
        fixedTags: [],
        credential: { kind: "key", key: apiKey("k", "p"), isFormer: false },
      }),
      checkBrowser: silent,
    },
    exchange: proxy.exchange,
    maxBodyBytes: MIB,
    memory: createBodyMemory({ bytesMax: MIB }),
  });
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    fetch(request) {
      const { promise, resolve } = Promise.withResolvers<Response>();
      const counted = countAsked(request, asked);
      const connections = {
        timeout: () => void asked.push("timeout"),
        requestIP() {
          asked.push("requestIP");
          return null;
        },
      };
      void ingress.serve({ name: "chat", id: "" }, counted, connections).then(resolve);
      return promise;
    },
  });
  running.push(server);
  const post = async (): Promise<readonly string[]> => {
    asked.length = 0;
    const restore = countMade(asked);
    const headers = { "content-type": "application/json" };
    const url = `http://127.0.0.1:${server.port}/`;
    const response = await fetch(url, { method: "POST", body: JSON.stringify(CHAT), headers });
    expect(await response.text()).toBe(COMPLETION);
    restore();
    return [...asked];
  };
  return { post };
}

/** Notes each time that a request is asked for what the runtime makes only then. */
function countAsked(request: Request, asked: string[]): Request {
  for (const name of ["body", "signal"] as const) {
    const found = Object.getOwnPropertyDescriptor(Request.prototype, name);
    Object.defineProperty(request, name, {
      get() {
        asked.push(name);
        return found?.get?.call(request);
      },
    });
  }
  return request;
}

function countMade(asked: string[]): () => void {
  const { AbortController: Controller, ReadableStream: Stream } = globalThis;
  const count = <Made extends object>(made: Made, name: string): Made =>
    new Proxy(made, {
      construct(target, args, newTarget) {
        asked.push(name);
        return Reflect.construct(target as never, args, newTarget);
      },
    });
  globalThis.AbortController = count(Controller, "AbortController");
  globalThis.ReadableStream = count(Stream, "ReadableStream");
  return () => {
    globalThis.AbortController = Controller;
    globalThis.ReadableStream = Stream;
  };
}

test("a short unary request on a kept connection makes neither abort controller nor stream, and asks once whether its caller has left", async () => {
  const { post } = await startCounted();
  // A new connection tells by a stream when it stands.
  expect(await post()).toContain("ReadableStream");
  // On a machine that is busy one may last, and asks for more.
  const costs: string[] = [];
  for (let count = 0; count < 20; count += 1) costs.push((await post()).join(" "));
  expect(costs).toContain("signal");
});

/** [scene, its requests, bytes of the engine's cells, objects], each a seventh above what is seen. */
const ALLOCATED = [
  ["unary", 1_000, 9_200, 120],
  ["stream", 250, 24_400, 188],
  ["open-stream", 0, 4_050, 53],
] as const;

test.each(ALLOCATED)(
  "a request (%s) allocates, or holds while it is open, no more bytes and objects than it needs",
  async (scene, requests, bytesMax, objectsMax) => {
    const { measure } = await import("../../bench/heap.ts");
    let seen = await measure("Lockport", scene, requests);
    // On a machine that is busy some last, and are watched: the least of three is what they need.
    for (let again = 0; again < 2 && seen.objects >= objectsMax; again += 1)
      seen = await measure("Lockport", scene, requests);
    const { cellBytes, objects } = seen;
    expect(cellBytes).toBeLessThan(bytesMax);
    expect(objects).toBeLessThan(objectsMax);
    // A count in which something was collected would show nothing.
    expect(objects).toBeGreaterThan(objectsMax / 3);
  },
  60_000,
);

function countHeap(): { readonly objects: number; readonly bytes: number } {
  const { heapCapacity, objectTypeCounts } = heapStats();
  return { objects: Object.values(objectTypeCounts).reduce((sum, of) => sum + of), bytes: heapCapacity };
}

/** A seventh above what is seen. */
const EVENT_OBJECTS_MAX = 15;
const EVENT_BYTES_MAX = 830;

test("the writer makes no more of an event than its begin, its end, their sums and its row need", () => {
  const folder = makeFolder();
  const databasePath = join(folder.path, "usage.db");
  prepareUsageDatabase(databasePath);
  const database = openForWriting(databasePath);
  database.run("PRAGMA synchronous = OFF");
  const writer = openSqliteWriter({ database, journalDirectory: folder.path, onDamage: () => undefined });
  const encoder = new LineEncoder();
  const usage = { shape: "inclusive", quantities: { input_tokens: 21, output_tokens: 8 } } as const;
  let sequence = 0;
  const writeEvents = (count: number) => {
    const lines = Array.from({ length: count }, () => {
      const subject = { ...SUBJECT, arrivedAtUs: SUBJECT.arrivedAtUs + (sequence += 1) };
      return [encoder.begin(1, sequence, subject), encoder.end(1, sequence, { ...ENDING, usage })];
    });
    appendFileSync(segmentPath(folder.path, 1), Buffer.concat(lines.flat()));
    Bun.gc(true);
    const before = countHeap();
    while (writer.writeBatch());
    const after = countHeap();
    return {
      objects: (after.objects - before.objects) / count,
      bytes: (after.bytes - before.bytes) / count,
    };
  };
  // Until all of it is compiled.
  for (let round = 0; round < 8; round += 1) writeEvents(2_000);
  const { objects, bytes } = writeEvents(2_000);
  writer.close();
  folder.remove();
  expect(objects).toBeLessThan(EVENT_OBJECTS_MAX);
  // A count in which something was collected would show nothing.
  expect(objects).toBeGreaterThan(EVENT_OBJECTS_MAX / 3);
  expect(bytes).toBeLessThan(EVENT_BYTES_MAX);
});
