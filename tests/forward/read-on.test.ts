import { afterEach, describe, expect, test } from "bun:test";
import { READ_ON_BYTES_MAX } from "#forward/tee.ts";
import type { UpstreamCall } from "../support/upstream.ts";
import { openCaller } from "./caller.ts";
import { withinASecond } from "../support/turns.ts";
import { SSE_DONE, SSE_HELLO, SSE_USAGE, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";
import {
  DELTA,
  MODEL,
  PATH,
  START,
  STOP,
  STREAMED_MESSAGE,
  USAGE,
  startRelay,
  stopRelays,
  toEvent,
} from "./relay-harness.ts";

afterEach(stopPairs);
afterEach(stopRelays);

const toFinish = (reason: unknown) =>
  `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":${JSON.stringify(reason)}}],"usage":null}\n\n`;
const FINISH = toFinish("stop");
const COMMENT = ": still here\n\n";
const reported = { quantities: { input_tokens: 7, output_tokens: 3 } };

/** A stream of which the caller has seen `sent`, and which it has left. */
async function leave(sent: string) {
  const { upstream, proxy } = await startPair();
  const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
  const call = await upstream.nextCall();
  await call.beginStream();
  await call.sendChunk(SSE_HELLO);
  await caller.waitFor("hello");
  await call.sendChunk(`${sent}data: "seen"\n\n`);
  await caller.waitFor('"seen"');
  caller.hangUp();
  await caller.ended;
  return { call, proxy };
}

/** Sends until the proxy has closed. */
async function sendOn(call: UpstreamCall, bytes: string): Promise<void> {
  while (!call.isClosed() && (await call.sendChunk(bytes))) await Bun.sleep(20);
}

describe("a caller that hangs up behind a finish reason", () => {
  test("does not keep the usage from being recorded: cancelled, with its cost, and the upstream is left then", async () => {
    const { call, proxy } = await leave(FINISH);
    await call.sendChunk(SSE_USAGE);
    await withinASecond(call.closed, "closing the upstream");
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "cancelled",
      statusCode: 200,
      errorKind: null,
      usage: reported,
    });
  });

  test("has not had the last event, also when it comes together with the usage", async () => {
    const { call, proxy } = await leave(FINISH);
    await call.sendChunk(SSE_USAGE + SSE_DONE);
    await withinASecond(call.closed, "closing the upstream");
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "cancelled", usage: reported });
  });

  test("is no failure of the upstream's, whatever that says afterwards", async () => {
    const { call, proxy } = await leave(FINISH);
    await call.sendChunk(`data: {"error":{"type":"late_error"}}\n\n${SSE_USAGE}`);
    await withinASecond(call.closed, "closing the upstream");
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "cancelled", errorKind: null });
  });

  test("leaves an upstream that goes on without usage within a second", async () => {
    const { call, proxy } = await leave(FINISH);
    await withinASecond(sendOn(call, COMMENT), "closing the upstream");
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "cancelled", usage: null });
  });

  test("has no more than a bounded rest read", async () => {
    const { call, proxy } = await leave(FINISH);
    await call.sendChunk(`: ${"x".repeat(READ_ON_BYTES_MAX)}\n\n`);
    await withinASecond(call.closed, "closing the upstream");
    await call.sendChunk(SSE_USAGE);
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "cancelled", usage: null });
  });

  test("is not waited for by an upstream that breaks off", async () => {
    const { call, proxy } = await leave(FINISH);
    call.reset();
    await withinASecond(proxy.drained(), "the end");
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "cancelled", usage: null });
  });

  test("and had stopped reading is read on for all the same", async () => {
    const { upstream, proxy } = await startPair();
    const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const call = await upstream.nextCall();
    await call.beginStream();
    await call.sendChunk(SSE_HELLO);
    await caller.waitFor("hello");
    caller.stopReading();
    const full = `data: ${"x".repeat(1_000_000)}\n\n`;
    await call.sendChunk(FINISH);
    // Whatever is between them is full once nothing more is taken.
    while (await Promise.race([call.sendChunk(full), Bun.sleep(300).then(() => false)]));
    caller.hangUp();
    await withinASecond(call.closed, "closing the upstream");
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "cancelled", statusCode: 200 });
  });
});

describe("nothing is read on", () => {
  test.each([
    ["before a finish reason", SSE_HELLO],
    ["behind one that is empty or null", toFinish("") + toFinish(null)],
    ["behind one that came with the usage", FINISH.replace('"usage":null', '"usage":{"prompt_tokens":7}')],
    ["behind an error", `${FINISH}data: {"error":{"type":"x_error"}}\n\n`],
  ])("%s", async (_, sent) => {
    const { call, proxy } = await leave(sent);
    await proxy.drained();
    await call.sendChunk(SSE_USAGE.replace("3}", "9999}"));
    await withinASecond(call.closed, "closing the upstream");
    expect((await proxy.onlyEvent()).usage?.quantities.output_tokens).toBeUndefined();
  });
});

describe("a relayed stream of messages", () => {
  const BLOCK_END = toEvent("content_block_stop", { index: 0 });

  test.each([
    ["behind a content block is read on for its usage", START + DELTA + BLOCK_END, 3],
    ["inside a content block is not", START + DELTA, 1],
  ])("that is left %s", async (_, sent, outputTokens) => {
    const { upstream, port, onlyEvent } = await startRelay();
    const caller = await openCaller({ port, path: PATH, body: STREAMED_MESSAGE });
    const call = await upstream.nextCall();
    await call.beginStream();
    await call.sendChunk(sent);
    await caller.waitFor(sent.slice(-20));
    caller.hangUp();
    await caller.ended;
    if (outputTokens === 1) await call.closed;
    await call.sendChunk(USAGE + STOP);
    await withinASecond(call.closed, "closing the upstream");
    expect(await onlyEvent()).toMatchObject({
      outcome: "cancelled",
      model: MODEL,
      usage: { quantities: { output_tokens: outputTokens } },
    });
  });
});
