import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { classifyOutcome } from "#forward/proxied-request.ts";
import { DIALECTS, isTerminal } from "#usage/dialects.ts";
import { type MeterReading, createMeter } from "#usage/meter.ts";

const folder = join(import.meta.dir, "../fixtures/responses");
const TOLD = { id: "resp_1", status: "completed", isBackground: false, isStored: true };
const USAGE = {
  shape: "inclusive",
  quantities: { input_tokens: 19, output_tokens: 2, cached_input_tokens: 8, cache_write_tokens: 3 },
} as const;
const COMPLETED: MeterReading = { usage: USAGE, errorKind: null, complete: true, response: TOLD };

const READINGS: { readonly [fixture: string]: MeterReading } = {
  completed: COMPLETED,
  "without-event-names": COMPLETED,
  incomplete: { ...COMPLETED, response: { ...TOLD, status: "incomplete" } },
  failed: { ...COMPLETED, errorKind: "server_error", response: { ...TOLD, status: "failed" } },
  "failed-without-usage": {
    usage: null,
    errorKind: "rate_limit_exceeded",
    complete: true,
    response: { ...TOLD, status: "failed" },
  },
  "error-event": {
    usage: null,
    errorKind: "server_error",
    complete: false,
    response: { ...TOLD, status: "in_progress" },
  },
  background: {
    usage: null,
    errorKind: null,
    complete: false,
    response: { ...TOLD, status: "queued", isBackground: true },
  },
  "not-stored": { ...COMPLETED, response: { ...TOLD, isStored: false } },
  "breaks-off-after-an-item": {
    usage: null,
    errorKind: null,
    complete: false,
    response: { ...TOLD, status: "in_progress" },
  },
  "usage-in-content": COMPLETED,
};

