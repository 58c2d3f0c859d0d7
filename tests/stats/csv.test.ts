import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { toCsvRow } from "#stats/csv.ts";

describe("a record of CSV", () => {
  test.each([
    [[], "\r\n"],
    [["a", "b"], "a,b\r\n"],
    [["", null, 0], ",,0\r\n"],
    [['say "hi"'], '"say ""hi"""\r\n'],
    [["a,b", "a;b"], '"a,b",a;b\r\n'],
    [["two\r\nlines", "a\nb", "a\rb"], '"two\r\nlines","a\nb","a\rb"\r\n'],
    [["日本 🙂", "ß"], "日本 🙂,ß\r\n"],
    [["app:a,env:b"], '"app:a,env:b"\r\n'],
  ])("of %j is spelled by RFC 4180", (cells, expected) => {
    expect(toCsvRow(cells)).toBe(expected);
  });

  test.each([
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["\t=1", "'\t=1"],
    ["\tx", "'\tx"],
    ["\rx", `"'\rx"`],
    ["\nx", `"'\nx"`],
    ["  =1", "'  =1"],
    ["  \tx", "'  \tx"],
    ["\u00a0=1", "'\u00a0=1"],
    ["\u200b=1", "'\u200b=1"],
    ["\ufeff=1", "'\ufeff=1"],
    ["\u0000=1", "'\u0000=1"],
    ["＝1", "'＝1"],
    ["＋1", "'＋1"],
    ["－1", "'－1"],
    ["＠x", "'＠x"],
    ["\u3000＝1", "'\u3000＝1"],
    ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
    ["-2+3,x", `"'-2+3,x"`],
  ])("defuses the formula in %j", (text, expected) => {
    expect(toCsvRow([text])).toBe(`${expected}\r\n`);
  });

  test.each([["a=1"], ["curl/8.5 (+x)"], ["mail@host"], [" plain"], ["'=1"], ["1-2"], ["–1"], ["%=1"]])(
    "leaves %j as it is",
    (text) => {
      expect(toCsvRow([text])).toBe(`${text}\r\n`);
    },
  );

  test.each([
    [-1, "-1"],
    [-0, "0"],
    [1.5, "1.5"],
    [1e-7, "0.0000001"],
    [-1.25e-9, "-0.00000000125"],
    [1e21, "1000000000000000000000"],
    [1.5e300, `15${"0".repeat(299)}`],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
  ])("keeps the number %d a number, without an exponent", (number, expected) => {
    expect(toCsvRow([number])).toBe(`${expected}\r\n`);
  });

  test.each([
    [0n, "0"],
    [1n, "0.000000000001"],
    [250_000n, "0.00000025"],
    [10n ** 12n, "1"],
    [1_500_000_000_000n, "1.5"],
    [123_456_789_012_345_678_901_234_567_890n, "123456789012345678.90123456789"],
    [-1n, "-0.000000000001"],
  ])("writes the amount of %d pico to its last digit", (amount, expected) => {
    expect(toCsvRow([amount])).toBe(`${expected}\r\n`);
  });

  test("never holds an exponent, and gives back the number it was made from", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        const text = toCsvRow([number]).trimEnd();
        expect(text).toMatch(/^-?\d+(?:\.\d+)?$/);
        expect(Number(text)).toBe(number === 0 ? 0 : number);
      }),
    );
  });

  test("gives back any texts, but for the apostrophe before a formula", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 2, maxLength: 4 }), (texts) => {
        const read = parseRecord(toCsvRow(texts));
        expect(read.length).toBe(texts.length);
        for (const [index, text] of texts.entries()) expect([text, `'${text}`]).toContain(read[index]!);
      }),
    );
  });
});

/** RFC 4180, section 2, for one record. */
function parseRecord(record: string): string[] {
  const cells: string[] = [];
  let rest = record.slice(0, -2);
  for (;;) {
    const cell = /^(?:"(?:[^"]|"")*"|[^",\r\n]*)/.exec(rest)?.[0] ?? "";
    cells.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    rest = rest.slice(cell.length);
    if (rest === "") return cells;
    expect(rest[0]).toBe(",");
    rest = rest.slice(1);
  }
}
