import { afterEach, expect, test } from "bun:test";
import { Cancellation, createDeadlines } from "#kernel/cancellation.ts";
import { Upstream, type BodySource } from "#forward/upstream.ts";
import { createSystemClock } from "#kernel/clock.ts";
import { type ScriptedUpstream, startUpstream } from "../support/upstream.ts";
import { withinASecond } from "../support/turns.ts";

const clock = createSystemClock();
const deadlines = createDeadlines(() => clock.monotonicMs());

let upstream: ScriptedUpstream;
afterEach(() => upstream.stop());

function callWith(body: BodySource) {
  const caller = new Upstream(clock);
  const url = `http://127.0.0.1:${upstream.port}/v1/messages`;
  return caller.call({
    method: "POST",
    target: caller.openTarget(url, { verifyTls: true, caPem: null, timeoutConnectSeconds: 5 }),
    url,
    headers: new Headers(),
    body,
    cancellation: new Cancellation(new AbortController(), { limits: deadlines }),
    headMs: 5_000,
    untilMs: null,
  });
}

test("a part of a buffer may be another as soon as it is sent, on a new connection and on one that is kept: what it was arrives", async () => {
  upstream = await startUpstream({ script: (call) => call.reply({ body: "{}" }) });
  const caller = new Upstream(clock);
  const url = `http://127.0.0.1:${upstream.port}/v1/messages`;
  const target = caller.openTarget(url, { verifyTls: true, caPem: null, timeoutConnectSeconds: 5 });
  for (const sizeBytes of [1, 1_040, 64 * 1024, 1_040]) {
    const body = new Uint8Array(sizeBytes + 1).fill(0x61).subarray(0, sizeBytes);
    const call = caller.call({
      method: "POST",
      target,
      url,
      headers: new Headers({ "content-length": String(sizeBytes) }),
      body,
      cancellation: new Cancellation(new AbortController(), { limits: deadlines }),
      headMs: 5_000,
      untilMs: null,
    });
    body.fill(0x62);
    const head = await call;
    if (head.kind === "failed") throw new Error(head.error);
    await head.response.bytes();
    head.readToEnd();
    expect(upstream.lastRequest().body.equals(Buffer.alloc(sizeBytes, "a"))).toBe(true);
  }
  expect(upstream.connectionCount()).toBe(1);
});

test("a body that breaks off while it is sent never looks whole to the upstream", async () => {
  upstream = await startUpstream();
  const pieces = [Buffer.from("half of it")];
  const answer = callWith({
    sizeBytes: null,
    async next() {
      const piece = pieces.shift();
      if (piece === undefined) throw new Error("broke off");
      return piece;
    },
  });
  expect(await withinASecond(answer, "failing")).toMatchObject({
    kind: "failed",
    error: "connection_error",
  });
  await withinASecond(upstream.allClosed(), "closing");
  expect(upstream.requests).toEqual([]);
});

test("a body of no known length is sent piece by piece, each before the next one is asked for", async () => {
  upstream = await startUpstream();
  const sizes: number[] = [];
  let piecesLeft = 3;
  const answer = callWith({
    sizeBytes: null,
    async next() {
      sizes.push(piecesLeft);
      if (piecesLeft === 0) return null;
      piecesLeft -= 1;
      return Buffer.from("piece ");
    },
  });
  const call = await upstream.nextCall();
  expect(call.request.body.toString()).toBe("piece piece piece ");
  expect(sizes).toEqual([3, 2, 1, 0]);
  await call.reply({ body: "{}" });
  expect((await answer).kind).toBe("head");
});
