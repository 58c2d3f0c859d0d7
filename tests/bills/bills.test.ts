import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { join } from "node:path";
import { type Bill, type BillFormat, type ColumnMap, parseDecimal } from "#bills/bill.ts";
import { BILL_COLUMNS_MAX, BILL_ROWS_MAX } from "#bills/file-records.ts";
import { readBill, readBills } from "#bills/read-bill.ts";
import { DAY_US } from "#kernel/clock.ts";

const FIRST = Date.UTC(2026, 2, 1) / 86_400_000;

async function read(name: string, options: { format?: BillFormat; map?: ColumnMap } = {}): Promise<Bill> {
  const text = await Bun.file(join(import.meta.dir, "fixtures", name)).text();
  return readBill({ name, text }, options);
}

const MAP = {
  date: "Day",
  model: "Deployment",
  requests: "Calls",
  input_tokens: "In",
  cached_input_tokens: "Cached",
  output_tokens: "Out",
  cost: "Amount",
} as const;

describe("each export is recognised by its shape, and read", () => {
  test("OpenAI's usage of completions: the cached part is taken out of the input, batches are a tier, a day without usage counts as told", async () => {
    const { format, rows, firstDay, lastDay } = await read("openai-completions.json");
    expect({ format, firstDay, lastDay }).toEqual({
      format: "openai-usage",
      firstDay: FIRST,
      lastDay: FIRST + 1,
    });
    expect(rows).toEqual([
      {
        day: FIRST,
        model: "gpt-5-2025-08-07",
        tier: null,
        requests: 60,
        units: { input_tokens: 100_000, cached_input_tokens: 20_000, output_tokens: 30_000 },
      },
      {
        day: FIRST,
        model: "gpt-5-2025-08-07",
        tier: "flex",
        requests: 10,
        units: { input_tokens: 8000, cached_input_tokens: 0, output_tokens: 1000 },
      },
      {
        day: FIRST,
        model: "gpt-5-mini-2025-08-07",
        tier: "batch",
        requests: 7,
        units: { input_tokens: 700, cached_input_tokens: 0, output_tokens: 70 },
      },
    ]);
  });

  test("OpenAI's usage of embeddings tells input alone", async () => {
    expect((await read("openai-embeddings.json")).rows).toEqual([
      { day: FIRST, model: "text-embedding-3-small", requests: 200, units: { input_tokens: 16_000 } },
    ]);
  });

  test("OpenAI's costs: a line item names model and unit, and a tool is none; no digit of an amount is lost", async () => {
    const { format, rows } = await read("openai-costs.json");
    expect(format).toBe("openai-costs");
    expect(rows).toEqual([
      { day: FIRST, model: "gpt-5-2025-08-07", units: {}, costPico: 125_000_000_000n },
      { day: FIRST, model: "gpt-5-2025-08-07", units: {}, costPico: 2_500_000_000n },
      { day: FIRST, model: "gpt-5-2025-08-07", units: {}, costPico: 300_000_000_000n },
      {
        day: FIRST,
        model: "web search tool calls",
        units: {},
        costPico: 250_000_000_000n,
        isTool: true,
        toolUnit: "web_searches",
      },
    ]);
  });

  test("OpenAI's CSV of usage and of costs, with its days without usage", async () => {
    const usage = await read("openai-usage.csv");
    expect({ format: usage.format, days: [usage.firstDay, usage.lastDay] }).toEqual({
      format: "openai-usage",
      days: [FIRST, FIRST + 1],
    });
    expect(usage.rows.map(({ requests, units }) => [requests, units.input_tokens])).toEqual([
      [40, 55_000],
      [20, 45_000],
    ]);
    const costs = await read("openai-costs.csv");
    expect(costs.format).toBe("openai-costs");
    expect(costs.rows).toEqual([{ day: FIRST, units: {}, costPico: 427_500_000_000n }]);
  });

  test("Anthropic's usage: what is written to a cache is input, and there is no number of requests", async () => {
    const { format, rows } = await read("anthropic-usage.json");
    expect(format).toBe("anthropic-usage");
    expect(rows).toEqual([
      {
        day: FIRST,
        model: "claude-sonnet-4-5-20250929",
        tier: null,
        units: { input_tokens: 3000, cached_input_tokens: 200, output_tokens: 500, web_searches: 10 },
      },
      {
        day: FIRST,
        model: "claude-sonnet-4-5-20250929",
        tier: "priority",
        conditions: ["context 200k-1M", "region us"],
        units: { input_tokens: 300_000, cached_input_tokens: 0, output_tokens: 4000 },
      },
    ]);
  });

  test("Anthropic's costs are cents in the interface, and dollars in the Console's file", async () => {
    const { format, rows } = await read("anthropic-costs.json");
    expect(format).toBe("anthropic-costs");
    expect(rows).toEqual([
      {
        day: FIRST,
        model: "claude-sonnet-4-5-20250929",
        tier: null,
        units: {},
        costPico: 1_237_891_200_000n,
      },
      {
        day: FIRST,
        model: "web_search",
        units: {},
        costPico: 100_000_000_000n,
        isTool: true,
        toolUnit: "web_searches",
      },
    ]);
    const csv = await read("anthropic-costs.csv");
    expect(csv.format).toBe("anthropic-costs");
    expect(csv.rows.map(({ model, costPico }) => [model, costPico])).toEqual([
      ["Claude Haiku 4.5", 102_000_000_000n],
      ["Claude Haiku 4.5", 4_000_000_000n],
      ["Claude Haiku 4.5", 25_000_000_000n],
    ]);
  });

  test("the Console's usage file: batch and fast are tiers, a long context and a region are conditions", async () => {
    const { format, rows } = await read("anthropic-usage.csv");
    expect(format).toBe("anthropic-usage");
    expect(
      rows.map(({ model, tier, conditions, units }) => [model, tier, conditions, units.input_tokens]),
    ).toEqual([
      ["claude-haiku-4-5-20251001", null, undefined, 102_000],
      ["claude-haiku-4-5-20251001", "batch", undefined, 9000],
      ["claude-opus-4-6", "fast", ["context > 200k", "region us"], 250_000],
    ]);
  });

  test("OpenRouter's activity as JSON and as CSV, and its export of generations, each of which is a request", async () => {
    const { format, rows } = await read("openrouter-activity.json");
    expect(format).toBe("openrouter");
    const row = {
      day: FIRST,
      model: "openai/gpt-4.1",
      requests: 5,
      units: { input_tokens: 50, output_tokens: 125 },
      costPico: 15_000_000_000n,
    };
    expect(rows).toEqual([row]);
    expect((await read("openrouter-activity.csv")).rows[0]).toEqual(row);
    const generations = await read("openrouter-generations.csv");
    expect(
      generations.rows.map(({ model, requests, units, costPico }) => [model, requests, units, costPico]),
    ).toEqual([
      ["openai/gpt-oss-120b", 1, { input_tokens: 10_389, output_tokens: 137 }, 12_300_000_000n],
      ["openai/gpt-oss-120b", 1, { input_tokens: 611, output_tokens: 63 }, 700_000_000n],
    ]);
  });

  test("Azure's cost details: meters name model, unit and tier, quantities are thousands or millions, other services are left out", async () => {
    const { format, rows, skippedRows } = await read("azure-costs.csv");
    expect({ format, skippedRows }).toEqual({ format: "azure", skippedRows: 1 });
    expect(rows).toEqual([
      {
        day: FIRST,
        model: "gpt-4o-mini-0718",
        tier: null,
        units: { input_tokens: 1_200_000 },
        costPico: 180_000_000_000n,
      },
      {
        day: FIRST,
        model: "gpt-4o-mini-0718",
        tier: null,
        units: { cached_input_tokens: 300_000 },
        costPico: 22_500_000_000n,
      },
      {
        day: FIRST,
        model: "gpt-4o-mini-0718",
        tier: null,
        units: { output_tokens: 50_500 },
        costPico: 30_300_000_000n,
      },
      {
        day: FIRST,
        model: "GPT-5.1",
        tier: "priority",
        units: { input_tokens: 250_000 },
        costPico: 625_000_000_000n,
      },
    ]);
    expect((await read("azure-usage.csv")).rows).toEqual([
      {
        day: FIRST,
        model: "text-embedding-3-small",
        tier: null,
        units: { input_tokens: 16_000 },
        costPico: 320_000_000n,
      },
    ]);
  });

  test("any other table by a map of its columns, with semicolons, dollar signs, thousands and exponents", async () => {
    const { format, rows } = await read("other.csv", { map: MAP });
    expect(format).toBe("csv");
    expect(rows).toEqual([
      {
        day: FIRST,
        model: "chat",
        requests: 12,
        units: { input_tokens: 3400, cached_input_tokens: 600, output_tokens: 900 },
        costPico: 1_234_500_000_000_000n,
      },
      {
        day: FIRST + 1,
        model: "chat",
        requests: 1,
        units: { input_tokens: 10, cached_input_tokens: 0, output_tokens: 5 },
        costPico: 100_000n,
      },
    ]);
  });

  test("several pages in one file are read as one, and a byte-order mark is passed over", async () => {
    const page = await Bun.file(join(import.meta.dir, "fixtures", "openai-embeddings.json")).json();
    const bill = readBill({ name: "pages.json", text: `\uFEFF${JSON.stringify([page, page])}` }, {});
    expect(bill.rows.map(({ requests }) => requests)).toEqual([200, 200]);
  });
});

