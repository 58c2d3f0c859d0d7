import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DIALECTS } from "#usage/dialects.ts";
import { type MeterReading, createMeter } from "#usage/meter.ts";

const folder = join(import.meta.dir, "../fixtures/streams");

function ok(input: number, output: number, cached?: number): MeterReading {
  const quantities = { input_tokens: input, output_tokens: output };
  return {
    usage: {
      shape: "inclusive",
      quantities: cached === undefined ? quantities : { ...quantities, cached_input_tokens: cached },
    },
    errorKind: null,
    complete: true,
  };
}

const READINGS: { readonly [fixture: string]: MeterReading } = {
  "openai-usage-in-last-event": ok(19, 2, 8),
  "azure-filter-results-first": ok(19, 2),
  "groq-x-groq-only": ok(19, 2),
  "groq-usage-twice": ok(19, 2, 8),
  "deepseek-cache-hit-and-miss": ok(19, 2, 8),
  "mistral-usage-with-finish-reason": ok(19, 2, 8),
  "moonshot-usage-in-first-choice": ok(19, 2, 8),
  "openrouter-comments-and-cost": {
    ...ok(19, 2, 8),
    usage: {
      shape: "inclusive",
      quantities: { input_tokens: 19, output_tokens: 2, cached_input_tokens: 8, cache_write_tokens: 3 },
    },
    costReportedPico: 140_000_000n,
  },
  "vllm-continuous-usage": ok(19, 2),
  "gemini-thoughts-outside-completion": ok(19, 2),
  "llama-cpp-timings": ok(19, 2),
  "xai-reasoning-tokens": ok(19, 2, 8),
  "perplexity-usage-in-every-event": { ...ok(19, 2), complete: false, costReportedPico: 6_000_000_000n },
  "completions-legacy": ok(19, 2),
  "ollama-usage-in-last-event": ok(19, 2),
  "together-usage-with-finish-reason": ok(19, 2, 8),
  "usage-then-null-and-empty": ok(19, 2, 8),
  "usage-after-done": ok(19, 2),
  "fractional-quantities": ok(19.5, 0.25),
  "gateway-input-tokens-with-cache-reads": {
    usage: {
      shape: "exclusive",
      quantities: { input_tokens: 11, output_tokens: 2, cached_input_tokens: 8, cache_write_tokens: 5 },
    },
    errorKind: null,
    complete: true,
  },
  "gateway-prompt-tokens-with-cache-reads": ok(19, 2, 8),
  "gateway-names-change-midway": ok(19, 2, 8),
  "usage-dropped-one-by-one": ok(19, 2),
  "usage-word-in-content": { usage: null, errorKind: null, complete: false },
  "no-done-unterminated-last-event": { ...ok(19, 2), complete: false },
  "broken-event-is-skipped": ok(19, 2),
  "multi-line-data": ok(19, 2),
  "byte-order-mark-and-no-space": ok(19, 2),
  "split-utf-8": ok(19, 2),
  "error-after-tokens": { ...ok(19, 1), errorKind: "server_error" },
  "error-openrouter-with-choices": { usage: null, errorKind: "http_502", complete: false },
  "vllm-error-object-in-200": { ...ok(19, 1), errorKind: "badrequesterror" },
  "error-string-without-a-name": { usage: null, errorKind: "http_200", complete: false },
  "error-named-event": { usage: null, errorKind: "overloaded", complete: false },
};

describe("stream fixtures", () => {
  test("every fixture has a reading and every reading a fixture", () => {
    const names = readdirSync(folder).map((file) => file.replace(".sse", ""));
    expect(names.sort()).toEqual(Object.keys(READINGS).sort());
  });

  test.each(Object.entries(READINGS))(
    "%s is metered alike when cut at each byte and byte by byte",
    (name, reading) => {
      const text = readFileSync(join(folder, `${name}.sse`), "utf8");
      for (const lineEnd of ["\n", "\r\n", "\r"]) {
        const bytes = Buffer.from(text.replaceAll("\n", lineEnd));
        expect(read([bytes])).toEqual(reading);
        expect(read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(reading);
        const differing: number[] = [];
        for (let cut = 1; cut < bytes.length; cut += 1) {
          const cutReading = read([bytes.subarray(0, cut), bytes.subarray(cut)]);
          if (!Bun.deepEquals(cutReading, reading)) differing.push(cut);
        }
        expect(differing).toEqual([]);
      }
    },
  );

  test("a stream that breaks off anywhere has the usage that was seen so far and is never complete before its end", () => {
    const bytes = readFileSync(join(folder, "vllm-continuous-usage.sse"));
    const doneEnd = bytes.indexOf("[DONE]") + "[DONE]".length;
    let outputTokens = -1;
    for (let end = 0; end <= bytes.length; end += 1) {
      const { usage, errorKind, complete } = read([bytes.subarray(0, end)]);
      const seen = usage?.quantities.output_tokens ?? -1;
      expect(seen).toBeGreaterThanOrEqual(outputTokens);
      expect({ errorKind, complete }).toEqual({ errorKind: null, complete: end >= doneEnd });
      outputTokens = seen;
    }
    expect(outputTokens).toBe(2);
  });
});

function read(parts: readonly Uint8Array[]): MeterReading {
  const meter = createMeter(DIALECTS.chat, { streamed: true, statusCode: 200 });
  for (const part of parts) meter.push(part);
  return meter.finish();
}
