import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ERROR_STATUS } from "#kernel/errors.ts";
import { findAdvice } from "../../ui/text/errors.ts";
import {
  formatBytes,
  formatCents,
  formatChange,
  formatCount,
  formatCountCompact,
  formatCounted,
  formatDuration,
  formatInstant,
  formatMoney,
  formatMoneyCompact,
  formatMoneyExact,
  formatPercent,
  formatPoints,
  formatRelative,
} from "../../ui/text/format.ts";

describe("money", () => {
  test.each([
    [null, "unpriced"],
    [0, "$0.00"],
    [1e-12, "<$0.000001"],
    [9.99e-7, "<$0.000001"],
    [0.000001, "$0.000001"],
    [0.00001234, "$0.000012"],
    [0.00999, "$0.00999"],
    [0.0123, "$0.0123"],
    [0.01234567, "$0.0123"],
    [0.01, "$0.01"],
    [0.5, "$0.50"],
    [0.123456, "$0.123"],
    [0.9994, "$0.999"],
    [0.9995, "$1.00"],
    [1, "$1.00"],
    [1234.56, "$1,234.56"],
    [1_000_000, "$1,000,000.00"],
    [-0.5, "−$0.50"],
    [-1e-8, ">−$0.000001"],
    [Number.NaN, "–"],
    [Number.POSITIVE_INFINITY, "–"],
  ])("%p is written %p", (amount, text) => {
    expect(formatMoney(amount)).toBe(text);
  });

  test("a positive cost is never written as nothing, and nothing never as a cost", () => {
    fc.assert(
      fc.property(fc.double({ min: Number.MIN_VALUE, max: 1e15, noNaN: true }), (amount) => {
        for (const text of [formatMoney(amount), formatMoneyCompact(amount)]) {
          expect(text).toMatch(/[1-9]/u);
          expect(text).not.toContain("e");
        }
      }),
    );
    expect(formatMoneyCompact(0)).toBe("$0.00");
    expect(formatMoneyCompact(null)).toBe("unpriced");
  });

  test("what is written lies within half a cent, or half of the third digit, of the amount", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.0001, max: 1e12, noNaN: true }), (amount) => {
        const written = Number(formatMoney(amount).replace(/[$,]/gu, ""));
        const off = amount >= 0.9995 ? 0.005 : amount * 0.005 + 5e-7;
        expect(Math.abs(written - amount)).toBeLessThanOrEqual(off + amount * 1e-12);
      }),
    );
  });

  test("a larger cost is never written as a smaller one", () => {
    const toNumber = (text: string) => (text.startsWith("<") ? 0 : Number(text.replace(/[$,]/gu, "")));
    const amount = fc.double({ min: 0, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(amount, amount, (one, other) => {
        const [less, more] = [Math.min(one, other), Math.max(one, other)];
        expect(toNumber(formatMoney(less))).toBeLessThanOrEqual(toNumber(formatMoney(more)));
      }),
    );
  });

  test.each([
    [999.99, "$999.99"],
    [1234.56, "$1.23k"],
    [1_200_000, "$1.2M"],
    [3e9, "$3B"],
    [-1500, "−$1.5k"],
  ])("%p on an axis is %p", (amount, text) => {
    expect(formatMoneyCompact(amount)).toBe(text);
  });

  test.each([
    [0.000000123456, "$0.000000123456"],
    [1e-12, "$0.000000000001"],
    [12, "$12.00"],
    [-1234.5, "−$1,234.50"],
    [null, "unpriced"],
    [123_456.789012, "$123,456.789012"],
    [12_345_678.9, "$12,345,678.90"],
  ])("the exact amount of %p is %p", (amount, text) => {
    expect(formatMoneyExact(amount)).toBe(text);
  });
});

describe("counts, shares and sizes", () => {
  test.each([
    [0, "0", "0"],
    [999, "999", "999"],
    [1000, "1,000", "1k"],
    [1234, "1,234", "1.23k"],
    [999_999, "999,999", "1M"],
    [1_200_000, "1,200,000", "1.2M"],
    [3e9, "3,000,000,000", "3B"],
    [12.3456, "12.346", "12.346"],
    [-1500, "−1,500", "−1.5k"],
  ])("%p is %p in full and %p in short", (count, full, short) => {
    expect(formatCount(count)).toBe(full);
    expect(formatCountCompact(count)).toBe(short);
    expect(formatCounted(count, "request")).toBe(`${full} requests`);
  });

  test("one is one of its noun", () => expect(formatCounted(1, "request")).toBe("1 request"));

  test("every whole number is written in full with all its digits, and in short within half a percent", () => {
    const factors: Record<string, number> = { k: 1e3, M: 1e6, B: 1e9, T: 1e12, P: 1e15 };
    fc.assert(
      fc.property(fc.maxSafeNat(), (count) => {
        expect(Number(formatCount(count).replaceAll(",", ""))).toBe(count);
        const [, digits, suffix] = /^([\d.]+)([a-zA-Z]?)$/u.exec(formatCountCompact(count)) ?? [];
        const value = Number(digits) * (suffix === "" ? 1 : factors[suffix!]!);
        expect(Math.abs(value - count)).toBeLessThanOrEqual(count * 0.005 + 1e-9);
      }),
    );
  });

  test.each([
    [0, "0%"],
    [0.0004, "<0.1%"],
    [0.1234, "12.3%"],
    [0.5, "50%"],
    [0.9996, ">99.9%"],
    [1, "100%"],
    [Number.NaN, "–"],
  ])("a share of %p is %p", (ratio, text) => {
    expect(formatPercent(ratio)).toBe(text);
  });

  test("only none is 0% and only all is 100%", () => {
    fc.assert(
      fc.property(fc.double({ min: Number.MIN_VALUE, max: 1 - Number.EPSILON, noNaN: true }), (ratio) => {
        expect(["0%", "100%"]).not.toContain(formatPercent(ratio));
      }),
    );
  });

  test.each([
    [0, "±0%"],
    [0.0001, "±0%"],
    [0.123, "+12.3%"],
    [-0.21, "−21%"],
    [12.345, "+1,234.5%"],
  ])("a change of %p is %p", (ratio, text) => {
    expect(formatChange(ratio)).toBe(text);
  });

  test.each([
    [0, "±0 pt"],
    [0.003, "+0.3 pt"],
    [-0.04, "−4 pt"],
  ])("a difference of shares of %p is %p", (difference, text) => {
    expect(formatPoints(difference)).toBe(text);
  });

  test.each([
    [0, "$0.00"],
    [0.0049, "<$0.01"],
    [0.005, "$0.01"],
    [0.4, "$0.40"],
    [1234.5, "$1,234.50"],
    [null, "unpriced"],
  ])("beside dollars %p is written to the cent, %p, and never as nothing", (amount, text) => {
    expect(formatCents(amount)).toBe(text);
  });

  test.each([
    [0, "0 B"],
    [1023, "1,023 B"],
    [1024, "1 KiB"],
    [1536, "1.5 KiB"],
    [1024 ** 2 - 1, "1 MiB"],
    [67_108_864, "64 MiB"],
    [-1, "–"],
  ])("%p bytes are %p", (sizeBytes, text) => {
    expect(formatBytes(sizeBytes)).toBe(text);
  });
});

