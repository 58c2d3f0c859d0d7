import { afterEach, describe, expect, test } from "bun:test";
import net from "node:net";
import { UNCOUNTED_BYTES_MAX } from "#kernel/memory-semaphore.ts";
import type { EndpointName } from "#catalog/endpoint.ts";
import { openBody, toBodyLimits, toPassageLimits } from "#http/door/body.ts";
import { Drain, IDLE_TIMEOUT_SECONDS } from "#http/door/connections.ts";
import { createArrivals } from "#kernel/ids.ts";
import { createBodyMemory, BODY_WAIT_MS_MAX, type BodyMemoryOptions } from "#http/door/body-memory.ts";
import { createDoor } from "#http/door/door.ts";
import { createFailures } from "#http/door/failures.ts";
import { createHostRule } from "#http/door/host.ts";
import { createRefusals } from "#http/door/refusals.ts";
import { readJsonBody } from "#http/door/json-body.ts";
import { createIngress } from "#http/ingress/v1.ts";
import { expectError, sendRaw, startHarness, toResponse } from "./support.ts";

const MIB = 1024 * 1024;
const running: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of running.splice(0).toReversed()) await stop();
});

interface Passing {
  readonly body: Uint8Array;
  /** Its upstream has taken it. */
  take(): void;
}

/** The data plane's door over a real socket; who plays the exchange lets each body go when the test says so. */
async function openDoor({
  bytesMax,
  endpoint = "chat",
  ...options
}: BodyMemoryOptions & { readonly endpoint?: EndpointName }) {
  const harness = await startHarness();
  const { log: harnessLog } = harness.deps;
  const memory = createBodyMemory({ bytesMax, log: harnessLog, ...options });
  const passing: Passing[] = [];
  const { clock, log, authenticator, config } = harness.deps;
  const ingress = createIngress({
    clock,
    arrivals: createArrivals(clock),
    drain: new Drain(),
    failures: createFailures(log, createRefusals(log, clock)),
    hosts: createHostRule(config),
    door: createDoor({ authenticator, publicUrl: null }),
    maxBodyBytes: bytesMax,
    memory,
    exchange: {
      async run({ body, reservation = null }) {
        const taken = Promise.withResolvers<void>();
        passing.push({ body, take: taken.resolve });
        if (reservation !== null) await taken.promise;
        const answer = `${body.length} ${Bun.hash(body)}`;
        reservation?.close();
        return { kind: "responded", response: new Response(answer) };
      },
    },
  });
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    maxRequestBodySize: Infinity,
    fetch: (request, connections) => ingress.serve({ name: endpoint, id: "" }, request, connections),
  });
  running.push(
    () => harness.stop(),
    () => server.stop(true),
  );
  const url = `http://127.0.0.1:${server.port}/v1/chat/completions`;
  const headers = { authorization: `Bearer ${harness.adminKey}` };
  const sent = (body: Uint8Array) => `${body.length} ${Bun.hash(body)}`;
  return {
    memory,
    passing,
    port: server.port ?? 0,
    logLines: harness.logLines,
    adminKey: harness.adminKey,
    serve: (request: Request) => ingress.serve({ name: "chat", id: "" }, request, null),
    sent,
    head: (framing: string) =>
      `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: ${headers.authorization}\r\n${framing}\r\n\r\n`,
    post: (body: Uint8Array<ArrayBuffer>) => fetch(url, { method: "POST", headers, body }),
    postChunked: (body: Uint8Array<ArrayBuffer>) =>
      fetch(url, { method: "POST", headers, body: new Blob([body]).stream() }),
  };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(1);
}

function toBody(sizeBytes: number): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(sizeBytes);
  for (let at = 0; at < sizeBytes; at += 65_536) crypto.getRandomValues(body.subarray(at, at + 65_536));
  return body;
}

