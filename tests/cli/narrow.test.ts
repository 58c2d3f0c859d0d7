import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { fitTable, toTable, type Table, truncateWidth } from "#cli/screen/table.ts";
import { startWorld, type World } from "../limits/world.ts";
import { runLocal } from "./terminal.ts";
import { toPrintableLines } from "#cli/screen/output.ts";
import { toPrintable } from "#kernel/printable.ts";

const table = (overrides: Partial<Table> = {}): Table => ({
  heading: ["NAME", "URL", "ID", "REQUESTS", "AT"],
  rows: [
    [
      "ada-lovelace",
      "https://models.example.org/v1/very/long",
      "019cdd2a-7c00-7000-8000-000000000004",
      "1,234,567",
      "2026-03-11 12:00:00",
    ],
    ["日本語日本語日本語", "-", "-", "12", "-"],
  ],
  right: new Set([3]),
  spare: [4, 2],
  ...overrides,
});
const widest = (text: string) => Math.max(...text.split("\n").map((line) => Bun.stringWidth(line)));

describe("a table on a screen", () => {
  test("is cut where its texts are longest, and loses no figure, instant or id", () => {
    const { heading, rows, right, leftOut } = fitTable(table(), 110);
    const text = toTable(heading, rows, { right });
    expect(widest(text)).toBe(110);
    expect(leftOut).toEqual([]);
    for (const whole of ["1,234,567", "019cdd2a-7c00-7000-8000-000000000004", "2026-03-11 12:00:00"])
      expect(text).toContain(whole);
    expect(text).toContain("https://models.exam…");
    expect(text).not.toContain("ada…");
  });

  test("leaves spare columns out where cutting is not enough, in their order, and says which", () => {
    const eighty = fitTable(table(), 80);
    expect(eighty.leftOut).toEqual(["AT"]);
    expect(widest(toTable(eighty.heading, eighty.rows, { right: eighty.right }))).toBeLessThanOrEqual(80);
    const forty = fitTable(table(), 40);
    expect(forty.leftOut).toEqual(["ID", "AT"]);
    expect(widest(toTable(forty.heading, forty.rows, { right: forty.right }))).toBeLessThanOrEqual(40);
    expect(forty.rows[0]).toContain("1,234,567");
  });

  test("that has nothing to give stays whole: figures are never cut", () => {
    const figures = table({ heading: ["A", "B"], rows: [["1,234,567", "$20.00 / month"]], spare: [] });
    expect(fitTable(figures, 5).rows).toEqual(figures.rows);
  });

  test("cuts text between characters that people see, by the columns that they take", () => {
    expect(truncateWidth("日本語日本語", 7)).toBe("日本語…");
    expect(truncateWidth("ab👨‍👩‍👧cd", 4)).toBe("ab…");
    expect(truncateWidth("short", 5)).toBe("short");
  });
});

describe("lists and reports", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
    const name = `a-principal-whose-name-${"goes-on-".repeat(8)}end`;
    const { key } = await world.person(name);
    for (let count = 0; count < 2; count += 1) await (await world.chat({ key })).text();
    await world.limit({
      name: `limit-${name}`,
      subject: { principal: name },
      measure: "cost",
      amount: 20,
      window: "month",
    });
  });
  afterAll(() => world.stop());

  for (const line of [
    "provider list",
    "model list",
    "principal list",
    "key list",
    "limit list",
    "usage --by principal",
    "usage --by key",
    "requests tail",
    "pricing show",
  ])
    test(`${line} fits 80 and 120 columns of a screen, and is whole where stdout is none`, async () => {
      const run = (columns?: number) =>
        runLocal(world.app.dataDir, line.split(" "), columns === undefined ? {} : { columns });
      const whole = await run();
      expect(whole).toMatchObject({ code: 0 });
      // Otherwise nothing would be shown to be cut.
      if (!["provider list", "model list", "pricing show"].includes(line))
        expect(widest(whole.data)).toBeGreaterThan(80);
      for (const columns of [80, 120]) {
        const { code, data } = await run(columns);
        expect({ columns, code, fits: widest(data) <= columns, data }).toEqual({
          columns,
          code: 0,
          fits: true,
          data,
        });
        // As many rows, and every amount of money.
        expect(data.split("\n")).toHaveLength(whole.data.split("\n").length);
        expect(data.match(/\$[\d.]+/g)).toEqual(whole.data.match(/\$[\d.]+/g));
      }
    });
});

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
  const text = toTable(
    ["NAME", "COUNT", "END"],
    [
      ["日本", "1", "x"],
      ["ab", "1,000", ""],
    ],
    { right: new Set([1]) },
  );
  expect(text).toBe("NAME  COUNT  END\n日本      1  x\nab    1,000\n");
});
