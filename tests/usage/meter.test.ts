import { describe, expect, mock, spyOn, test } from "bun:test";
import { join } from "node:path";
import * as fc from "fast-check";
import type { ReportedUsage } from "#usage/event.ts";
import { DIALECTS } from "#usage/dialects.ts";
import { type MeterReading, createMeter } from "#usage/meter.ts";
import { UsageAccumulator } from "#usage/usage-accumulator.ts";
import { countByteWork } from "./byte-work.ts";

const encoder = new TextEncoder();
const answer = { id: "c", object: "chat.completion", choices: [{ index: 0, message: { content: "x" } }] };

describe("unary bodies", () => {
  const usage = { prompt_tokens: 19, completion_tokens: 2, total_tokens: 21 };
  const inclusive = (quantities: ReportedUsage["quantities"]): ReportedUsage => ({
    shape: "inclusive",
    quantities,
  });
  const two = inclusive({ input_tokens: 19, output_tokens: 2 });
  const table: readonly [string, unknown, ReportedUsage | null][] = [
    ["OpenAI: usage at top level", { ...answer, usage }, two],
    ["Moonshot: usage in the first choice", { ...answer, choices: [{ usage }] }, two],
    ["Groq: usage in x_groq", { ...answer, x_groq: { id: "r", usage } }, two],
    [
      "top-level usage counts before that of the first choice, and that before x_groq",
      { usage, choices: [{ usage: { prompt_tokens: 1 } }], x_groq: { usage: { prompt_tokens: 2 } } },
      two,
    ],
    [
      "a null or empty usage gives way to the next place",
      { usage: null, choices: [{ usage: {} }], x_groq: { usage } },
      two,
    ],
    ["the second choice is not looked at", { choices: [{}, { usage }] }, null],
    [
      "nothing deeper is looked at",
      { response: { usage }, message: { usage }, choices: [{ message: { usage } }] },
      null,
    ],
    ["no usage", answer, null],
    ["an array instead of usage", { ...answer, usage: [usage] }, null],
    ["a total alone, from which nothing is derived", { ...answer, usage: { total_tokens: 21 } }, null],
    [
      "embeddings: prompt tokens only",
      { object: "list", data: [], usage: { prompt_tokens: 5, total_tokens: 5 } },
      inclusive({ input_tokens: 5 }),
    ],
    [
      "Ollama: zeroes are reported",
      { ...answer, usage: { prompt_tokens: 0, completion_tokens: 0 } },
      inclusive({ input_tokens: 0, output_tokens: 0 }),
    ],
    [
      "a negative zero is a zero",
      { ...answer, usage: { prompt_tokens: -0 } },
      inclusive({ input_tokens: 0 }),
    ],
    [
      "Together: cached tokens beside the prompt",
      { usage: { ...usage, cached_tokens: 8 } },
      inclusive({ ...two.quantities, cached_input_tokens: 8 }),
    ],
    [
      "Fireworks, OpenAI: cached tokens in the details",
      { usage: { ...usage, prompt_tokens_details: { cached_tokens: 8 } } },
      inclusive({ ...two.quantities, cached_input_tokens: 8 }),
    ],
    [
      "DeepSeek: cache hits",
      { usage: { ...usage, prompt_cache_hit_tokens: 8, prompt_cache_miss_tokens: 11 } },
      inclusive({ ...two.quantities, cached_input_tokens: 8 }),
    ],
    [
      "input and output tokens without cache counts are inclusive",
      { usage: { input_tokens: 19, output_tokens: 2, input_tokens_details: { cached_tokens: 8 } } },
      inclusive({ ...two.quantities, cached_input_tokens: 8 }),
    ],
    [
      "input tokens with cache reads and cache writes are exclusive",
      {
        usage: {
          input_tokens: 11,
          output_tokens: 2,
          cache_read_input_tokens: 8,
          cache_creation_input_tokens: 5,
        },
      },
      {
        shape: "exclusive",
        quantities: { input_tokens: 11, output_tokens: 2, cached_input_tokens: 8, cache_write_tokens: 5 },
      },
    ],
    [
      "prompt tokens are inclusive whatever stands beside them",
      { usage: { ...usage, input_tokens: 11, cache_read_input_tokens: 8, cache_creation_input_tokens: 5 } },
      inclusive({ ...two.quantities, cached_input_tokens: 8 }),
    ],
    [
      "audio durations are not served yet and stay absent",
      { text: "x", usage: { type: "duration", seconds: 12 } },
      null,
    ],
  ];
  test.each(table)("%s", (_, body, expected) => {
    expect(readUnary(body).usage).toEqual(expected);
  });

  test("a bad quantity is dropped alone", () => {
    for (const bad of ["-1", "1e400", "-1e400", '"7"', "null", "true", "{}", "[3]", "9007199254740992"]) {
      const text = `{"usage":{"prompt_tokens":${bad},"completion_tokens":2}}`;
      expect(readText(text).usage).toEqual(inclusive({ output_tokens: 2 }));
    }
    expect(readText('{"usage":{"prompt_tokens":9007199254740991}}').usage?.quantities.input_tokens).toBe(
      2 ** 53 - 1,
    );
  });

  test("leading blanks, a byte-order mark and pieces of any size make no difference", () => {
    const bytes = encoder.encode(`\ufeff\n \r\n\t${JSON.stringify({ ...answer, usage, note: "🙂ü" })}\n`);
    const whole = readPieces([bytes], 200);
    expect(whole).toEqual({ usage: two, errorKind: null, complete: true });
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(readPieces([bytes.subarray(0, cut), bytes.subarray(cut)], 200)).toEqual(whole);
    }
  });

  test("what is no JSON has no usage and was not complete", () => {
    for (const text of ["", "{", "<html>", '{"usage":{"prompt_tokens":1}', "[".repeat(200_000)]) {
      expect(readText(text)).toEqual({ usage: null, errorKind: null, complete: false });
    }
  });

  test("a large embeddings answer is metered, in one piece and in many", () => {
    const vector = Array.from({ length: 1536 }, (_, index) => Math.sin(index) / 30);
    const data = Array.from({ length: 100 }, (_, index) => ({
      object: "embedding",
      index,
      embedding: vector,
    }));
    const bytes = encoder.encode(JSON.stringify({ object: "list", data, usage: { prompt_tokens: 700 } }));
    const expected = { usage: inclusive({ input_tokens: 700 }), errorKind: null, complete: true };
    expect(readPieces([bytes], 200)).toEqual(expected);
    const pieces = Array.from({ length: Math.ceil(bytes.length / 1000) }, (_, index) =>
      bytes.subarray(index * 1000, (index + 1) * 1000),
    );
    expect(readPieces(pieces, 200)).toEqual(expected);
  });

  test("an answer of any size is metered, and no more of it is kept than its pruned text", () => {
    const work = countByteWork();
    const piece = encoder.encode("0.123456789,".repeat(10_000));
    const pieces = Array.from({ length: 700 }, () => piece);
    const reading = readPieces(
      [encoder.encode('{"data":['), ...pieces, encoder.encode('0],"usage":{"prompt_tokens":700}}')],
      200,
    );
    mock.restore();
    expect(reading).toEqual({ usage: inclusive({ input_tokens: 700 }), errorKind: null, complete: true });
    expect(work.copiedBytes).toBeLessThan(10_000);
  });
});