describe("what is no bill is refused with its file, its row and its column", () => {
  test.each<[string, string, string]>([
    ["empty", "", "bill.csv holds no rows"],
    ["a head alone", "start_time,num_model_requests\n", "bill.csv holds no rows"],
    ["unknown columns", "a,b\n1,2\n", "bill.csv has the columns of no export that is known"],
    ["JSON that breaks off", '{"data": [', "bill.csv is not valid JSON"],
    ["JSON of something else", "[1, 2]", "no page of a usage or cost interface"],
    [
      "a number that is none",
      "start_time,num_model_requests\n1772323200,many\n",
      "bill.csv, row 2: num_model_requests is not a number.",
    ],
    [
      "a negative quantity",
      "start_time,num_model_requests\n1772323200,-1\n",
      "bill.csv, row 2: num_model_requests is not a number from 0",
    ],
    [
      "a date that is none",
      "start_time,num_model_requests\nyesterday,1\n",
      "bill.csv, row 2: start_time is not a date",
    ],
    [
      "a row without a date",
      "start_time,num_model_requests\n,1\n",
      "bill.csv, row 2: start_time is missing.",
    ],
    ["a quotation mark without an end", 'start_time,num_model_requests\n"1772323200,1\n', "no end"],
    [
      "other products alone",
      "Date,MeterCategory,MeterName,Quantity,CostInBillingCurrency\n03/01/2026,Storage,Disk,1,2\n",
      "rows of other products alone",
    ],
  ])("%s", (_, text, message) => {
    expect(() => readBill({ name: "bill.csv", text }, {})).toThrow(
      expect.objectContaining({ code: "invalid_bill", message: expect.stringContaining(message) }),
    );
  });

  test("a map that names no column of the file, and one without a date", () => {
    const file = { name: "bill.csv", text: "day,calls\n2026-03-01,1\n" };
    expect(() => readBill(file, { map: { date: "day", cost: "price" } })).toThrow(
      expect.objectContaining({ code: "invalid_bill", param: "map.cost" }),
    );
    expect(() => readBill(file, { map: { requests: "calls" } })).toThrow(
      expect.objectContaining({ code: "invalid_request", param: "map.date" }),
    );
  });
});

