import { expect, test } from "bun:test";
import { toEncodedResponse } from "#http/reports/report.ts";

const CHUNK_BYTES = 64 * 1024;

function makeChunks(count: number): Uint8Array<ArrayBuffer>[] {
  return Array.from({ length: count }, (_, index) => new Uint8Array(CHUNK_BYTES - index).fill(index));
}

function serve(chunks: readonly Uint8Array<ArrayBuffer>[]) {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    fetch: () => toEncodedResponse({ chunks, snapped: null, truncated: false }, new Headers({ "x-a": "b" })),
  });
}

test.each([0, 1, 4, 5, 8, 120])("a report of %d chunks arrives whole, and in order", async (count) => {
  const chunks = makeChunks(count);
  using server = serve(chunks);
  const response = await fetch(server.url);
  const whole = Buffer.concat(chunks);
  expect(response.headers.get("x-a")).toBe("b");
  expect(Buffer.from(await response.bytes()).equals(whole)).toBe(true);
});

test("a report that its caller leaves in the middle ends without a trace, and the next one is whole", async () => {
  const chunks = makeChunks(400);
  using server = serve(chunks);
  const controller = new AbortController();
  const left = await fetch(server.url, { signal: controller.signal });
  const reader = left.body?.getReader();
  await reader?.read();
  controller.abort();
  await reader?.read().catch(() => null);
  const response = await fetch(server.url);
  expect((await response.bytes()).length).toBe(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
});