describe("durations", () => {
  test.each([
    [0, "0 ms"],
    [0.4, "<1 ms"],
    [340.4, "340 ms"],
    [999.4, "999 ms"],
    [999.5, "1 s"],
    [1230, "1.23 s"],
    [12_340, "12.3 s"],
    [59_949, "59.9 s"],
    [59_950, "1 min"],
    [125_000, "2 min 5 s"],
    [3_599_499, "59 min 59 s"],
    [3_599_500, "1 h"],
    [11_520_000, "3 h 12 min"],
    [86_399_999, "1 d"],
    [1e9, "11 d 14 h"],
    [-1, "–"],
  ])("%p ms are %p", (durationMs, text) => {
    expect(formatDuration(durationMs)).toBe(text);
  });

  test("no part is as large as the next unit", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), (durationMs) => {
        const limits: Record<string, number> = {
          ms: 1000,
          s: 60,
          min: 60,
          h: 24,
          d: Number.POSITIVE_INFINITY,
        };
        for (const [, count, unit] of formatDuration(durationMs).matchAll(/([\d.,]+) (ms|s|min|h|d)/gu)) {
          expect(Number(count!.replaceAll(",", ""))).toBeLessThan(limits[unit!]!);
        }
      }),
    );
  });
});

describe("instants", () => {
  const at = "2026-01-31T23:59:59.123456Z";

  test.each([
    ["full", "2026-01-31 23:59:59.123456 UTC"],
    ["second", "2026-01-31 23:59:59 UTC"],
    ["minute", "2026-01-31 23:59 UTC"],
    ["date", "2026-01-31"],
    ["time", "23:59:59"],
  ] as const)("%p keeps to UTC: %p", (as, text) => {
    expect(formatInstant(at, as)).toBe(text);
  });

  test("the zone of the machine changes nothing", async () => {
    for (const zone of ["Asia/Tokyo", "America/Anchorage", "UTC"]) {
      const child = Bun.spawn([process.execPath, "-e", PRINT_INSTANTS], {
        cwd: import.meta.dir,
        env: { ...process.env, TZ: zone },
        stdout: "pipe",
      });
      expect(await new Response(child.stdout).text()).toBe("2026-01-31 23:59 UTC 2026-01-31\n");
    }
  });

  test("an offset is counted in, no fraction stays none, and what is no instant comes back as it was", () => {
    expect(formatInstant("2026-01-31T23:59:59+02:00", "full")).toBe("2026-01-31 21:59:59 UTC");
    expect(formatInstant("yesterday", "full")).toBe("yesterday");
    expect(formatRelative("yesterday", 0)).toBe("yesterday");
  });

  test.each([
    [0, "just now"],
    [9_999, "just now"],
    [59_999, "59 s ago"],
    [60_000, "1 min ago"],
    [3_600_000, "1 h ago"],
    [86_400_000 * 29, "29 d ago"],
    [86_400_000 * 30, "2026-01-01"],
    [-7_200_000, "in 2 h"],
  ])("%p ms before now is %p", (distanceMs, text) => {
    const nowMs = Date.UTC(2026, 0, 31, 12);
    expect(formatRelative(new Date(nowMs - distanceMs).toISOString(), nowMs)).toBe(text);
  });
});

describe("advice", () => {
  test("every code of the server has a sentence that says what to do", () => {
    for (const code of Object.keys(ERROR_STATUS)) expect(findAdvice(code)).toMatch(/^[A-Z].{10,160}\.$/u);
  });

  test("a code of a provider's or of a prototype's has none", () => {
    for (const code of ["rate_limit_error", "toString", "__proto__", ""]) expect(findAdvice(code)).toBeNull();
  });
});

const PRINT_INSTANTS = `
  const { formatInstant } = await import("../../ui/text/format.ts");
  console.log(formatInstant("2026-01-31T23:59:59Z", "minute"), formatInstant("2026-01-31T23:59:59Z", "date"));
`;