describe("what is read of files is bounded, and a refusal names the limit and the file", () => {
  const row = "2026-03-01,1\n";
  const map = { date: "day", requests: "calls" };
  const toFile = (name: string, rows: number) => ({ name, text: `day,calls\n${row.repeat(rows)}` });
  const toPages = (name: string, rows: number) => {
    const results = Array.from({ length: rows }, () => ({ num_model_requests: 1 }));
    return { name, text: JSON.stringify({ data: [{ start_time: 1_772_323_200, results }] }) };
  };
  const readAll = (...files: readonly { name: string; text: string }[]) =>
    readBills({ files, map, format: undefined, fromDay: null, endDay: null });

  test("rows of all files together: those up to the limit are read, and one more is refused, of CSV and of JSON", () => {
    const half = BILL_ROWS_MAX / 2;
    const sizes = readAll(toFile("one.csv", half), toFile("two.csv", half)).map(({ rows }) => rows.length);
    expect(sizes).toEqual([half, half]);
    const refusal = expect.objectContaining({
      code: "invalid_bill",
      message: `With two.csv the files have more than ${BILL_ROWS_MAX} rows, which is the most that is read at once: export fewer days, or whole days in place of hours.`,
    });
    expect(() => readAll(toFile("one.csv", half), toFile("two.csv", half + 1))).toThrow(refusal);
    const pages = [toPages("one.json", half), toPages("two.csv", half + 1)];
    expect(() => readBills({ files: pages, fromDay: null, endDay: null })).toThrow(refusal);
  });

  test("columns, in the head, in any row and in an object: the row is named", () => {
    const many = Array.from({ length: BILL_COLUMNS_MAX + 1 }, (_, index) => `c${index}`);
    const object = Object.fromEntries(many.map((name) => [name, 1]));
    const files: readonly (readonly [string, string])[] = [
      ["row 1", `${many.join(",")}\n1\n`],
      ["row 3", `day,calls\n${row}${many.join(",")}\n`],
      ["row 2", JSON.stringify({ data: [{ start_time: 1 }, { start_time: 2, results: [object] }] })],
      ["row 1", JSON.stringify({ data: [object] })],
    ];
    for (const [place, text] of files)
      expect(() => readBill({ name: "wide.csv", text }, { map })).toThrow(
        expect.objectContaining({
          code: "invalid_bill",
          message: expect.stringContaining(
            `wide.csv, ${place}: it has more than ${BILL_COLUMNS_MAX} columns`,
          ),
        }),
      );
  });

  test("a head of many columns above many short rows, and a day of many fields above many results, take no memory for what is not there", () => {
    const names = Array.from({ length: BILL_COLUMNS_MAX - 2 }, (_, index) => `c${index}`);
    const before = process.memoryUsage().rss;
    const wide = { name: "wide.csv", text: `day,calls,${names.join(",")}\n${row.repeat(BILL_ROWS_MAX)}` };
    expect(readBill(wide, { map }).rows.length).toBe(BILL_ROWS_MAX);
    const results = Array.from({ length: BILL_ROWS_MAX }, () => ({ num_model_requests: 1 }));
    const fields = Object.fromEntries(names.slice(1).map((name) => [name, 1]));
    const text = JSON.stringify({ data: [{ start_time: 1_772_323_200, ...fields, results }] });
    expect(readBill({ name: "deep.json", text }, {}).rows.length).toBe(BILL_ROWS_MAX);
    // A field for each row and column would be several gigabytes.
    expect(process.memoryUsage().rss - before).toBeLessThan(1024 ** 3);
  });
});

