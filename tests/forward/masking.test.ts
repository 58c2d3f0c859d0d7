import { afterEach, describe, expect, test } from "bun:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { maskCredential } from "#forward/respond.ts";
import { isOfCredential } from "#usage/meter.ts";
import { UpstreamHead } from "#forward/upstream.ts";
import { CHAT, CREDENTIAL, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";
import { MESSAGE, startRelay, stopRelays } from "./relay-harness.ts";

afterEach(stopPairs);
afterEach(stopRelays);

const STARS = "*".repeat(CREDENTIAL.length);
const PARTIAL = CREDENTIAL.slice(0, -1);
const SAID = `{"error":{"type":"auth_error","message":"Incorrect key ${CREDENTIAL}, ${CREDENTIAL}${CREDENTIAL}; not ${PARTIAL} or sk-sk-"}}`;
const MASKED = SAID.replaceAll(CREDENTIAL, STARS);

describe("the provider's credential in an error answer", () => {
  test.each([400, 401, 403, 429, 500, 599])(
    "is asterisks of its length, with status %d, and nothing else is",
    async (status) => {
      const { proxy } = await startPair((call) => call.reply({ status, body: SAID }));
      const response = await proxy.post(CHAT);
      expect(response.status).toBe(status);
      expect(await response.text()).toBe(MASKED);
      expect(await proxy.onlyEvent()).toMatchObject({ errorKind: "auth_error" });
    },
  );

  test("is masked where it was sent as x-api-key, too", async () => {
    const provider = { authStyle: "x-api-key" } as const;
    const { proxy } = await startPair((call) => call.reply({ status: 401, body: SAID }), { provider });
    expect(await (await proxy.post(CHAT)).text()).toBe(MASKED);
  });

  test.each([200, 201, 302])(
    "is no matter of an answer with status %d, whose bytes pass as they are",
    async (status) => {
      const { proxy } = await startPair((call) => call.reply({ status, body: SAID }));
      expect(await (await proxy.post(CHAT)).text()).toBe(SAID);
    },
  );

  test.each([1, 7, CREDENTIAL.length])("is found across chunks of %d bytes", async (chunkBytes) => {
    const { proxy } = await startPair(async (call) => {
      await call.send(
        "HTTP/1.1 401 No\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
      );
      for (let at = 0; at < SAID.length; at += chunkBytes)
        await call.sendChunk(SAID.slice(at, at + chunkBytes));
      await call.endStream();
    });
    expect(await (await proxy.post(CHAT)).text()).toBe(MASKED);
  });

  test("is found in a long answer", async () => {
    const pad = "sk-provider-".repeat(60_000);
    const { proxy } = await startPair((call) => call.reply({ status: 500, body: pad + SAID + pad + SAID }));
    expect((await (await proxy.post(CHAT)).text()) === pad + MASKED + pad + MASKED).toBe(true);
  });

  test("is found in an error that was asked for as a stream and comes as events", async () => {
    const { proxy } = await startPair(async (call) => {
      await call.send(
        "HTTP/1.1 429 No\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
      );
      await call.sendChunk(`data: ${SAID.slice(0, 70)}`);
      await call.sendChunk(`${SAID.slice(70)}\n\n`);
      await call.endStream();
    });
    expect(await (await proxy.post(STREAMED_CHAT)).text()).toBe(`data: ${MASKED}\n\n`);
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "upstream_error", errorKind: "auth_error" });
  });

  test("is found in its headers", async () => {
    const headers = [`x-hint: key ${CREDENTIAL} is wrong`, "x-other: sk-"];
    const { proxy } = await startPair((call) => call.reply({ status: 401, headers, body: "no" }));
    const response = await proxy.post(CHAT);
    expect(response.headers.get("x-hint")).toBe(`key ${STARS} is wrong`);
    expect(response.headers.get("x-other")).toBe("sk-");
  });

  test("is found under a compression, which then goes; without it the compressed bytes pass as they are", async () => {
    const quiet = gzipSync('{"error":"no"}');
    let packed = gzipSync(SAID);
    const { proxy } = await startPair((call) =>
      call.reply({ status: 401, headers: ["content-encoding: gzip"], body: packed }),
    );
    const loud = await proxy.post(CHAT);
    expect(loud.headers.has("content-encoding")).toBe(false);
    expect(await loud.text()).toBe(MASKED);
    packed = quiet;
    const response = await proxy.post(CHAT);
    expect(response.headers.get("content-encoding")).toBe("gzip");
    expect(gunzipSync(await response.arrayBuffer()).toString()).toBe('{"error":"no"}');
  });

  test.each([
    [401, { error: { type: `wrong-key-${CREDENTIAL}` } }],
    [429, { error: CREDENTIAL }],
    [200, { error: { code: `${"x".repeat(40)} ${CREDENTIAL}` } }],
  ])("is in no kind of error, which everyone reads in reports: %d %j", async (status, body) => {
    const { proxy } = await startPair((call) => call.reply({ status, body: JSON.stringify(body) }));
    await proxy.post(CHAT);
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "upstream_error",
      errorKind: `http_${status}`,
    });
  });

  test("that is short is in no kind of error either, unless it is a word that names errors", () => {
    expect(isOfCredential("bad_local_vllm_key", "local_vllm_key")).toBe(true);
    expect(isOfCredential("invalid_token", "token")).toBe(false);
  });

  test("that is a stand-in of three letters hides no words", () => {
    const head = new UpstreamHead(new Response(null, { status: 400 }), null);
    const pieces = [Buffer.from("no x in abcabc")];
    expect(Buffer.concat(maskCredential(head, "abc", pieces)).toString()).toBe("no x in abcabc");
  });
});

test("a relayed error keeps the caller's own credential, which only the caller sees", async () => {
  const { send } = await startRelay((call) => call.reply({ status: 401, body: SAID }));
  const response = await send("POST", "/v1/messages", {
    body: JSON.stringify(MESSAGE),
    headers: { "x-api-key": CREDENTIAL },
  });
  expect(await response.text()).toBe(SAID);
});