describe("empty lines and events of a stream", () => {
  test.each(["\n", "\r", "\r\n", ":\n\n", "data\n\n", "data:\n\n", "data: x\n\n", "event: ping\n\n"])(
    "%j a thousand times is parsed not once, and hides no usage",
    (line) => {
      const parse = spyOn(JSON, "parse");
      const meter = createMeter(DIALECTS.chat, { streamed: true, statusCode: 200 });
      meter.push(encoder.encode(line.repeat(1000)));
      expect(parse).toHaveBeenCalledTimes(0);
      mock.restore();
      for (const byte of encoder.encode(`${line}data: {"usage":{"prompt_tokens":3}}\n\n${line}`))
        meter.push(Uint8Array.of(byte));
      meter.push(encoder.encode(`${line.repeat(9)}data: [DONE]`));
      expect(meter.finish()).toMatchObject({ usage: { quantities: { input_tokens: 3 } }, complete: true });
    },
  );
});

describe("long events of a stream", () => {
  const content = "ü".repeat(1000);
  const usage = { prompt_tokens: 700, prompt_tokens_details: { cached_tokens: 600 } };

  test("are metered as short ones are, wherever they are cut", () => {
    const long = JSON.stringify({ choices: [{ delta: { images: Array(9).fill(content) } }], usage });
    const failed = JSON.stringify({ error: { message: content.repeat(9), type: "overloaded" } });
    const bytes = encoder.encode(`data: ${long}\r\n\r\nevent: error\r\ndata: ${failed}\r\n\r\n`);
    const readCut = (pieces: readonly Uint8Array[]) => {
      const meter = createMeter(DIALECTS.chat, { streamed: true, statusCode: 200 });
      for (const piece of pieces) meter.push(piece);
      return meter.finish();
    };
    const whole = readCut([bytes]);
    expect(whole).toMatchObject({
      usage: { quantities: { input_tokens: 700, cached_input_tokens: 600 } },
      errorKind: "overloaded",
    });
    for (let cut = 1; cut < bytes.length; cut += 97)
      expect(readCut([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(whole);
    expect(readCut(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  test("of any size are metered, and no more of them is kept than their pruned text", () => {
    const piece = encoder.encode("z".repeat(100_000));
    const pieceCount = 300;
    const work = countByteWork();
    const meter = createMeter(DIALECTS.chat, { streamed: true, statusCode: 200 });
    meter.push(encoder.encode('data: {"choices":[{"delta":{"content":"'));
    for (let index = 0; index < pieceCount; index += 1) meter.push(piece);
    meter.push(encoder.encode(`"}}],"usage":${JSON.stringify(usage)}}\n\ndata: [DONE]\n\n`));
    mock.restore();
    expect(meter.finish()).toMatchObject({
      usage: { quantities: { input_tokens: 700 } },
      errorKind: null,
      complete: true,
    });
    expect(work.copiedBytes).toBeLessThan(100_000);
    expect(work.searchedBytes).toBeLessThan(6 * pieceCount * piece.length);
  });

  test("that are no JSON are passed over, and those after them are metered", () => {
    const events = [
      `data: ${"{".repeat(20_000)}\n\n`,
      `: ${content.repeat(9)}\n\n`,
      `data: ${content.repeat(9)}\n\n`,
    ];
    expect(readStream([...events, `data: ${JSON.stringify({ usage })}\n\n`])).toMatchObject({
      usage: { quantities: { input_tokens: 700 } },
      errorKind: null,
    });
  });
});

describe("errors of an upstream", () => {
  test("a 200 whose body is only an error object is an error, with the usage beside it", () => {
    const error = { message: "no", type: "overloaded_error" };
    expect(readUnary({ error }).errorKind).toBe("overloaded_error");
    expect(readUnary([{ error: { code: 429, status: "RESOURCE_EXHAUSTED" } }]).errorKind).toBe(
      "resource_exhausted",
    );
    expect(readUnary({ object: "error", type: "NotFoundError", code: 404 }).errorKind).toBe("notfounderror");
    expect(readUnary({ error, usage: { prompt_tokens: 3 } })).toMatchObject({
      errorKind: "overloaded_error",
      usage: { quantities: { input_tokens: 3 } },
    });
  });

  test("an empty list beside an error is no answer", () => {
    expect(readUnary({ choices: [], error: { code: "server_error" } }).errorKind).toBe("server_error");
    expect(readUnary({ data: [], error: { code: "server_error" } }).errorKind).toBe("server_error");
  });

  test("a 200 with an answer is none, whatever its error field holds", () => {
    expect(readUnary({ ...answer, error: null }).errorKind).toBeNull();
    expect(readUnary({ ...answer, error: { type: "partial" } }).errorKind).toBeNull();
    expect(readUnary({ data: [], error: {} }).errorKind).toBeNull();
    expect(readUnary({ error: {} }).errorKind).toBeNull();
    expect(readUnary({ error: "" }).errorKind).toBeNull();
  });

  test("empty lists beside an error are no answer", () => {
    expect(readUnary({ choices: [], error: { type: "server_error" } }).errorKind).toBe("server_error");
    expect(readUnary({ data: [], error: { type: "server_error" } }).errorKind).toBe("server_error");
  });

  test("an error status has a kind whatever its body is", () => {
    expect(readUnary({ error: { type: "rate_limit_error" } }, 429).errorKind).toBe("rate_limit_error");
    expect(readText("<html>Bad gateway</html>", 502).errorKind).toBe("http_502");
    expect(readText("", 500).errorKind).toBe("http_500");
    expect(readStream(["data: {}\n\n"], 503).errorKind).toBe("http_503");
    expect(readUnary(answer, 404).errorKind).toBe("http_404");
  });

  test("the first error event of a stream is its kind; a null error is none", () => {
    expect(
      readStream([
        'data: {"error":null,"choices":[]}\n\n',
        'data: {"error":"overloaded"}\n\n',
        'data: {"error":{"type":"later"}}\n\n',
      ]).errorKind,
    ).toBe("overloaded");
    expect(readStream(['data: {"error":null,"choices":[]}\n\n', "data: [DONE]\n\n"]).errorKind).toBeNull();
    expect(readStream(["event: error\ndata: it broke\n\n"]).errorKind).toBe("http_200");
  });
});

describe("merging", () => {
  const count = fc.oneof(fc.nat(1000), fc.constantFrom(0, 2 ** 53 - 1));
  const noCount = fc.constantFrom<unknown>(null, -1, "5", 2 ** 53, true, {}, []);
  const field = fc.option(fc.oneof(count, noCount), { nil: undefined });
  const usages = fc.array(
    fc.option(
      fc.record({
        prompt_tokens: field,
        completion_tokens: field,
        cached_tokens: field,
        total_tokens: field,
      }),
      { nil: null },
    ),
    { maxLength: 8 },
  );
  const isCount = (value: unknown) => typeof value === "number" && value >= 0 && value <= 2 ** 53 - 1;

  test("per quantity the last number wins, and nothing else resets it", () => {
    fc.assert(
      fc.property(usages, (reports) => {
        const lastOf = (name: "prompt_tokens" | "completion_tokens" | "cached_tokens") =>
          reports.map((report) => report?.[name]).findLast(isCount);
        const expected = {
          input_tokens: lastOf("prompt_tokens"),
          output_tokens: lastOf("completion_tokens"),
          cached_input_tokens: lastOf("cached_tokens"),
        };
        const { usage } = readStream(
          reports.map((report) => `data: ${JSON.stringify({ choices: [], usage: report })}\n\n`),
        );
        const isEmpty = Object.values(expected).every((value) => value === undefined);
        expect(usage?.quantities ?? null).toEqual(isEmpty ? null : JSON.parse(JSON.stringify(expected)));
      }),
      { numRuns: 300 },
    );
  });

  test("the shape does not depend on the order in which an upstream sends its fields", () => {
    const inclusive = '{"usage":{"prompt_tokens":19,"completion_tokens":2}}';
    const exclusive =
      '{"usage":{"input_tokens":11,"cache_read_input_tokens":8,"cache_creation_input_tokens":5}}';
    const forth = readStream([`data: ${inclusive}\n\n`, `data: ${exclusive}\n\n`]);
    expect(readStream([`data: ${exclusive}\n\n`, `data: ${inclusive}\n\n`])).toEqual(forth);
    expect(forth.usage).toEqual({
      shape: "inclusive",
      quantities: { input_tokens: 19, output_tokens: 2, cached_input_tokens: 8 },
    });
  });

  test("a report that is repeated changes nothing", () => {
    fc.assert(
      fc.property(usages, (reports) => {
        const events = reports.map((report) => `data: ${JSON.stringify({ usage: report })}\n\n`);
        expect(readStream(events.flatMap((event) => [event, event]))).toEqual(readStream(events));
      }),
      { numRuns: 100 },
    );
  });

  test("a dialect that is known to be exclusive is so without a cache count", () => {
    const accumulator = new UsageAccumulator({ defaultsToExclusive: true });
    expect(accumulator.total()).toBeNull();
    expect(accumulator.add({ input_tokens: 3, output_tokens: 1 })).toBe(true);
    expect(accumulator.add({ output_tokens: 4 })).toBe(true);
    expect(accumulator.add({ output_tokens: null })).toBe(false);
    expect(accumulator.total()).toEqual({
      shape: "exclusive",
      quantities: { input_tokens: 3, output_tokens: 4 },
    });
  });
});

describe("whatever the bytes are", () => {
  test("no JSON value anywhere in an event or a body makes the meter throw, and its quantities are never bad", () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const message = fc.dictionary(
      fc.constantFrom("usage", "choices", "x_groq", "error", "type", "object", "code", "__proto__", "data"),
      fc.oneof(
        value,
        fc.array(fc.record({ usage: value })),
        fc.record({ usage: value, prompt_tokens: value, type: value }),
      ),
    );
    fc.assert(
      fc.property(message, fc.constantFrom(200, 404), (body, status) => {
        const text = JSON.stringify(body);
        for (const reading of [readText(text, status), readStream([`data: ${text}\n\n`], status)]) {
          for (const quantity of Object.values(reading.usage?.quantities ?? {}))
            expect(quantity >= 0).toBe(true);
          if (reading.errorKind !== null) expect(reading.errorKind).toMatch(/^[a-z0-9_]{1,64}$/);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("no bytes make the meter throw", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 })), fc.boolean(), (parts, streamed) => {
        const meter = createMeter(DIALECTS.chat, { streamed, statusCode: 200 });
        for (const part of parts) meter.push(part);
        expect(meter.finish().usage).toBeNull();
      }),
      { numRuns: 300 },
    );
  });

  test("an event nested too deep to parse is skipped, and the one after it is metered", () => {
    const deep = `data: ${'{"usage":'.repeat(100_000)}1${"}".repeat(100_000)}\n\n`;
    expect(readStream([deep, 'data: {"usage":{"prompt_tokens":4}}\n\n']).usage?.quantities).toEqual({
      input_tokens: 4,
    });
  });
});

function readUnary(body: unknown, statusCode = 200): MeterReading {
  return readText(JSON.stringify(body), statusCode);
}

function readText(text: string, statusCode = 200): MeterReading {
  return readPieces([encoder.encode(text)], statusCode);
}

function readPieces(pieces: readonly Uint8Array[], statusCode: number): MeterReading {
  const meter = createMeter(DIALECTS.chat, { streamed: false, statusCode });
  for (const piece of pieces) meter.push(piece);
  return meter.finish();
}

function readStream(parts: readonly string[], statusCode = 200): MeterReading {
  const meter = createMeter(DIALECTS.chat, { streamed: true, statusCode });
  for (const part of parts) meter.push(encoder.encode(part));
  return meter.finish();
}

/** Run by a process of its own: modules keep what they found when they were read. */
const METER_WITHOUT_BUFFERS = `
  delete globalThis.Buffer;
  const { DIALECTS } = await import("#usage/dialects.ts");
  const { createMeter } = await import("#usage/meter.ts");
  const meter = createMeter(DIALECTS.chat, { streamed: true, statusCode: 200 });
  const events = ['{"choices":[{"delta":{"content":"hello"}}]}', '{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}', "[DONE]"];
  meter.push(new TextEncoder().encode(events.map((data) => "data: " + data + "\\n\\n").join("")));
  const { usage, complete } = meter.finish();
  console.log(JSON.stringify([usage.quantities, complete]));
`;

test("a stream is metered where there are no buffers, as in the page of the playground", async () => {
  const child = Bun.spawn([process.execPath, "-e", METER_WITHOUT_BUFFERS], {
    cwd: join(import.meta.dir, "../.."),
    stdout: "pipe",
    stderr: "inherit",
  });
  expect(await new Response(child.stdout).json()).toEqual([{ input_tokens: 3, output_tokens: 2 }, true]);
  expect(await child.exited).toBe(0);
});