describe("a file with semicolons may write fractions with a comma", () => {
  const readCosts = (costs: readonly string[], delimiter = ";") => {
    const lines = costs.map((cost) => ["2026-03-01", `"${cost}"`, "1"].join(delimiter));
    const text = [["day", "cost", "calls"].join(delimiter), ...lines].join("\n");
    const { rows } = readBill(
      { name: "bill.csv", text },
      { map: { date: "day", cost: "cost", requests: "calls" } },
    );
    return rows.map(({ costPico }) => costPico);
  };
  const toPico = (text: string) => parseDecimal(text) ?? undefined;

  test.each<[string, string]>([
    ["0,5", "0.5"],
    [",25", "0.25"],
    ["1.234,56", "1234.56"],
    ["-1.234.567,8", "-1234567.8"],
    ["$ 12,3456", "12.3456"],
    ["0,004", "0.004"],
    ["1234,567", "1234.567"],
    ["1.234.567", "1234567"],
    ["1,5e-3", "0.0015"],
    ["1,234.56", "1234.56"],
    ["1,234,567", "1234567"],
    ["0.004", "0.004"],
    ["12.5", "12.5"],
    ["7", "7"],
  ])("%p is %p", (text, meant) => {
    expect(readCosts([text])).toEqual([toPico(meant)]);
  });

  test("what may be a thousand or a fraction is refused with its row, unless its column shows which it is", () => {
    for (const text of ["1,234", "1.234", "-999.000"])
      expect(() => readCosts(["5", text])).toThrow(
        expect.objectContaining({
          code: "invalid_bill",
          message: `bill.csv, row 3: cost is ${text}, which may be read with a fraction or with thousands: write it without thousands, or with another number of decimals.`,
        }),
      );
    expect(readCosts(["0,5", "1,234", "1.234"])).toEqual(["0.5", "1.234", "1234"].map(toPico));
    expect(readCosts(["1,234", "1.234", "0.5"])).toEqual(["1234", "1.234", "0.5"].map(toPico));
    // A column that writes both ways shows nothing.
    expect(() => readCosts(["0.5", "0,5", "1,234"])).toThrow(
      expect.objectContaining({ message: expect.stringContaining("bill.csv, row 4: cost is 1,234") }),
    );
  });

  test("with commas between columns a point is the only mark, as before", () => {
    expect(readCosts(["1,234", "1.234"], ",")).toEqual(["1234", "1.234"].map(toPico));
    expect(() => readCosts(["0,5"], ",")).toThrow(
      expect.objectContaining({ message: "bill.csv, row 2: cost is not a number." }),
    );
  });

  test("whatever the amount is, it is read to its last digit or refused", () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 9_999_999 }),
        fc.nat({ max: 9999 }),
        fc.boolean(),
        (whole, rest, isGrouped) => {
          const digits = isGrouped ? whole.toLocaleString("de-DE") : String(whole);
          const fraction = String(rest).padStart(4, "0");
          expect(readCosts([`${digits},${fraction}`, "1,0"])[0]).toBe(toPico(`${whole}.${fraction}`) ?? 0n);
        },
      ),
    );
  });
});