describe("large request bodies share memory", () => {
  test("one that finds none waits for those before it, in order of arrival; one of 512 KiB waits for nobody", async () => {
    const { memory, passing, post, sent } = await openDoor({ bytesMax: 2 * MIB, totalBytesMax: 2 * MIB });
    const bodies = [toBody(2 * MIB), toBody(1.5 * MIB), toBody(MIB)] as const;
    const answers = [post(bodies[0])];
    await until(() => passing.length === 1);
    for (const body of bodies.slice(1)) {
      answers.push(post(body));
      await until(() => memory.waitingCount() === answers.length - 1);
    }
    const short = toBody(UNCOUNTED_BYTES_MAX);
    expect(await (await post(short)).text()).toBe(sent(short));
    expect(passing).toHaveLength(2);
    passing[0]?.take();
    await until(() => passing.length === 3);
    // The last one does not fit beside it.
    expect(memory.waitingCount()).toBe(1);
    expect(passing[2]?.body.length).toBe(bodies[1].length);
    passing[2]?.take();
    await until(() => passing.length === 4);
    passing[3]?.take();
    expect(await Promise.all(answers.map(async (answer) => (await answer).text()))).toEqual(bodies.map(sent));
    expect(memory.waitingCount()).toBe(0);
  });

  test.each(["with a length", "chunked"])(
    "nothing is read of one (%s) that waits but its beginning",
    async (way) => {
      const { memory, passing, post, serve, adminKey } = await openDoor({
        bytesMax: 2 * MIB,
        totalBytesMax: 2 * MIB,
      });
      const first = post(toBody(2 * MIB));
      await until(() => passing.length === 1);
      const piece = new Uint8Array(MIB / 16);
      let askedBytes = 0;
      const body = new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            askedBytes += piece.length;
            controller.enqueue(new Uint8Array(piece));
            if (askedBytes === 2 * MIB) controller.close();
          },
        },
        { highWaterMark: 0 },
      );
      const headers = new Headers({ authorization: `Bearer ${adminKey}` });
      if (way === "with a length") headers.set("content-length", String(2 * MIB));
      const waiting = serve(
        new Request("http://localhost/v1/chat/completions", { method: "POST", headers, body }),
      );
      await until(() => memory.waitingCount() === 1);
      const askedBefore = askedBytes;
      expect(askedBefore).toBeLessThanOrEqual(3 * piece.length);
      await Bun.sleep(50);
      expect(askedBytes).toBe(askedBefore);
      passing[0]?.take();
      await until(() => passing.length === 2);
      expect(askedBytes).toBe(2 * MIB);
      passing[1]?.take();
      expect([(await first).status, (await waiting).status]).toEqual([200, 200]);
    },
  );

  test.each(["with a length", "chunked"])(
    "one (%s) that waits for too long is 503 busy, which its sender comes to read and the log tells, and reaches no exchange",
    async (way) => {
      const door = await openDoor({ bytesMax: 2 * MIB, totalBytesMax: 2 * MIB, waitMsMax: 100 });
      const { memory, passing, post, postChunked, logLines } = door;
      const first = post(toBody(2 * MIB));
      await until(() => passing.length === 1);
      const refused = await (way === "chunked" ? postChunked : post)(toBody(2 * MIB));
      const retryAfter = refused.headers.get("retry-after");
      expect(retryAfter).toBe("5");
      const message = await expectError(refused, "503 busy", null);
      expect(message).toEndWith("Try again.");
      expect(memory.waitingCount()).toBe(0);
      expect(passing).toHaveLength(1);
      expect(logLines.filter((line) => line.includes("failed"))).toEqual([]);
      passing[0]?.take();
      expect((await first).status).toBe(200);
      const again = post(toBody(2 * MIB));
      await until(() => passing.length === 2);
      passing[1]?.take();
      expect((await again).status).toBe(200);
    },
  );

  test("a busy refusal of a messages path has type: error as its first member", async () => {
    const bounds = { bytesMax: 2 * MIB, totalBytesMax: 2 * MIB, waitMsMax: 100 };
    const { passing, post } = await openDoor({ ...bounds, endpoint: "messages" });
    const first = post(toBody(2 * MIB));
    await until(() => passing.length === 1);
    const refused = await post(toBody(2 * MIB));
    expect([refused.status, await refused.text()]).toEqual([
      503,
      expect.stringMatching(/^{"type":"error","error":{"message":".*"code":"busy"/),
    ]);
    passing[0]?.take();
    await first;
  });

  test("one that finds too many waiting is refused at once, and who waits keeps its place", async () => {
    const { memory, passing, post } = await openDoor({
      bytesMax: 2 * MIB,
      totalBytesMax: 2 * MIB,
      waitingMax: 1,
    });
    const first = post(toBody(2 * MIB));
    await until(() => passing.length === 1);
    const second = post(toBody(MIB));
    await until(() => memory.waitingCount() === 1);
    await expectError(await post(toBody(MIB)), "503 busy", null);
    const short = await post(toBody(UNCOUNTED_BYTES_MAX));
    expect(short.status).toBe(200);
    expect(memory.waitingCount()).toBe(1);
    passing[0]?.take();
    await until(() => passing.length === 3);
    passing[2]?.take();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
  });

  test("one whose caller's connection is reset while it waits leaves the line at once, and nobody is told of an error", async () => {
    const { memory, passing, post, port, head, logLines } = await openDoor({
      bytesMax: 2 * MIB,
      totalBytesMax: 2 * MIB,
    });
    const first = post(toBody(2 * MIB));
    await until(() => passing.length === 1);
    const socket = net.connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(head(`content-length: ${2 * MIB}`));
    socket.write(Buffer.alloc(100_000));
    await until(() => memory.waitingCount() === 1);
    const behind = post(toBody(MIB));
    await until(() => memory.waitingCount() === 2);
    socket.resetAndDestroy();
    await until(() => memory.waitingCount() === 1);
    passing[0]?.take();
    await until(() => passing.length === 2);
    passing[1]?.take();
    expect([(await first).status, (await behind).status]).toEqual([200, 200]);
    expect(logLines.filter((line) => line.includes('"error"'))).toEqual([]);
  });

  test("one whose caller hangs up in the middle of it gives its memory back", async () => {
    const { memory, passing, post, port, head } = await openDoor({
      bytesMax: 2 * MIB,
      totalBytesMax: 2 * MIB,
    });
    for (const framing of [`content-length: ${2 * MIB}`, "transfer-encoding: chunked"]) {
      const socket = net.connect(port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write(head(framing));
      socket.write(`${MIB.toString(16)}\r\n`);
      socket.write(Buffer.alloc(MIB));
      const before = passing.length;
      const behind = post(toBody(2 * MIB));
      await until(() => memory.waitingCount() === 1);
      socket.destroy();
      await until(() => passing.length === before + 1);
      passing.at(-1)?.take();
      expect((await behind).status).toBe(200);
    }
  });

  test("chunked bodies grow beside one another, and each arrives as it was sent", async () => {
    const { memory, passing, postChunked, sent } = await openDoor({
      bytesMax: 3 * MIB,
      totalBytesMax: 4 * MIB,
    });
    const bodies = [3, 2, 3, 1].map((size) => toBody(size * MIB));
    const answers = bodies.map(async (body) => (await postChunked(body)).text());
    for (let count = 1; count <= bodies.length; count += 1) {
      await until(() => passing.length >= count);
      passing[count - 1]?.take();
    }
    expect(await Promise.all(answers)).toEqual(bodies.map(sent));
    expect(memory.waitingCount()).toBe(0);
  });

  test("one over the limit is 413 at once, however full the memory is", async () => {
    const { memory, passing, post, port, head } = await openDoor({
      bytesMax: 2 * MIB,
      totalBytesMax: 2 * MIB,
    });
    const first = post(toBody(2 * MIB));
    await until(() => passing.length === 1);
    const raw = await sendRaw(port, head(`content-length: ${2 * MIB + 1}\r\nconnection: close`));
    await expectError(toResponse(raw), "413 request_too_large");
    expect(memory.waitingCount()).toBe(0);
    passing[0]?.take();
    expect((await first).status).toBe(200);
  });

  test("a length that is said twice counts as none: such a body neither waits for memory nor keeps others from it", async () => {
    const door = await openDoor({ bytesMax: 2 * MIB, totalBytesMax: 2 * MIB, waitMsMax: 100 });
    const text = "x".repeat(10);
    const body = Buffer.from(text);
    const framing = `content-length: ${body.length}\r\ncontent-length: ${body.length}\r\nconnection: close`;
    const raw = await sendRaw(door.port, `${door.head(framing)}${text}`);
    expect(await toResponse(raw).text()).toContain(door.sent(body));
    expect(door.memory.waitingCount()).toBe(0);
    const headers = { "content-length": `${body.length}, ${body.length}` };
    const relayed = new Request("http://localhost/", { method: "POST", body, headers });
    expect(
      await openBody(relayed, toPassageLimits(MIB), {
        wholeBytesMax: MIB,
        memory: door.memory,
        owner: "ada",
      }),
    ).toMatchObject({ sizeBytes: null });
  });

  test("is taken by what has come, not by what was announced: hundreds of bodies of one byte keep nobody waiting", async () => {
    const { memory, passing, post, port, head } = await openDoor({
      bytesMax: 2 * MIB,
      totalBytesMax: 4 * MIB,
    });
    const sockets = Array.from({ length: 200 }, (_, index) => {
      const socket = net.connect(port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write(head(index % 2 === 0 ? `content-length: ${2 * MIB}` : "transfer-encoding: chunked"));
      socket.write(index % 2 === 0 ? "x" : "1\r\nx\r\n");
      return socket;
    });
    const answer = post(toBody(2 * MIB));
    await until(() => passing.length === 1);
    expect(memory.waitingCount()).toBe(0);
    passing[0]?.take();
    expect((await answer).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  test("of one principal is a quarter, one body at least: who fills it waits alone, is refused in time, and is told of once a minute", async () => {
    const lines: unknown[] = [];
    const log = { warn: (message: string, fields?: object) => void lines.push({ message, ...fields }) };
    const memory = createBodyMemory({ bytesMax: MIB, totalBytesMax: 8 * MIB, waitingMax: 8, log });
    const open = (owner: string) => memory.reserve(new Request("http://localhost/"), 2 * MIB, owner);
    const ada = Array.from({ length: 4 }, () => open("ada"));
    // Two of them have all that ada may have.
    expect(ada[0]?.acquire(MIB)).toBeNull();
    ada[0]?.complete(MIB);
    expect(ada[1]?.acquire(MIB)).toBeNull();
    ada[1]?.complete(MIB);
    const waiting = ada.slice(2).map((body) => body?.acquire(MIB) ?? Promise.resolve("at once"));
    expect(memory.waitingCount()).toBe(2);
    // A quarter of those that may wait is hers, too.
    const refused = open("ada");
    expect(await refused?.acquire(MIB)).toBe(false);
    refused?.refused();
    refused?.refused();
    expect(lines).toEqual([
      { message: expect.stringContaining("refused"), principal: "ada", refused: 1, waiting: 2 },
    ]);
    for (const owner of ["bob", "eve", "kim"]) {
      const other = open(owner);
      expect(other?.acquire(MIB)).toBeNull();
      other?.complete(MIB);
    }
    ada[0]?.close();
    expect(await waiting[0]).toBe(true);
    for (const body of ada) body?.close();
    await Promise.all(waiting);
    expect(memory.waitingCount()).toBe(0);
  });

  test("a caller that is not authenticated is refused without a place in the line", async () => {
    const { memory, passing, post, port } = await openDoor({ bytesMax: 2 * MIB, totalBytesMax: 2 * MIB });
    const first = post(toBody(2 * MIB));
    await until(() => passing.length === 1);
    const raw = await sendRaw(
      port,
      `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${2 * MIB}\r\nconnection: close\r\n\r\n`,
    );
    await expectError(toResponse(raw), "401 missing_api_key");
    expect(memory.waitingCount()).toBe(0);
    passing[0]?.take();
    await first;
  });

  test("JSON bodies have theirs until they are parsed, also when they are no JSON", async () => {
    const memory = createBodyMemory({ bytesMax: MIB, totalBytesMax: MIB, waitMsMax: 100 });
    const text = `"${"x".repeat(MIB - 2)}"`;
    const read = (body: string) => {
      const headers = { "content-length": String(body.length) };
      return readJsonBody(
        new Request("http://localhost/", { method: "POST", body, headers }),
        toBodyLimits(MIB),
        { memory, owner: "ada" },
      );
    };
    for (let count = 0; count < 3; count += 1) {
      expect(await read(text)).toHaveLength(MIB - 2);
      const refusal = await read(text.slice(1)).catch((failure: unknown) => failure);
      expect(refusal).toMatchObject({ code: "invalid_json" });
    }
    expect(memory.waitingCount()).toBe(0);
  });

  test("none waits for so long that its connection counts as idle", () => {
    expect(BODY_WAIT_MS_MAX).toBeLessThan(IDLE_TIMEOUT_SECONDS * 1000);
  });
});
