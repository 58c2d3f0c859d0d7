import { expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  type JournalEntry,
  decodeJournalLine,
  encodeJournalLine,
  isWhole,
  LineCursor,
} from "#usage/journal-line.ts";
import type { UsageBeginning, UsageEnding } from "#usage/event.ts";
import { JournalDecoder } from "#usage/journal-decoder.ts";
import { arbitraryUsage, ENDING, LineEncoder, SUBJECT, toBeginLine, toEndLine } from "../ledger/usage.ts";

function toLine(fields: readonly unknown[]): string {
  const json = JSON.stringify(fields);
  return `${Bun.hash.crc32(json).toString(16).padStart(8, "0")} ${json}\n`;
}

function decode(text: string): JournalEntry | null {
  const line = new LineCursor(Buffer.from(text));
  return line.next() && isWhole(line) ? decodeJournalLine(line) : null;
}

const UP_TO_SHAPE = ["e", 7, 200, "ok", null, 5, null, 1, "17", 0, "exclusive"];

test("an end keeps each quantity under its unit, cache writes apart", () => {
  const quantities = { input_tokens: 3, cache_write_tokens: 2, cache_write_1h_tokens: 1 };
  const ending = { ...ENDING, usage: { shape: "exclusive" as const, quantities } };
  const line = encodeJournalLine({ kind: "end", sequence: 7, ending, prices: 1 });
  expect(decode(line)).toMatchObject({ ending: { usage: ending.usage } });
});

test("an end of the format before, with quantities by their place, is refused and never read as none", () => {
  expect(decode(toLine([...UP_TO_SHAPE, 9, 10, 20, 30, null]))).toBeNull();
  expect(decode(toLine([...UP_TO_SHAPE, null, 10, 20, 30, null]))).toBeNull();
});

test("a manner and an end of the version before are read, and neither has a tier or a failure", () => {
  expect(decode(toLine(["m", 3, 502, "unreachable", "timeout", 0, null, { input_tokens: 5 }]))).toEqual({
    kind: "manner",
    number: 3,
    manner: {
      statusCode: 502,
      outcome: "unreachable",
      errorKind: "timeout",
      unpriced: false,
      shape: null,
      prices: { input_tokens: 5 },
    },
  });
  const { ending } = decode(toLine([...UP_TO_SHAPE, { input_tokens: 3 }])) as unknown as {
    ending: UsageEnding;
  };
  expect([ending.tier, ending.failure]).toEqual([undefined, undefined]);
});

test("what few endings have is kept, and takes no byte where there is none", () => {
  const toEnd = (ending: UsageEnding) => encodeJournalLine({ kind: "end", sequence: 7, ending, prices: 1 });
  const toManner = (more: object) => {
    const manner = { ...ENDING, shape: null, ...more };
    return encodeJournalLine({ kind: "manner", number: 7, manner });
  };
  const rare = [
    { tier: "flex" },
    { failure: "refused" },
    { tier: "flex", failure: "tls" },
    { geo: "us" },
    { tier: "priority+fast", geo: "us" },
  ] as const;
  for (const more of rare) {
    expect(decode(toEnd({ ...ENDING, ...more }))).toMatchObject({ ending: more });
    expect(decode(toManner(more))).toMatchObject({ manner: more });
    const told = { ...more, costReportedPico: 2n ** 60n };
    expect(decode(toEnd({ ...ENDING, ...told }))).toMatchObject({ ending: told });
  }
  const reported = decode(toEnd({ ...ENDING, costReportedPico: 0n }));
  expect(reported).toMatchObject({ ending: { costReportedPico: 0n } });
  const none = { tier: undefined, failure: undefined, geo: undefined, costReportedPico: undefined };
  expect(toEnd({ ...ENDING, ...none })).toEndWith("}]\n");
  expect(toManner({})).toEndWith("}]\n");
});

test("a unit that another version writes is left out, and the others are read", () => {
  expect(decode(toLine([...UP_TO_SHAPE, { input_tokens: 3, unheard_of: 4 }]))).toMatchObject({
    ending: { usage: { shape: "exclusive", quantities: { input_tokens: 3 } } },
  });
});

/** What a decoder makes of lines; costs as text, since a number and a bigint can say the same. */
function read(...lines: readonly Buffer[]): readonly unknown[] {
  const decoder = new JournalDecoder();
  const cursor = new LineCursor(Buffer.concat(lines));
  const found: unknown[] = [];
  while (cursor.next()) {
    const decoded = decoder.decode(cursor);
    if (decoded?.kind === "definition") continue;
    if (decoded?.kind !== "end") found.push(decoded);
    else found.push({ ...decoded, costPico: decoded.costPico?.toString() ?? null });
  }
  return found;
}

function expectSame(subject: UsageBeginning, ending: UsageEnding): void {
  const encoder = new LineEncoder();
  const written = read(encoder.begin(1, 7, subject), encoder.end(1, 7, ending));
  expect(written).toEqual(read(toBeginLine(7, subject), toEndLine(7, ending)));
}

test("a short line says what the spelled out one says", () => {
  fc.assert(fc.property(arbitraryUsage, ({ subject, ending }) => expectSame(subject, ending)));
});

test("a number that no short line can say is spelled out and read as ever", () => {
  const odd = [
    0,
    -0,
    -1,
    0.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1e300,
    2 ** 53 - 1,
    2 ** 53,
    999_999_999,
    1e9,
  ];
  for (const number of odd) {
    expectSame(
      { ...SUBJECT, arrivedAtUs: number },
      { ...ENDING, durationUs: number, timeToFirstByteUs: number },
    );
    const usage = { shape: "inclusive", quantities: { input_tokens: number } } as const;
    expectSame(SUBJECT, { ...ENDING, usage });
  }
  for (const costPico of [0n, 1_000_000_000n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 90n]) {
    expectSame(SUBJECT, { ...ENDING, costPico });
  }
});

test("a line whose bytes were changed is refused wherever they were", () => {
  const encoder = new LineEncoder();
  const begin = encoder.begin(1, 7, SUBJECT);
  const end = encoder.end(1, 7, ENDING);
  const whole = read(begin, end).length;
  expect(whole).toBe(2);
  for (const line of [begin, end]) {
    for (let at = 0; at < line.length - 1; at += 1) {
      const damaged = Buffer.from(line);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      const cursor = new LineCursor(damaged);
      const found: boolean[] = [];
      while (cursor.next()) found.push(isWhole(cursor));
      expect(found.filter((isFound) => !isFound).length).toBeGreaterThan(0);
    }
  }
});
