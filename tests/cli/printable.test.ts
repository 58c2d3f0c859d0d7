import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { toPrintableLines } from "#cli/screen/output.ts";
import { toPrintable } from "#kernel/printable.ts";
import { toTable } from "#cli/screen/table.ts";

// oxlint-disable-next-line no-control-regex
const ACTIVE = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

test("text of others stays on its line and gives a terminal no order, whatever it is", () => {
  expect(toPrintable("a\u001b[2Jb\nc\u009b1m\u202ed")).toBe(String.raw`a\u001b[2Jb\u000ac\u009b1m\u202ed`);
  expect(toPrintable("日本語 é 😀")).toBe("日本語 é 😀");
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => !ACTIVE.test(toPrintable(text))));
}, 30_000);

test("JSON means the same afterwards, and gives a terminal no order but its own line breaks", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      const text = toPrintableLines(JSON.stringify(value, null, 2));
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(ACTIVE.test(text.replaceAll("\n", ""))).toBe(false);
    }),
  );
});

test("a table's columns stay aligned with wide characters, and figures stand at the right", () => {
  const table = toTable(
    ["NAME", "COUNT", "END"],
    [
      ["日本", "1", "x"],
      ["ab", "1,000", ""],
    ],
    { right: new Set([1]) },
  );
  expect(table).toBe("NAME  COUNT  END\n日本      1  x\nab    1,000\n");
});