describe("streams of the responses dialect", () => {
  test("every fixture has a reading and every reading a fixture", () => {
    const names = readdirSync(folder).map((file) => file.replace(".sse", ""));
    expect(names.sort()).toEqual(Object.keys(READINGS).sort());
  });

  test.each(Object.entries(READINGS))(
    "%s is metered alike with each line end, cut anywhere and byte by byte",
    (name, reading) => {
      const text = readFileSync(join(folder, `${name}.sse`), "utf8");
      for (const lineEnd of ["\n", "\r\n", "\r"]) {
        const bytes = Buffer.from(text.replaceAll("\n", lineEnd));
        expect(readStream([bytes])).toMatchObject(reading);
        const whole = readStream([bytes]);
        expect(readStream([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
        const differing: number[] = [];
        for (let cut = 1; cut < bytes.length; cut += 7) {
          if (!Bun.deepEquals(readStream([bytes.subarray(0, cut), bytes.subarray(cut)]), whole))
            differing.push(cut);
        }
        expect(differing).toEqual([]);
      }
    },
  );

  test("the id is known as soon as the first event was pushed, long or short, and never from content", () => {
    for (const instructions of ["", "x".repeat(100_000)]) {
      const meter = createMeter(DIALECTS.responses, { streamed: true, statusCode: 200 });
      const event = {
        type: "response.created",
        response: { id: "resp_1", object: "response", status: "queued", background: true, instructions },
      };
      const bytes = Buffer.from(`event: response.created\ndata: ${JSON.stringify(event)}\n\n`);
      meter.push(bytes.subarray(0, bytes.length - 2));
      expect(meter.response).toBeNull();
      meter.push(bytes.subarray(bytes.length - 2));
      expect(meter.response).toEqual({ ...TOLD, status: "queued", isBackground: true });
    }
    const meter = createMeter(DIALECTS.responses, { streamed: true, statusCode: 200 });
    meter.push(
      Buffer.from(
        'data: {"type":"response.output_text.delta","delta":"\\"response\\":{\\"id\\":\\"x\\"}"}\n\n',
      ),
    );
    expect(meter.response).toBeNull();
  });

  test("a stream whose caller leaves behind an item is read on for its usage, and one behind a last event is whole", () => {
    const meter = createMeter(DIALECTS.responses, { streamed: true, statusCode: 200 });
    meter.push(readFileSync(join(folder, "breaks-off-after-an-item.sse")));
    expect(meter.awaitsUsage).toBe(true);
    const whole = createMeter(DIALECTS.responses, { streamed: true, statusCode: 200 });
    whole.push(readFileSync(join(folder, "incomplete.sse")));
    expect(whole.awaitsUsage).toBe(false);
    expect(classifyOutcome({ kind: "cancelled", metered: whole.finish() }, 200).outcome).toBe("ok");
    expect(classifyOutcome({ kind: "cancelled", metered: meter.finish() }, 200).outcome).toBe("cancelled");
  });

  test("usage counts in the events that end a stream, and in no other", () => {
    const usage = { input_tokens: 998, output_tokens: 7 };
    for (const type of ["response.created", "response.in_progress", "response.output_text.delta"]) {
      const meter = createMeter(DIALECTS.responses, { streamed: true, statusCode: 200 });
      meter.push(
        Buffer.from(`data: ${JSON.stringify({ type, response: { object: "response", usage } })}\n\n`),
      );
      expect(meter.finish().usage).toBeNull();
    }
  });

  test("the code of a failed event is the kind of the failure, also where its response does not say that it is one", () => {
    const event = {
      type: "response.failed",
      response: { status: "failed", error: { code: "server_error" } },
    };
    const meter = createMeter(DIALECTS.responses, { streamed: true, statusCode: 200 });
    meter.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
    expect(meter.finish()).toMatchObject({ errorKind: "server_error", complete: true });
  });

  test("events between the first and the last are passed over without being parsed", () => {
    const delta = Buffer.from(
      `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"response.completed"}\n\n`,
    );
    const { parse } = JSON;
    let parsed = 0;
    JSON.parse = (text: string) => {
      parsed += 1;
      return parse(text);
    };
    try {
      const meter = createMeter(DIALECTS.responses, { streamed: true, statusCode: 200 });
      for (let index = 0; index < 100; index += 1) meter.push(delta);
      expect(meter.finish().usage).toBeNull();
    } finally {
      JSON.parse = parse;
    }
    expect(parsed).toBe(0);
  });
});

describe("unary answers of the responses dialect", () => {
  const body = (told: object) => ({
    id: "resp_1",
    object: "response",
    status: "completed",
    background: false,
    error: null,
    store: true,
    usage: {
      input_tokens: 19,
      input_tokens_details: { cached_tokens: 8, cache_write_tokens: 3 },
      output_tokens: 2,
    },
    output: [{ usage: { input_tokens: 99 } }],
    ...told,
  });
  const outcomeOf = (told: object, statusCode = 200) =>
    classifyOutcome({ kind: "answered", metered: read(body(told), statusCode) }, statusCode);

  test.each([
    [{}, { outcome: "ok", errorKind: null }],
    [{ status: "incomplete" }, { outcome: "ok", errorKind: null }],
    [
      { status: "in_progress", usage: null },
      { outcome: "ok", errorKind: null },
    ],
    [
      { status: "cancelled", usage: null },
      { outcome: "cancelled", errorKind: null },
    ],
    [
      { status: "failed", error: { code: "invalid_prompt", type: "internal", message: "x" } },
      { outcome: "upstream_error", errorKind: "invalid_prompt" },
    ],
    [
      { status: "failed", error: { code: null, type: "internal" } },
      { outcome: "upstream_error", errorKind: "internal" },
    ],
    [
      { status: "failed", error: null },
      { outcome: "upstream_error", errorKind: "failed" },
    ],
  ] as const)("with %j has the outcome %j", (told, expected) => {
    expect(outcomeOf(told)).toMatchObject({ ...expected, statusCode: 200 });
  });

  test("tell their usage, id, status, background and store, also where they are long", () => {
    for (const instructions of ["", "x".repeat(50_000)]) {
      expect(read(body({ instructions }))).toMatchObject(COMPLETED);
      expect(read(body({ instructions, store: false, background: true, status: "queued" })).response).toEqual(
        {
          id: "resp_1",
          status: "queued",
          isBackground: true,
          isStored: false,
        },
      );
    }
  });

  test("that are no response tell none: a compacted one, an error, a list, and an id that is no text", () => {
    expect(read(body({ object: "response.compaction" }))).toMatchObject({ usage: USAGE });
    for (const other of [
      body({ object: "response.compaction" }),
      body({ id: 7 }),
      body({ id: "" }),
      { object: "list", data: [body({})] },
      { error: { code: "x" } },
      [],
    ])
      expect(read(other).response).toBeUndefined();
  });

  test("an answer that is whole is no failure because a member error stands beside it", () => {
    const meter = createMeter(DIALECTS.responses, { streamed: false, statusCode: 200 });
    const output = [{ type: "message", id: "msg_1", content: [] }];
    meter.push(Buffer.from(JSON.stringify({ ...body({}), output, error: { code: "odd", message: "odd" } })));
    expect(meter.finish()).toMatchObject({ errorKind: null, usage: { quantities: { input_tokens: 19 } } });
  });

  test("an error status has the kind of its error", () => {
    const { errorKind } = read({ error: { type: "invalid_request_error", code: "x", message: "y" } }, 400);
    expect(errorKind).toBe("invalid_request_error");
  });
});

test("nothing more comes of a response with a terminal status", () => {
  expect(["completed", "failed", "incomplete", "cancelled"].every(isTerminal)).toBe(true);
  expect(["queued", "in_progress", null, "odd"].some(isTerminal)).toBe(false);
});

test("an event that is named error counts by its code, else by the type of its error", () => {
  const kindOf = (event: object) => readStream([Buffer.from(`data: ${JSON.stringify(event)}\n\n`)]).errorKind;
  expect(kindOf({ type: "error", code: "a", error: { type: "b" } })).toBe("a");
  expect(kindOf({ type: "error", code: null, error: { type: "b", code: "c" } })).toBe("b");
  expect(kindOf({ type: "error" })).toBe("http_200");
});

function readStream(parts: readonly Uint8Array[]): MeterReading {
  const meter = createMeter(DIALECTS.responses, { streamed: true, statusCode: 200 });
  for (const part of parts) meter.push(part);
  return meter.finish();
}

function read(body: unknown, statusCode = 200): MeterReading {
  const meter = createMeter(DIALECTS.responses, { streamed: false, statusCode });
  meter.push(Buffer.from(JSON.stringify(body)));
  return meter.finish();
}
