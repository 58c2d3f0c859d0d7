import { afterEach, describe, expect, spyOn, test } from "bun:test";
import { heapStats } from "bun:jsc";
import { type BodyReader, createTee } from "#forward/tee.ts";
import { Cancellation, createDeadlines } from "#kernel/cancellation.ts";
import { until } from "../support/waiting.ts";
import { openCaller } from "./caller.ts";
import { SSE_DONE, SSE_USAGE, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

const running: { stop(force: true): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop(true);
  await stopPairs();
});

const KIB = 1024;
const deadlines = createDeadlines(() => performance.now());

describe("a stream that waits for its upstream", () => {
  test("keeps no chunk that has left, neither the first nor the one before, also where the results of its reads are kept", async () => {
    const seen: WeakRef<Uint8Array>[] = [];
    /** In a function of its own: what stands in the test's frame is not collected. */
    const toChunk = () => {
      const chunk = new Uint8Array(2 * KIB).fill(0x61 + seen.length);
      seen.push(new WeakRef(chunk));
      return chunk;
    };
    // As the promise of a read does that waited during a collection.
    const results: { done: boolean; value?: Uint8Array }[] = [];
    const toResult = () => {
      const result = { done: false, value: toChunk() };
      results.push(result);
      return result;
    };
    const waiting = Promise.withResolvers<{ done: boolean }>();
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      development: false,
      fetch(request) {
        const reader: BodyReader = {
          read: () => (seen.length < 5 ? Promise.resolve(toResult()) : waiting.promise),
          cancel: () => Promise.resolve(),
        };
        const cancellation = new Cancellation(request, { limits: deadlines });
        return new Response(toTee(reader, cancellation, toChunk()));
      },
    });
    running.push(server);
    const caller = await openCaller({ port: server.port ?? 0, body: {} });
    await caller.waitFor("e".repeat(2 * KIB));
    await until(
      () => {
        Bun.gc(true);
        return seen.every((chunk) => chunk.deref() === undefined);
      },
      () => `kept: ${seen.flatMap((chunk, index) => (chunk.deref() === undefined ? [] : [index])).join()}`,
    );
    expect(results).toHaveLength(4);
    expect(caller.received()).toContain("a".repeat(2 * KIB));
    waiting.resolve({ done: true });
    expect(await caller.body()).toHaveLength(5 * 2 * KIB);
    caller.hangUp();
  });

  test("has freed the bytes of each longer event, and is metered all the same", async () => {
    const freedBytes: number[] = [];
    const transfer = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, "transfer")?.value as (
      lengthBytes?: number,
    ) => ArrayBuffer;
    const spy = spyOn(ArrayBuffer.prototype, "transfer").mockImplementation(function (
      this: ArrayBuffer,
      lengthBytes?: number,
    ) {
      freedBytes.push(this.byteLength);
      return transfer.call(this, lengthBytes);
    });
    try {
      const { upstream, proxy } = await startPair();
      const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
      const call = await upstream.nextCall();
      await call.beginStream();
      for (let index = 0; index < 5; index += 1) {
        await call.sendChunk(`data: {"n":${index},"x":"${"y".repeat(3_000)}"}\n\n`);
        await caller.waitFor(`"n":${index},`);
      }
      await call.sendChunk(SSE_USAGE + SSE_DONE);
      await call.endStream();
      await caller.waitFor("\r\n0\r\n\r\n");
      caller.hangUp();
      expect(freedBytes.filter((bytes) => bytes > 3_000 && bytes < 3_100)).toHaveLength(5);
      expect(await proxy.onlyEvent()).toMatchObject({
        outcome: "ok",
        usage: { quantities: { input_tokens: 7, output_tokens: 3 } },
      });
    } finally {
      spy.mockRestore();
    }
  });
});

