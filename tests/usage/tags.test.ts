import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { toClient } from "#forward/headers.ts";
import { mergeTags, normaliseTag, parseTags } from "#kernel/tags.ts";
import { readNumber } from "../support/scale.ts";

const RUNS = readNumber("LOCKPORT_TAGS") ?? 500;
const TEST_MS_MAX = 30_000 + RUNS;

describe("x-proxy-tags", () => {
  const table: readonly [string, string | null, readonly string[]][] = [
    ["no header has no tags", null, []],
    ["an empty header has no tags", "", []],
    ["pairs are trimmed and in lower case", "  App:Search , TEAM:Core\t", ["app:search", "team:core"]],
    ["pairs are sorted by key", "b:1,a:2,c:0", ["a:2", "b:1", "c:0"]],
    ["sorting is by key and not by pair", "a-b:1,a:z,a.b:2", ["a:z", "a-b:1", "a.b:2"]],
    ["the first of a key wins", "app:one,app:two,APP:three", ["app:one"]],
    ["a malformed pair takes no key and no place", "app: one,app:two", ["app:two"]],
    ["malformed pairs are dropped silently", "app,:x,x:,a:b:c,-a:b,a:.b,ä:b,a b:c,,a:b c,ok:1", ["ok:1"]],
    ["a key may hold dots, underscores and hyphens", "a.b_c-d:0.1_2-3", ["a.b_c-d:0.1_2-3"]],
  ];
  test.each(table)("%s", (_, header, tags) => {
    expect(parseTags(header)).toEqual([...tags]);
  });

  test("eight pairs are kept in the order of the header, before sorting", () => {
    const pairs = ["z:1", "y:1", "x:1", "w:1", "v:1", "u:1", "t:1", "s:1", "a:1", "b:1"];
    expect(parseTags(pairs.join(","))).toEqual(["s:1", "t:1", "u:1", "v:1", "w:1", "x:1", "y:1", "z:1"]);
  });

  test("256 bytes are kept with their commas, and a 257th ends the list", () => {
    const pair = (key: string, length: number) => `${key}:${"v".repeat(length - key.length - 1)}`;
    expect(parseTags([pair("a", 127), pair("b", 128)].join(","))).toHaveLength(2);
    expect(parseTags([pair("a", 128), pair("b", 128)].join(","))).toEqual([pair("a", 128)]);
    expect(parseTags(pair("a", 256))).toHaveLength(1);
    expect(parseTags(pair("a", 257))).toEqual([]);
  });

  test("a pair that does not fit ends the list: a shorter one after it is not taken", () => {
    expect(parseTags(`a:1,b:${"v".repeat(300)},c:1`)).toEqual(["a:1"]);
  });

  test("spaces and repeated keys do not count against the limits", () => {
    const repeated = Array.from({ length: 50 }, (_, index) => `app:${index}${" ".repeat(20)}`);
    expect(parseTags([...repeated, "b:1"].join(","))).toEqual(["app:0", "b:1"]);
  });

  test(
    "normalising agrees with a normaliser written apart, and normalised tags stay as they are",
    () => {
      fc.assert(
        fc.property(headers(), (header) => {
          const tags = parseTags(header);
          expect([...tags]).toEqual(normaliseApart(header));
          expect(parseTags(tags.join(","))).toEqual(tags);
          for (const tag of tags) expect(normaliseTag(tag)).toBe(tag);
        }),
        { numRuns: RUNS },
      );
    },
    TEST_MS_MAX,
  );
});

describe("the stored client", () => {
  test("a User-Agent is stored as it came", () => {
    expect(toClient("OpenAI/Python 1.2.3 (x)  ")).toBe("OpenAI/Python 1.2.3 (x)  ");
  });

  test("a User-Agent sent as UTF-8 is stored as the text it is, and one of other bytes byte by byte", () => {
    const onTheWire = (text: string) => Buffer.from(text, "utf8").toString("latin1");
    expect(toClient(onTheWire("café 😀"))).toBe("café 😀");
    expect(toClient(onTheWire("😀".repeat(300)))).toBe("😀".repeat(256));
    expect(toClient("caf\xe9 \xff")).toBe("caf\xe9 \xff");
  });

  test("256 code points are kept and a cut never splits a character", () => {
    expect(toClient("🙂".repeat(256))).toBe("🙂".repeat(256));
    expect(toClient(`${"a".repeat(255)}🙂b`)).toBe(`${"a".repeat(255)}🙂`);
    expect(toClient("a".repeat(10_000))).toHaveLength(256);
  });

  test("no User-Agent, and an empty one, is null", () => {
    expect(toClient(null)).toBeNull();
    expect(toClient("")).toBeNull();
  });
});

