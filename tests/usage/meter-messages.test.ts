import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DIALECTS } from "#usage/dialects.ts";
import { type MeterReading, createMeter, type MeterOptions } from "#usage/meter.ts";

const folder = join(import.meta.dir, "../fixtures/messages");

function ok(
  input: number,
  output: number,
  cached?: number,
  written?: number,
  writtenFor1h?: number,
  searches?: number,
): MeterReading {
  return {
    usage: {
      shape: "exclusive",
      quantities: {
        input_tokens: input,
        output_tokens: output,
        ...(cached !== undefined && { cached_input_tokens: cached }),
        ...(written !== undefined && { cache_write_tokens: written }),
        ...(writtenFor1h !== undefined && { cache_write_1h_tokens: writtenFor1h }),
        ...(searches !== undefined && { web_searches: searches }),
      },
    },
    errorKind: null,
    complete: true,
  };
}

const READINGS: { readonly [fixture: string]: MeterReading } = {
  plain: ok(11, 2, 8, 5, 0),
  "cumulative-usage-at-the-end": ok(12, 2, 9, 6, 0, 1),
  "delta-with-nulls-resets-nothing": ok(11, 2, 8, 5, 0),
  "usage-in-other-events-is-content": ok(11, 2, 8, 5, 0),
  "tool-use-with-partial-json": ok(11, 2, 8, 5, 0),
  "error-after-start": {
    ...ok(11, 1, 8, 5, 0),
    errorKind: "overloaded_error",
    isUsageBegun: true,
    complete: false,
  },
  "error-alone": { usage: null, errorKind: "rate_limit_error", complete: false },
  "no-stop-unterminated": ok(11, 2, 8, 5, 0),
  "without-event-names": ok(11, 2, 8, 5),
  "without-caches": ok(11, 2),
  "broken-event-is-skipped": ok(11, 2, 8, 5, 0),
  "end-signalled-by-a-gateway": ok(11, 2, 8, 5, 0),
};

describe("the service tier of the messages dialect", () => {
  const tierOf = (...events: readonly object[]) => {
    const meter = createMeter(DIALECTS.messages, { streamed: true, statusCode: 200 });
    for (const event of events) meter.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
    return meter.finish().tier;
  };
  const start = (usage: object) => ({
    type: "message_start",
    message: { usage: { input_tokens: 1, ...usage } },
  });
  const delta = (usage: object) => ({ type: "message_delta", usage: { output_tokens: 2, ...usage } });

  test.each([
    [undefined, [start({ service_tier: "standard" }), delta({})]],
    ["priority", [start({ service_tier: "priority" }), delta({})]],
    ["batch", [start({ service_tier: "standard" }), delta({ service_tier: "batch" })]],
    ["fast", [start({ service_tier: "standard", speed: "fast" }), delta({})]],
    ["fast", [start({}), delta({ speed: "fast" })]],
    ["priority+fast", [start({ service_tier: "priority", speed: "fast" }), delta({ speed: null })]],
    ["batch+fast", [start({ service_tier: "priority" }), delta({ service_tier: "batch", speed: "Fast" })]],
    ["fast", [start({ service_tier: "fast", speed: "fast" }), delta({ speed: "" })]],
    ["priority", [start({ service_tier: "priority", speed: "fast" }), delta({ speed: "standard" })]],
    ["flex", [{ type: "response.completed", response: { service_tier: "flex" } }]],
  ] as const)("is %s as %j says it", (tier, events) => {
    expect(tierOf(...events)).toBe(tier);
  });

  test("is that of a body as well, and none of what only counts", () => {
    const body = '{"usage":{"input_tokens":1,"output_tokens":2,"service_tier":"priority"}}';
    for (const counting of [false, true]) {
      const meter = createMeter(toDialect(counting), { streamed: false, statusCode: 200 });
      meter.push(Buffer.from(body));
      expect(meter.finish().tier).toBe(counting ? undefined : "priority");
    }
  });
});

