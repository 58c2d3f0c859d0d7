import { afterEach, describe, expect, mock, test } from "bun:test";
import * as fc from "fast-check";
import type { SseEvent, SseSink } from "#usage/sse.ts";
import { createSseParser, SSE_EVENT_BYTES_MAX } from "#usage/sse.ts";
import { countByteWork } from "./byte-work.ts";

const encoder = new TextEncoder();

describe("server-sent events", () => {
  const table: readonly [string, string, readonly string[]][] = [
    ["LF ends a line", "data: a\n\ndata: b\n\n", ["a", "b"]],
    ["CRLF ends a line once", "data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]],
    ["a lone CR ends a line", "data: a\r\rdata: b\r\r", ["a", "b"]],
    ["line ends may be mixed", "data: a\n\r\ndata: b\r\n\rdata: c\r\n\n", ["a", "b", "c"]],
    [
      "one space after the colon is taken away, and only one",
      "data:a\n\ndata:  b\n\ndata: c \n\n",
      ["a", " b", "c "],
    ],
    ["several data lines are joined by line feeds", "data: a\ndata:\ndata: b\n\n", ["a\n\nb"]],
    [
      "comments and unknown fields are ignored",
      ": hi\nid: 1\nretry: 5\ndata: a\ndatum: x\nDATA: y\n data: z\n\n",
      ["a"],
    ],
    ["a comment alone is no event", ": keep-alive\n\n: again\n\ndata: a\n\n", ["a"]],
    ["a field without a colon has an empty value", "data\n\ndata\ndata\n\n", ["", "\n"]],
    ["one byte-order mark at the start is skipped", "\ufeffdata: a\n\n", ["a"]],
    ["a second byte-order mark is not", "\ufeff\ufeffdata: a\n\ndata: b\n\n", ["b"]],
    ["nor is one before a later line", "data: a\n\n\ufeffdata: b\n\n", ["a"]],
    ["a byte-order mark in a value stays", "data: \ufeffa\n\n", ["\ufeffa"]],
    ["an unterminated last event counts", "data: a\n\ndata: b", ["a", "b"]],
    ["an unterminated last event whose line is ended counts once", "data: a\n\ndata: b\n", ["a", "b"]],
    ["blank lines alone are no event", "\n\n\r\n\r\r", []],
    ["an event's name alone is no event", "event: error\n\n", []],
    ["nothing is no event", "", []],
  ];
  test.each(table)("%s, however the bytes are cut", (_, text, expected) => {
    const bytes = encoder.encode(text);
    expect(dataOf([bytes])).toEqual([...expected]);
    expect(dataOf([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual([...expected]);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(dataOf([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual([...expected]);
    }
  });

  test("a name belongs to its own event and not to the next", () => {
    expect(eventsOf([encoder.encode("event: error\ndata: a\n\ndata: b\n\nevent: x\n\ndata: c\n\n")])).toEqual(
      [
        { name: "error", data: "a" },
        { name: null, data: "b" },
        { name: null, data: "c" },
      ],
    );
  });

  test("an empty read between CR and LF makes no second line end", () => {
    expect(
      dataOf(["data: a\r", "", "\ndata: b\r", "\n\r", "\n"].map((part) => encoder.encode(part))),
    ).toEqual(["a\nb"]);
  });

  test("bytes that the caller uses again after a push are not read again", () => {
    const shared = encoder.encode("data: ab");
    const events: SseEvent[] = [];
    const parser = createSseParser({ take: (event) => void events.push(event) });
    parser.push(shared);
    shared.fill(0x58);
    parser.push(encoder.encode("c\n\n"));
    expect(events).toEqual([{ name: null, data: "abc" }]);
  });

  test("what was encoded with any line ends and cut anywhere is read back", () => {
    const lineEnd = fc.constantFrom("\n", "\r\n", "\r");
    const value = fc
      .string({ unit: "grapheme", maxLength: 12 })
      .map((text) => text.replaceAll(/[\r\n]/g, "_"));
    const lines = fc.array(value, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(lines, { maxLength: 5 }), lineEnd, fc.array(fc.nat(200)), (events, end, cuts) => {
        const text = events
          .map((data) => `${data.map((line) => `data: ${line}${end}`).join("")}${end}`)
          .join("");
        expect(dataOf(cutAt(encoder.encode(text), cuts))).toEqual(events.map((data) => data.join("\n")));
      }),
      { numRuns: 300 },
    );
  });

  test("any bytes, cut anywhere, are read without an exception and alike", () => {
    const parts = fc.constantFrom("data", "event", ":", " ", "\r", "\n", "\r\n", "\ufeff", "🙂", "a");
    const text = fc.array(parts, { maxLength: 40 }).map((some) => encoder.encode(some.join("")));
    const anyBytes = fc.oneof(text, fc.uint8Array({ maxLength: 100 }));
    fc.assert(
      fc.property(anyBytes, fc.array(fc.nat(100)), (bytes, cuts) => {
        expect(eventsOf(cutAt(bytes, cuts))).toEqual(eventsOf([bytes]));
      }),
      { numRuns: 500 },
    );
  });
});

describe("events that are silent", () => {
  const read = (parts: readonly Uint8Array[], isSilentText: (text: string) => boolean) => {
    const events: SseEvent[] = [];
    const asked: SseEvent[] = [];
    const parser = createSseParser(
      {
        take: (event) => void events.push(event),
        isSilent(name, bytes, from, to) {
          const data = Buffer.from(bytes.subarray(from, to)).toString();
          asked.push({ name, data });
          return isSilentText(data);
        },
      },
      16,
    );
    for (const part of parts) parser.push(part);
    parser.finish();
    return { events, asked };
  };

  test("are asked for with their name and their whole data, and passed over with both", () => {
    const text = "event: a\ndata: one\n\ndata: two\r\n\r\ndata:three\r\revent: b\n\ndata: four\n\n";
    const { events, asked } = read([encoder.encode(text)], (data) => data !== "two");
    expect(asked).toEqual([
      { name: "a", data: "one" },
      { name: null, data: "two" },
      { name: null, data: "three" },
      { name: null, data: "four" },
    ]);
    expect(events).toEqual([{ name: null, data: "two" }]);
  });

  test("are not asked for where more of the event may come, where it has several lines, or where it is too long", () => {
    const parts = ["data: a\n", "\ndata: b\ndata: c\n\ndata: d\nevent: e\n\n", `data: ${"f".repeat(10)}\n\n`];
    const { events, asked } = read(
      [...parts, `data:${"g".repeat(11)}\n\n`, "data: h"].map((part) => encoder.encode(part)),
      () => true,
    );
    expect(asked.map(({ data }) => data)).toEqual(["f".repeat(10), "g".repeat(11)]);
    expect(events).toEqual([
      { name: null, data: "a" },
      { name: null, data: "b\nc" },
      { name: "e", data: "d" },
      { name: null, data: "h" },
    ]);
  });

  test("leave the others as they are, however the bytes are cut", () => {
    const parts = fc.constantFrom(
      "data",
      "event",
      ":",
      " ",
      "\r",
      "\n",
      "\r\n",
      "data: ",
      "\n\n",
      "🙂",
      "a",
      "b",
    );
    const text = fc.array(parts, { maxLength: 60 }).map((some) => encoder.encode(some.join("")));
    const hasA = ({ data }: SseEvent) => data.includes("a");
    fc.assert(
      fc.property(text, fc.array(fc.nat(200)), (bytes, cuts) => {
        const { events } = read(cutAt(bytes, cuts), (data) => !data.includes("a"));
        expect(events.filter(hasA)).toEqual(read([bytes], () => false).events.filter(hasA));
      }),
      { numRuns: 500 },
    );
  });
});

describe("long lines", () => {
  afterEach(() => {
    mock.restore();
  });

  test("a line of 10 MB that trickles in is an event, and its bytes are moved and searched a bounded number of times", () => {
    const piece = new Uint8Array(1024).fill(0x61);
    const pieceCount = 10 * 1024;
    const sizeBytes = piece.length * pieceCount;
    const counted = countByteWork();
    const events: SseEvent[] = [];
    const parser = createSseParser({ take: (event) => void events.push(event) });
    parser.push(encoder.encode("data: "));
    for (let index = 0; index < pieceCount; index += 1) parser.push(piece);
    parser.push(encoder.encode("\n\ndata: after\n\n"));

    expect(events.map(({ data }) => data.length)).toEqual([sizeBytes, 5]);
    expect(counted.copiedBytes).toBeLessThan(4 * sizeBytes);
    expect(counted.searchedBytes).toBeLessThan(4 * sizeBytes);
  });

  test("a line past the limit is not an event, is not kept in memory, and those after it are events", () => {
    const piece = new Uint8Array(1024 * 1024).fill(0x61);
    const counted = countByteWork();
    const events: SseEvent[] = [];
    const parser = createSseParser({ take: (event) => void events.push(event) });
    parser.push(encoder.encode("data: {}\ndata: "));
    for (let sent = 0; sent <= SSE_EVENT_BYTES_MAX; sent += piece.length) parser.push(piece);
    const copiedUpToLimit = counted.copiedBytes;
    for (let index = 0; index < 100; index += 1) parser.push(piece);
    expect(counted.copiedBytes).toBe(copiedUpToLimit);
    parser.push(encoder.encode("\ndata: {}\n\ndata: after\n\n"));
    parser.finish();
    expect(events).toEqual([{ name: null, data: "after" }]);
  });

  test("whether a line is past the limit is a matter of its bytes, not of how they were cut or what they mean", () => {
    const prefix = "data: ";
    for (const [character, over] of [
      ["a", 0],
      ["a", 1],
      ["\u20ac", 1],
    ] as const) {
      const text = character.repeat(Math.ceil(SSE_EVENT_BYTES_MAX / Buffer.byteLength(character)));
      const line = encoder.encode(prefix + text).subarray(0, SSE_EVENT_BYTES_MAX + over);
      const rest = encoder.encode("\n\ndata: after\n\n");
      const lengths = (parts: readonly Uint8Array[]) => dataOf(parts).map((data) => data.length);
      const expected = over === 0 ? [SSE_EVENT_BYTES_MAX - prefix.length, 5] : [5];
      expect(lengths([Buffer.concat([line, rest])])).toEqual(expected);
      expect(lengths([line, rest])).toEqual(expected);
      expect(lengths([line.subarray(0, 10), line.subarray(10), rest])).toEqual(expected);
    }
  });

  test("many lines that make one event past the limit together are not an event either", () => {
    const line = encoder.encode(`data: ${"a".repeat(1024 * 1024)}\n`);
    const events: SseEvent[] = [];
    const parser = createSseParser({ take: (event) => void events.push(event) });
    for (let sent = 0; sent <= SSE_EVENT_BYTES_MAX; sent += line.length) parser.push(line);
    parser.push(encoder.encode("\ndata: after\n\n"));
    expect(events).toEqual([{ name: null, data: "after" }]);
  });

  test("a read of many short lines is searched for line ends once, not once per line", () => {
    const bytes = encoder.encode("data: a\n\n".repeat(10_000));
    const counted = countByteWork();
    expect(dataOf([bytes])).toHaveLength(10_000);
    expect(counted.searchedBytes).toBeLessThan(4 * bytes.length);
  });
});

describe("events that are too long to be kept", () => {
  const wholeBytesMax = 16;
  const read = (parts: readonly Uint8Array[]) => {
    const events: { name: string | null; data: string; isWhole: boolean }[] = [];
    const sink: SseSink = {
      take: (event) => void events.push({ ...event, isWhole: true }),
      openLong() {
        const pieces: Uint8Array[] = [];
        return {
          push: (bytes) => void pieces.push(bytes.slice()),
          finish: (name) =>
            events.push({ name, data: Buffer.concat(pieces).toString("utf8"), isWhole: false }),
        };
      },
    };
    const parser = createSseParser(sink, wholeBytesMax);
    for (const part of parts) parser.push(part);
    parser.finish();
    return events;
  };

  test("pass through as they come, with their name, their lines joined by line feeds, and short ones as before", () => {
    const long = "x".repeat(40);
    const text = `data: a\n\ndata: b\ndata: ${long}\ndata:\ndata: c\nevent: error\n\n: ${long}\n${long}\ndata: d\n\ndata: ${long}`;
    for (const lineEnd of ["\n", "\r\n", "\r"]) {
      const bytes = encoder.encode(text.replaceAll("\n", lineEnd));
      const expected = [
        { name: null, data: "a", isWhole: true },
        { name: "error", data: `b\n${long}\n\nc`, isWhole: false },
        { name: null, data: "d", isWhole: true },
        { name: null, data: long, isWhole: false },
      ];
      expect(read([bytes])).toEqual(expected);
      expect(read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(expected);
      for (let cut = 1; cut < bytes.length; cut += 1) {
        expect(read([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(expected);
      }
    }
  });

  test("are the same events as if they were kept, however the bytes are cut", () => {
    const parts = fc.constantFrom("data", "event", ":", " ", "\r", "\n", "\r\n", "data: ", "🙂", "aaaaaaa");
    const text = fc.array(parts, { maxLength: 60 }).map((some) => encoder.encode(some.join("")));
    fc.assert(
      fc.property(text, fc.array(fc.nat(200)), (bytes, cuts) => {
        const cutEvents = read(cutAt(bytes, cuts));
        expect(cutEvents).toEqual(read([bytes]));
        expect(cutEvents.map(({ data }) => data)).toEqual(dataOf([bytes]));
      }),
      { numRuns: 500 },
    );
  });
});

function eventsOf(parts: readonly Uint8Array[]): SseEvent[] {
  const events: SseEvent[] = [];
  const parser = createSseParser({ take: (event) => void events.push(event) });
  for (const part of parts) parser.push(part);
  parser.finish();
  return events;
}

function dataOf(parts: readonly Uint8Array[]): string[] {
  return eventsOf(parts).map(({ data }) => data);
}

function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const bounds = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
  return bounds.slice(1).map((end, index) => bytes.subarray(bounds[index], end));
}
