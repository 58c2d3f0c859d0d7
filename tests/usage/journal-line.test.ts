import { expect, test } from "bun:test";
import { decodeJournalLine, encodeJournalLine } from "#usage/journal-line.ts";
import { ENDING } from "../ledger/usage.ts";

function toLine(fields: readonly unknown[]): Buffer {
  const json = JSON.stringify(fields);
  return Buffer.from(`${Bun.hash.crc32(json).toString(16).padStart(8, "0")} ${json}`);
}

const UP_TO_SHAPE = ["e", 7, 200, "ok", null, 5, null, 1, "17", 0, "exclusive"];

test("an end keeps each quantity under its unit, cache writes apart", () => {
  const quantities = { input_tokens: 3, cache_write_tokens: 2, cache_write_1h_tokens: 1 };
  const ending = { ...ENDING, usage: { shape: "exclusive" as const, quantities } };
  const line = encodeJournalLine({ kind: "end", sequence: 7, ending, prices: 1 });
  expect(decodeJournalLine(Buffer.from(line.trimEnd()))).toMatchObject({ ending: { usage: ending.usage } });
});

test("an end of the format before, with quantities by their place, is refused and never read as none", () => {
  expect(decodeJournalLine(toLine([...UP_TO_SHAPE, 9, 10, 20, 30, null]))).toBeNull();
  expect(decodeJournalLine(toLine([...UP_TO_SHAPE, null, 10, 20, 30, null]))).toBeNull();
});

test("a unit that another version writes is left out, and the others are read", () => {
  expect(decodeJournalLine(toLine([...UP_TO_SHAPE, { input_tokens: 3, unheard_of: 4 }]))).toMatchObject({
    ending: { usage: { shape: "exclusive", quantities: { input_tokens: 3 } } },
  });
});