describe("streams of the messages dialect", () => {
  test("every fixture has a reading and every reading a fixture", () => {
    const names = readdirSync(folder).map((file) => file.replace(".sse", ""));
    expect(names.sort()).toEqual(Object.keys(READINGS).sort());
  });

  test.each(Object.entries(READINGS))(
    "%s is metered alike with each line end, cut at each byte and byte by byte",
    (name, reading) => {
      const text = readFileSync(join(folder, `${name}.sse`), "utf8");
      for (const lineEnd of ["\n", "\r\n", "\r"]) {
        const bytes = Buffer.from(text.replaceAll("\n", lineEnd));
        expect(readStream([bytes])).toEqual(reading);
        expect(readStream([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(reading);
        const differing: number[] = [];
        for (let cut = 1; cut < bytes.length; cut += 1) {
          const cutReading = readStream([bytes.subarray(0, cut), bytes.subarray(cut)]);
          if (!Bun.deepEquals(cutReading, reading)) differing.push(cut);
        }
        expect(differing).toEqual([]);
      }
    },
  );

  test("a stream that breaks off anywhere has the usage seen so far, and is complete only behind the reason of its stop", () => {
    const bytes = readFileSync(join(folder, "plain.sse"));
    const reason = bytes.indexOf('"end_turn"');
    const stopEnd = bytes.indexOf("\n", reason);
    let outputTokens = -1;
    for (let end = 0; end <= bytes.length; end += 1) {
      const { usage, errorKind, complete } = readStream([bytes.subarray(0, end)]);
      const seen = usage?.quantities.output_tokens ?? -1;
      expect(seen).toBeGreaterThanOrEqual(outputTokens);
      expect({ errorKind, complete }).toEqual({ errorKind: null, complete: end >= stopEnd });
      outputTokens = seen;
    }
    expect(outputTokens).toBe(2);
  });
});

describe("unary answers of the messages dialect", () => {
  const cases: readonly [string, unknown, MeterReading][] = [
    [
      "the top-level usage, cache reads and cache writes beside the input",
      {
        type: "message",
        content: [{ type: "text", text: '"usage"' }],
        usage: {
          input_tokens: 11,
          output_tokens: 2,
          cache_read_input_tokens: 8,
          cache_creation_input_tokens: 5,
          cache_creation: { ephemeral_5m_input_tokens: 99 },
        },
      },
      ok(11, 2, 8, 5),
    ],
    [
      "cache writes that are kept for an hour, apart from the others",
      {
        usage: {
          input_tokens: 11,
          output_tokens: 2,
          cache_read_input_tokens: 8,
          cache_creation_input_tokens: 7,
          cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 2 },
        },
      },
      ok(11, 2, 8, 5, 2),
    ],
    [
      "an input without caches is exclusive all the same",
      { usage: { input_tokens: 11, output_tokens: 2 } },
      ok(11, 2),
    ],
    [
      "usage that stands deeper is content",
      {
        message: { usage: { input_tokens: 1 } },
        choices: [{ usage: { input_tokens: 1 } }],
        content: [{ usage: { input_tokens: 1 } }],
      },
      { usage: null, errorKind: null, complete: true },
    ],
    [
      "quantities that are none are dropped one by one",
      {
        usage: {
          input_tokens: -1,
          output_tokens: 2,
          cache_read_input_tokens: "8",
          cache_creation_input_tokens: 2 ** 53,
        },
      },
      {
        usage: { shape: "exclusive", quantities: { output_tokens: 2 } },
        errorKind: null,
        complete: true,
      },
    ],
    [
      "a 200 that is nothing but an error",
      { type: "error", error: { type: "api_error", message: "x" } },
      { usage: null, errorKind: "api_error", complete: true },
    ],
    [
      "a count of tokens is no usage",
      { input_tokens: 2095 },
      { usage: null, errorKind: null, complete: true },
    ],
  ];
  test.each(cases)("%s", (_, body, reading) => {
    expect(read([Buffer.from(JSON.stringify(body))], { streamed: false, statusCode: 200 })).toEqual(reading);
  });

  test("an error status takes its kind from error.type", () => {
    const body = { type: "error", error: { type: "invalid_request_error", message: "x" } };
    expect(read([Buffer.from(JSON.stringify(body))], { streamed: false, statusCode: 400 }).errorKind).toBe(
      "invalid_request_error",
    );
  });
});

test("an answer to counting has no usage, streamed or not, and still its error", () => {
  const usage = { usage: { input_tokens: 14, output_tokens: 3 } };
  const counting = { counting: true, statusCode: 200 };
  expect(read([Buffer.from(JSON.stringify(usage))], { ...counting, streamed: false }).usage).toBeNull();
  const stream = readFileSync(join(folder, "error-after-start.sse"));
  expect(read([stream], { ...counting, streamed: true })).toEqual({
    usage: null,
    errorKind: "overloaded_error",
    complete: false,
  });
});

describe("the model of an answer", () => {
  const unary = { streamed: false, statusCode: 200 };
  const streamed = { streamed: true, statusCode: 200 };
  const modelOf = (text: string, options: typeof unary) => readAll([Buffer.from(text)], options).model;
  const toStream = (...events: readonly object[]) =>
    events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const start = (message: object) => ({ type: "message_start", message: { usage: {}, ...message } });

  test("is what its message names, also where that is long", () => {
    expect(modelOf('{"type":"message","model":"dear","usage":{"input_tokens":1}}', unary)).toBe("dear");
    const long = { type: "message", content: "x".repeat(100_000), model: "dear" };
    expect(modelOf(JSON.stringify(long), unary)).toBe("dear");
    expect(modelOf(toStream(start({ model: "dear" }), { type: "message_stop" }), streamed)).toBe("dear");
  });

  test("is the first that a stream names, and none that is deeper or no text", () => {
    expect(modelOf(toStream(start({ model: "dear" }), start({ model: "other" })), streamed)).toBe("dear");
    for (const model of [7, null, ["dear"], { name: "dear" }])
      expect(modelOf(JSON.stringify({ model }), unary)).toBeUndefined();
    expect(modelOf('{"message":{"model":"dear"}}', unary)).toBeUndefined();
    expect(
      modelOf(toStream({ type: "content_block_delta", delta: { model: "dear" } }), streamed),
    ).toBeUndefined();
  });
});

function readStream(parts: readonly Uint8Array[]): MeterReading {
  return read(parts, { streamed: true, statusCode: 200 });
}

function read(
  parts: readonly Uint8Array[],
  options: MeterOptions & { readonly counting?: boolean },
): MeterReading {
  const { model: _model, ...reading } = readAll(parts, options);
  return reading;
}

function readAll(
  parts: readonly Uint8Array[],
  options: MeterOptions & { readonly counting?: boolean },
): MeterReading {
  const meter = createMeter(toDialect(options.counting), options);
  for (const part of parts) meter.push(part);
  return meter.finish();
}

function toDialect(counting = false) {
  return counting ? DIALECTS.counting : DIALECTS.messages;
}