function headers(): fc.Arbitrary<string> {
  const word = fc.string({ unit: fc.constantFrom(...Array.from("abcXYZ019._-")), maxLength: 6 });
  const long = fc.integer({ min: 20, max: 120 }).map((length) => "v".repeat(length));
  const pair = fc.tuple(word, fc.oneof({ weight: 4, arbitrary: word }, long)).map((parts) => parts.join(":"));
  const padded = fc
    .tuple(fc.constantFrom("", " ", "\t "), pair, fc.constantFrom("", " "))
    .map((parts) => parts.join(""));
  const noise = fc.string({ unit: "grapheme", maxLength: 8 });
  return fc
    .array(fc.oneof({ weight: 8, arbitrary: padded }, noise), { maxLength: 14 })
    .map((parts) => parts.join(","));
}

/** The same rules, said without a pattern and without a map. */
function normaliseApart(header: string): string[] {
  const first = new Set("abcdefghijklmnopqrstuvwxyz0123456789");
  const rest = new Set([...first, ".", "_", "-"]);
  const isWord = (text: string) =>
    first.has(text[0] ?? "") && Array.from(text).every((letter) => rest.has(letter));
  const taken: { key: string; value: string }[] = [];
  for (const text of header.split(",").map((part) => part.trim().toLowerCase())) {
    const parts = text.split(":");
    if (parts.length !== 2 || !parts.every(isWord)) continue;
    const [key = "", value = ""] = parts;
    if (taken.some((tag) => tag.key === key)) continue;
    const next = [...taken, { key, value }];
    if (next.length > 8 || Buffer.byteLength(next.map((tag) => `${tag.key}:${tag.value}`).join(",")) > 256)
      break;
    taken.push({ key, value });
  }
  return taken.sort((a, b) => (a.key > b.key ? 1 : -1)).map((tag) => `${tag.key}:${tag.value}`);
}

describe("fixed tags", () => {
  const table: readonly [string, string | null, readonly string[], readonly string[]][] = [
    ["stand alone without a header", null, ["team:a"], ["team:a"]],
    ["stand before the header's", "app:x,z:1", ["team:a"], ["app:x", "team:a", "z:1"]],
    ["keep their name from the header", "team:b,TEAM:c,app:x", ["team:a"], ["app:x", "team:a"]],
    ["that fill the bound leave no place", "a:1", fill(8), fill(8)],
    ["beyond the bound all stay", "a:1", fill(12), fill(12)],
    [
      "leave the rest of the bound to the header, in its order",
      "y:1,x:1,w:1",
      fill(6),
      [...fill(6), "x:1", "y:1"],
    ],
  ];
  test.each(table)("%s", (_, header, fixed, tags) => {
    expect(parseTags(header, fixed)).toEqual([...tags]);
  });

  test("take their bytes from the header's 256", () => {
    const fixed = [`team:${"v".repeat(195)}`];
    expect(parseTags(`x:${"v".repeat(53)}`, fixed)).toHaveLength(2);
    expect(parseTags(`x:${"v".repeat(54)}`, fixed)).toEqual(fixed);
  });

  test("of a key win over its principal's, and both are sorted by name", () => {
    expect(mergeTags(["a-b:1", "team:a"], ["a:z", "team:b"])).toEqual(["a:z", "a-b:1", "team:a"]);
    const own = ["team:a"];
    expect(mergeTags(own, [])).toBe(own);
    expect(mergeTags([], own)).toBe(own);
  });

  function fill(count: number): string[] {
    return Array.from({ length: count }, (_, index) => `k${String.fromCharCode(97 + index)}:1`);
  }
});
