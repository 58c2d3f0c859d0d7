import { afterEach, describe, expect, test } from "bun:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import {
  DECODED_FREE_BYTES,
  DECODED_RATIO_MAX,
  METERING_MS_MAX,
  createDecoder,
  decodeShort,
} from "#forward/decode.ts";
import { createMetering } from "#forward/metering.ts";
import { UpstreamHead } from "#forward/upstream.ts";
import { CHAT, COMPLETION, SSE_DONE, SSE_USAGE, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

afterEach(stopPairs);

const CODINGS = {
  gzip: gzipSync,
  "x-gzip": gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
} as const;
const names = ["gzip", "x-gzip", "deflate", "br", "zstd"] as const;
const LINE_FEEDS = Buffer.alloc(4 * 1024 * 1024, "\n");
const reported = { quantities: { input_tokens: 7, output_tokens: 3 } };

function toHead(coding: string, lengthBytes: number): UpstreamHead {
  const headers = {
    "content-type": "application/json",
    "content-encoding": coding,
    "content-length": `${lengthBytes}`,
  };
  return new UpstreamHead(new Response(null, { headers }), null);
}

describe("a short compressed answer of known length", () => {
  test.each(names.filter((name) => name !== "br"))(
    "is metered before anything else is done, without another thread: %s",
    (coding) => {
      const packed = CODINGS[coding](COMPLETION);
      const metering = createMetering(toHead(coding, packed.length), "chat", false);
      expect(metering.push(packed)).toBeNull();
      const reading = metering.finish();
      expect(reading).not.toBeInstanceOf(Promise);
      expect(reading).toMatchObject({ usage: reported, complete: true });
    },
  );

  test("is metered by the other thread where its length was told wrong or it comes in pieces", async () => {
    const packed = gzipSync(COMPLETION);
    for (const [lengthBytes, pieces] of [
      [packed.length + 1, [packed]],
      [packed.length, [packed.subarray(0, 10), packed.subarray(10)]],
    ] as const) {
      const metering = createMetering(toHead("gzip", lengthBytes), "chat", false);
      for (const piece of pieces) await metering.push(piece);
      expect(await metering.finish()).toMatchObject({ usage: reported });
    }
  });

  test("that is long once decoded, and still within the limits, is metered", async () => {
    const long = JSON.stringify({ pad: toVaried(DECODED_FREE_BYTES * 2), ...JSON.parse(COMPLETION) });
    const packed = gzipSync(long);
    expect(packed.length).toBeLessThan(16 * 1024);
    const metering = createMetering(toHead("gzip", packed.length), "chat", false);
    await metering.push(packed);
    expect(await metering.finish()).toMatchObject({ usage: reported });
  });
});

describe("what is decoded for the meter", () => {
  test("is decoded on this thread where one call is bounded, and never brotli", () => {
    const text = Buffer.from('{"usage":{"prompt_tokens":7}}');
    for (const coding of names) {
      const decoded = decodeShort(coding, CODINGS[coding](text));
      expect(decoded?.toString() ?? null).toBe(coding === "br" ? null : text.toString());
    }
  });

  test.each(names)("is bounded by the compressed bytes that came: %s", async (coding) => {
    const packed = CODINGS[coding](LINE_FEEDS);
    let decodedBytes = 0;
    const decoder = createDecoder(coding, (bytes) => (decodedBytes += bytes.length));
    await decoder?.push(packed);
    await decoder?.finish();
    expect(decodedBytes).toBeLessThanOrEqual(DECODED_FREE_BYTES + packed.length * DECODED_RATIO_MAX);
    expect(decodedBytes).toBeGreaterThan(0);
    expect(decoder?.isLimited).toBe(true);
  });

  test("is bounded by the time that the meter takes for it", async () => {
    const plain = Buffer.alloc(DECODED_FREE_BYTES, "data:x\n\n");
    let nowMs = 0;
    let pieceCount = 0;
    const decoder = createDecoder(
      "gzip",
      () => {
        pieceCount += 1;
        nowMs += METERING_MS_MAX / 2;
      },
      () => nowMs,
    );
    await decoder?.push(gzipSync(plain));
    await decoder?.finish();
    expect(pieceCount).toBe(3);
    expect(decoder?.isLimited).toBe(true);
  });
});

describe("an answer whose decoding passes a limit", () => {
  test("passes unchanged, as ok, and its usage is unknown: not that of its beginning", async () => {
    const packed = brotliCompressSync(
      Buffer.concat([Buffer.from(SSE_USAGE), LINE_FEEDS, Buffer.from(SSE_DONE)]),
    );
    const { proxy } = await startPair(async (call) => {
      await call.beginStream(["content-type: text/event-stream", "content-encoding: br"]);
      await call.sendChunk(packed);
      await call.endStream();
    });
    const response = await proxy.post(STREAMED_CHAT);
    expect(Buffer.from(await response.arrayBuffer()).equals(packed)).toBe(true);
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "ok", errorKind: null, usage: null });
  });

  test("keeps the kind of its error", async () => {
    const packed = brotliCompressSync(LINE_FEEDS);
    const { proxy } = await startPair((call) =>
      call.reply({ status: 429, headers: ["content-encoding: br"], body: packed }),
    );
    const response = await proxy.post(CHAT);
    expect(Buffer.from(await response.arrayBuffer()).equals(packed)).toBe(true);
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "upstream_error", errorKind: "http_429" });
  });
});

/** Text that is compressed to a fiftieth or so. */
function toVaried(lengthBytes: number): string {
  let text = "";
  for (let index = 0; text.length < lengthBytes; index += 1)
    text += `${index} the same words again, and again: ${"word ".repeat(40)}`;
  return text;
}
