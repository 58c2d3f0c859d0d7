import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  createJsonPruner,
  DEPTH_MAX,
  ITEMS_MAX,
  PRUNED_BYTES_MAX,
  TEXT_BYTES_MAX,
} from "#usage/json-pruner.ts";

const encoder = new TextEncoder();

describe("pruned JSON", () => {
  test("is its value with arrays cut, deep containers emptied and long strings blank, however the text was cut", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom('\\"', "\\", "]}", '"', "x".repeat(TEXT_BYTES_MAX), '\\"'.repeat(TEXT_BYTES_MAX)),
    );
    const value = fc.jsonValue({ maxDepth: DEPTH_MAX + 2, stringUnit: "binary" });
    const nested = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: DEPTH_MAX + 2 },
        fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)),
        fc.array(tie("tree"), { maxLength: 4 }),
        fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { maxLength: 20 }),
        fc.dictionary(fc.oneof(text, fc.constantFrom("usage", "choices")), tie("tree"), { maxKeys: 4 }),
      ),
    })).tree;
    fc.assert(
      fc.property(
        fc.oneof(value, nested),
        fc.constantFrom(undefined, 1, "\t"),
        fc.array(fc.nat(5_000)),
        (whole, indent, cuts) => {
          const written = JSON.stringify(whole, null, indent);
          expect(pruneAll(cut(encoder.encode(written), cuts))).toEqual(prune(JSON.parse(written), 0));
        },
      ),
      { numRuns: 500 },
    );
  }, 60_000);

  test("is the same when the text is cut at every byte", () => {
    const bytes = encoder.encode(
      '\ufeff \n{"a\\"]" : [ 1 , {"b":"\\\\"} , "\\\\\\"]" , [2] ], "ü🙂":[[[[[[["deep"]]]]]]],"n":-1.5e3 }\r\n',
    );
    const expected = { 'a"]': [1, { b: "\\" }], "ü🙂": [[[[[[]]]]]], n: -1500 };
    for (let at = 0; at <= bytes.length; at += 1) {
      expect(pruneAll([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected);
    }
    expect(pruneAll(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(expected);
  });

  test("of a repeated member holds the last one", () => {
    expect(prunedOf('{"usage":{"a":1},"choices":[1,2,3],"\\u0075sage":{"a":2}}')).toEqual({
      usage: { a: 2 },
      choices: [1, 2],
    });
  });

  test("does not exist of what is no JSON, or is cut off", () => {
    const whole = '{"data":[1,2,{"x":[3,"a\\"b"]}],"usage":{"prompt_tokens":1}}';
    expect(prunedOf(whole)).toEqual({ data: [1, 2], usage: { prompt_tokens: 1 } });
    for (let end = 0; end < whole.length; end += 1) expect(prunedOf(whole.slice(0, end))).toBeUndefined();
    for (const text of [`${whole}]`, "1 2", "tr ue", "[1,2,3}", "<html>", `${whole},`])
      expect(prunedOf(text)).toBeUndefined();
  });

  test("is found in a text of any size, and blanks of any number do not count", () => {
    const piece = encoder.encode('{"embedding":[0.1,0.2,0.3],"text":"]]"},');
    const blanks = new Uint8Array(2 * PRUNED_BYTES_MAX).fill(0x20);
    const pieces = Array.from({ length: 100_000 }, () => piece);
    const parts = [
      blanks,
      encoder.encode('{"data":['),
      ...pieces,
      encoder.encode('0],"usage":{"a":1}}'),
      blanks,
    ];
    const item = { embedding: [0.1, 0.2], text: "]]" };
    expect(pruneAll(parts)).toEqual({ data: Array.from({ length: ITEMS_MAX }, () => item), usage: { a: 1 } });
  });

  test("is given up when it is itself too large", () => {
    const member = (index: number) => `"member${index}":${index}`;
    const wide = `{${Array.from({ length: 100_000 }, (_, index) => member(index)).join(",")}}`;
    expect(wide.length).toBeGreaterThan(PRUNED_BYTES_MAX);
    expect(prunedOf(wide)).toBeUndefined();
  });
});

function prune(value: unknown, depth: number): unknown {
  if (typeof value === "string") {
    return encoder.encode(JSON.stringify(value)).length > TEXT_BYTES_MAX ? " " : value;
  }
  if (typeof value !== "object" || value === null) return value;
  const isCut = depth === DEPTH_MAX;
  if (Array.isArray(value)) {
    return isCut ? [] : value.slice(0, ITEMS_MAX).map((item) => prune(item, depth + 1));
  }
  if (isCut) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [String(prune(name, depth)), prune(member, depth + 1)]),
  );
}

function cut(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const ends = [...new Set(cuts.map((at) => Math.min(at, bytes.length)))].toSorted((a, b) => a - b);
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

function prunedOf(text: string): unknown {
  return pruneAll([encoder.encode(text)]);
}

function pruneAll(pieces: readonly Uint8Array[]): unknown {
  const reader = createJsonPruner();
  for (const piece of pieces) reader.push(piece);
  return reader.finish();
}