test("a stream that came to its end leaves its abort controller to another request, one that broke off does not", async () => {
  const spare: AbortController[] = [];
  const end = async (read: BodyReader["read"]) => {
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      development: false,
      fetch(request) {
        const cancellation = new Cancellation(request, { limits: deadlines, spare });
        return new Response(toTee({ read, cancel: () => Promise.resolve() }, cancellation));
      },
    });
    running.push(server);
    const caller = await openCaller({ port: server.port ?? 0, body: {} });
    const body = await caller.body().catch(() => null);
    caller.hangUp();
    return body;
  };
  expect(await end(() => Promise.reject(new Error("it broke off")))).toBeNull();
  expect(spare).toHaveLength(0);
  expect(await end(() => Promise.resolve({ done: true }))).toBe("first");
  expect(spare).toHaveLength(1);
});

test("the first bytes of a stream leave with its head, in the turn in which that is written", () => {
  const { ReadableStream: Stream } = globalThis;
  let pull: ((controller: unknown) => unknown) | undefined;
  globalThis.ReadableStream = new Proxy(Stream, {
    construct(target, [source]: [{ pull(controller: unknown): unknown }]) {
      pull = (controller) => source.pull(controller);
      return new target();
    },
  });
  try {
    const { promise } = Promise.withResolvers<never>();
    const cancellation = new Cancellation({ signal: new AbortController().signal }, { limits: deadlines });
    toTee({ read: () => promise, cancel: () => Promise.resolve() }, cancellation);
    const calls: string[] = [];
    void pull?.({
      write: ({ length }: Uint8Array) => {
        calls.push("write");
        return length;
      },
      flush: () => void calls.push("flush"),
    });
    // Nothing was awaited.
    expect(calls).toEqual(["write", "flush"]);
    cancellation.release();
  } finally {
    globalThis.ReadableStream = Stream;
  }
});

function toTee(
  reader: BodyReader,
  cancellation: Cancellation,
  first: Uint8Array = Buffer.from("first"),
): ReadableStream<Uint8Array> {
  return createTee({
    reader,
    first,
    cancellation,
    idleMs: 60_000,
    stallMs: 60_000,
    watch: () => null,
    finish: () => Promise.resolve(),
  });
}

/**
 * A fact about the runtime, which `docs/runtime-report.md` tells its makers: when this fails after an upgrade, that page and the
 * figures of open streams in `docs/performance.md` are to be read again.
 */
describe("the runtime's buffer behind each read that waits on the body of a fetch", () => {
  const STREAMS = 32;

  test("counts as 256 KiB before the first piece was waited for, and as 64 KiB from then on", async () => {
    const goOn = Array.from({ length: 2 }, () => Promise.withResolvers<void>());
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      development: false,
      fetch: () =>
        new Response(async function* () {
          yield "data: 0\n\n";
          for (const { promise } of goOn) {
            await promise;
            yield "data: 1\n\n";
          }
        }),
    });
    running.push(server);
    const before = countedBytes();
    const readers: BodyReader[] = [];
    for (let opened = 0; opened < STREAMS; opened += 1) {
      const { body } = await fetch(server.url, { decompress: false });
      if (body === null) throw new Error("no body");
      readers.push(body.getReader());
    }
    const read = () => Promise.all(readers.map((reader) => reader.read()));
    await read();
    let reading = read();
    const first = (countedBytes() - before) / STREAMS;
    goOn[0]?.resolve();
    await reading;
    reading = read();
    const later = (countedBytes() - before) / STREAMS;
    goOn[1]?.resolve();
    await reading;
    const told = (kib: number) =>
      `${kib} KiB are counted for it in Bun ${Bun.version}: read docs/runtime-report.md again`;
    expect(Math.round(first / KIB / 8) * 8, told(first / KIB)).toBe(256);
    expect(Math.round(later / KIB / 8) * 8, told(later / KIB)).toBe(64);
  });

  /** What the engine believes that its objects keep outside of its cells. */
  function countedBytes(): number {
    Bun.gc(true);
    return heapStats().extraMemorySize;
  }
});
