import { afterEach, describe, expect, test } from "bun:test";
import { openCaller } from "./caller.ts";
import { CHAT, COMPLETION, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

afterEach(stopPairs);

const LONG = COMPLETION.replace("hi", "h".repeat(100_000));

describe("an answer without a content-type", () => {
  test.each([
    [200, CHAT, COMPLETION],
    [200, STREAMED_CHAT, COMPLETION],
    [200, CHAT, LONG],
    [200, CHAT, ""],
    [400, CHAT, '{"error":{"type":"bad"}}'],
    [500, STREAMED_CHAT, "oops"],
  ] as const)("of status %i gets none, and keeps its length and its bytes", async (status, asked, body) => {
    const { proxy } = await startPair((call) =>
      call.send(`HTTP/1.1 ${status} X\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
    );
    const caller = await openCaller({ port: proxy.port, body: asked });
    await caller.waitFor(`\r\n\r\n${body}`);
    const head = caller.received().split("\r\n\r\n", 1)[0]?.toLowerCase() ?? "";
    expect(head).toStartWith(`http/1.1 ${status} `);
    expect(head).not.toContain("content-type:");
    expect(head).toContain(`content-length: ${body.length}`);
    expect(head).not.toContain("transfer-encoding");
    caller.hangUp();
    expect((await proxy.onlyEvent()).outcome).toBe(status === 200 ? "ok" : "upstream_error");
  });

  test("gets none in place of a type that belonged to the upstream's connection", async () => {
    const { proxy } = await startPair((call) =>
      call.reply({ headers: ["connection: content-type", "content-type: text/x-own"], body: "hello" }),
    );
    const response = await proxy.post(CHAT);
    expect([response.headers.get("content-type"), await response.text()]).toEqual([null, "hello"]);
  });

  test("keeps the type that it has", async () => {
    const { proxy } = await startPair((call) =>
      call.reply({ headers: ["content-type: text/x-own"], body: "hello" }),
    );
    expect((await proxy.post(CHAT)).headers.get("content-type")).toBe("text/x-own");
  });
});
