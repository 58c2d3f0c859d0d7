import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { DIALECTS } from "#usage/dialects.ts";
import { type MeterReading, createMeter } from "#usage/meter.ts";
import { TellingSearch } from "#usage/telling.ts";

const STRINGS = ["usage", "error", "message_stop"];
const search = new TellingSearch(STRINGS);

function mayTell(text: string): boolean {
  const told = search.mayTell(Buffer.from(text), 0, Buffer.byteLength(text));
  search.forget();
  return told;
}

const name = fc.constantFrom(
  ...STRINGS,
  ..."type object message message_start message_delta choices x_groq delta content".split(" "),
  ...'prompt_tokens input_tokens a"usage":1 \\u0075 é'.split(" "),
);
const leaf = fc.oneof(name, fc.constantFrom(null, 0, 7, true, "", "x".repeat(30)));
const message = fc.letrec<{ tree: unknown; object: unknown }>((tie) => ({
  tree: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie("tree"), { maxLength: 2 }), tie("object")),
  object: fc.dictionary(name, tie("tree"), { maxKeys: 4 }),
})).object;

/** The text of a value with some of its characters written as escapes, and with or without blanks. */
const text = fc
  .tuple(message, fc.array(fc.nat(9), { maxLength: 40 }), fc.boolean(), fc.constantFrom("", " "))
  .map(([value, chances, isUpper, blank]) => {
    let at = 0;
    return JSON.stringify(value, null, blank)
      .replaceAll("\n", "")
      .replaceAll(/(?<!\\)[a-z_](?=[^"\\]*")/g, (letter) => {
        at += 1;
        if (chances[at % (chances.length + 1)] !== 0) return letter;
        const code = letter.charCodeAt(0).toString(16);
        return `\\u00${isUpper ? code.toUpperCase() : code}`;
      });
  });

describe("a JSON text that cannot tell", () => {
  test("holds none of the strings, as a value or as the name of more than null, however they are spelled", () => {
    let silent = 0;
    fc.assert(
      fc.property(text, (written) => {
        if (mayTell(written)) return;
        silent += 1;
        expect(holds(parse(written))).toBe(false);
      }),
      { numRuns: 1000 },
    );
    expect(silent).toBeGreaterThan(100);
  });

  test.each([
    '{"choices":[{"delta":{"content":"the usage: an error"}}]}',
    String.raw`{"choices":[{"delta":{"content":"\"usage\":{} d\u00e9j\u00e0\n"}}],"usage":null,"error": null}`,
    '{"type":"content_block_delta","delta":{"type":"text_delta","text":"the message_stop"}}',
  ])("%s", (written) => {
    expect(mayTell(written)).toBe(false);
  });

  test.each([
    '{"usage":{"prompt_tokens":1}}',
    '{"usage" :null}',
    '{"usage":nul}',
    '{"type":"message_stop"}',
    '{"object":"error"}',
    String.raw`{"\u0075sage":{"prompt_tokens":1}}`,
    String.raw`{"type":"message\u005Fstop"}`,
    '{"usage":null,"choices":[{"usage":{"prompt_tokens":1}}]}',
  ])("is not this one: %s", (written) => {
    expect(mayTell(written)).toBe(true);
  });

  test("is told from the texts before and after it in the same bytes", () => {
    const texts = ['{"usage":null}', "{}", '{"error":1}', "{}", '{"usage":1,"error":1}', '{"error":null}'];
    const bytes = Buffer.from(texts.join("\n"));
    let from = 0;
    const told = texts.map((each) => {
      const to = from + each.length;
      const may = search.mayTell(bytes, from, to);
      from = to + 1;
      return may;
    });
    search.forget();
    expect(told).toEqual([false, false, true, false, true, false]);
    bytes.fill('{"usage":1}', 0, 11);
    expect(search.mayTell(bytes, 0, 11)).toBe(true);
    search.forget();
  });
});

test("a stream is metered as one whose every event is parsed, whatever its events hold and however they are spelled", () => {
  const eventName = fc.constantFrom("", "", "", "event: error\n", "event: message_stop\n");
  const events = fc.array(fc.tuple(eventName, fc.oneof(text, fc.constant("[DONE]"), fc.constant("{"))), {
    maxLength: 6,
  });
  const lineEnds = fc.constantFrom("\n", "\r\n", "\r");
  fc.assert(
    fc.property(
      events,
      lineEnds,
      fc.array(fc.nat(600), { maxLength: 3 }),
      fc.boolean(),
      (given, end, cuts, isChat) => {
        const stream = given.map(([named, data]) => `${named}data: ${data}\n\n`).join("");
        const bytes = Buffer.from(stream.replaceAll("\n", end));
        const ends = [...cuts.filter((cut) => cut < bytes.length), bytes.length].sort((a, b) => a - b);
        const pieces = ends.map((to, index) => bytes.subarray(ends[index - 1] ?? 0, to));
        // Byte by byte, no event is at hand as a whole, so that all are parsed.
        const parsed = read(
          Array.from(bytes, (byte) => Uint8Array.of(byte)),
          isChat,
        );
        expect(read([bytes], isChat)).toEqual(parsed);
        expect(read(pieces, isChat)).toEqual(parsed);
      },
    ),
    { numRuns: 700 },
  );
});

function read(pieces: readonly Uint8Array[], isChat: boolean): MeterReading {
  const options = { streamed: true, statusCode: 200 };
  const meter = createMeter(isChat ? DIALECTS.chat : DIALECTS.messages, options);
  for (const piece of pieces) meter.push(piece);
  return meter.finish();
}

function parse(written: string): unknown {
  return JSON.parse(written);
}

function holds(value: unknown): boolean {
  if (typeof value === "string") return STRINGS.includes(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([member, held]) => (STRINGS.includes(member) && held !== null) || holds(held),
  );
}