describe("an amount is exact", () => {
  test.each<[string, bigint | null]>([
    ["0", 0n],
    ["1", 1_000_000_000_000n],
    [".5", 500_000_000_000n],
    ["5.", 5_000_000_000_000n],
    ["-0.25", -250_000_000_000n],
    ["1e-12", 1n],
    ["4e-13", 0n],
    ["5e-13", 1n],
    ["1.5E3", 1_500_000_000_000_000n],
    ["1,234,567.89", 1_234_567_890_000_000_000n],
    ["0.1234567890123456789", 123_456_789_012n],
    ["0e999", 0n],
    ["1e999", null],
    ["12,34", null],
    ["", null],
    [".", null],
    ["0x10", null],
    ["1 2", null],
    ["NaN", null],
  ])("%p", (text, pico) => {
    expect(parseDecimal(text)).toBe(pico);
  });

  test("whatever its digits are", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), (pico) => {
        const digits = (pico < 0n ? -pico : pico).toString().padStart(13, "0");
        const text = `${pico < 0n ? "-" : ""}${digits.slice(0, -12)}.${digits.slice(-12)}`;
        expect(parseDecimal(text)).toBe(pico);
        expect(parseDecimal(`${text.replace(".", "")}e-12`)).toBe(pico);
      }),
    );
  });
});

test("whatever a file holds, it is read or refused as no bill, and nothing else is thrown", () => {
  const words = fc.constantFrom(
    ...'start_time,num_model_requests,usage_date_utc,amount,metername,{"data":[{"results":[{,]}],"1,\n,\r\n,;,"",1772323200,2026-03-01,-,e9'.split(
      ",",
    ),
    ",",
  );
  fc.assert(
    fc.property(fc.array(words, { maxLength: 30 }), (parts) => {
      try {
        const bill = readBill({ name: "any", text: parts.join("") }, {});
        expect(bill.firstDay * DAY_US).toBeNumber();
      } catch (cause) {
        expect(cause).toMatchObject({ code: "invalid_bill" });
      }
    }),
    { numRuns: 2000 },
  );
});
