import { expect, test } from "bun:test";
import {
  createAskedScan,
  createScanBudget,
  isPlainJson,
  NOTHING_ASKED,
  readAsked,
  SCANNED_BYTES_MAX,
  SCANNED_BYTES_TOTAL_MAX,
} from "#forward/relay-body.ts";

const BODY = new TextEncoder().encode('{"model":"m","stream":true}');
const ASKED = { model: "m", streamed: true, isPlain: true };

test("a body that finds the bytes of all uploads used up is not looked through, and holds none of them", async () => {
  const budget = createScanBudget(BODY.length + 5).of("ada");
  const first = createAskedScan(budget);
  first.push(BODY.slice());
  const second = createAskedScan(budget);
  second.push(BODY.subarray(0, 5));
  second.push(BODY.subarray(5));
  // What came before the refusal was given back, and the rest is not taken for a body of its own.
  expect(budget.take(5)).toBe(true);
  second.push(BODY.subarray(0, 1));
  expect(await second.finish()).toEqual(NOTHING_ASKED);
  expect(await first.finish()).toEqual(ASKED);
});

test.each(["finish", "release"] as const)("%s gives back what was kept, once", async (end) => {
  const budget = createScanBudget(BODY.length).of("ada");
  const scan = createAskedScan(budget);
  scan.push(BODY.slice());
  expect(budget.take(1)).toBe(false);
  await scan[end]();
  scan.release();
  scan.push(BODY.slice());
  expect(budget.take(BODY.length)).toBe(true);
  expect(budget.take(1)).toBe(false);
});

test("a body whose length is over what is looked through takes no bytes from those that are not", async () => {
  const budget = createScanBudget(BODY.length).of("ada");
  const scan = createAskedScan(budget, SCANNED_BYTES_MAX + 1);
  scan.push(BODY.slice());
  expect(budget.take(BODY.length)).toBe(true);
  expect(await scan.finish()).toEqual(NOTHING_ASKED);
});

test("a body that comes byte by byte says the same as one that comes whole", async () => {
  const scan = createAskedScan(createScanBudget().of("ada"), BODY.length);
  for (const byte of BODY) scan.push(new Uint8Array([byte]));
  expect(await scan.finish()).toEqual(ASKED);
});

test("a piece that has left is freed, and not only when the next one comes", () => {
  const scan = createAskedScan(createScanBudget().of("ada"));
  const piece = new Uint8Array(64 * 1024).fill(0x20);
  piece[0] = 0x7b;
  scan.push(piece);
  expect(piece.length).toBe(64 * 1024);
  scan.left();
  expect(piece.length).toBe(0);
});

test("one principal's uploads keep as much as the largest of them, and others have the rest", () => {
  const budget = createScanBudget();
  const ada = budget.of("ada");
  expect(ada.take(SCANNED_BYTES_MAX)).toBe(true);
  expect([ada.take(1), budget.of("ada").take(1)]).toEqual([false, false]);
  expect(budget.of("bob").take(SCANNED_BYTES_TOTAL_MAX - SCANNED_BYTES_MAX)).toBe(true);
  expect(budget.of("carol").take(1)).toBe(false);
  ada.giveBack(SCANNED_BYTES_MAX);
  expect(budget.of("carol").take(1)).toBe(true);
});

test("blanks in front of an object are blanks, in whatever pieces they come", async () => {
  const share = createScanBudget(BODY.length).of("ada");
  const scan = createAskedScan(share);
  for (const blank of [" ", "\r\n", "\t\t", "", " ".repeat(100_000)]) scan.push(Buffer.from(blank));
  scan.push(BODY.slice());
  expect(await scan.finish()).toEqual(ASKED);
  const other = createAskedScan(share);
  other.push(Buffer.from(" "));
  other.push(Buffer.from("[1]"));
  other.push(BODY.slice());
  expect(await other.finish()).toEqual(NOTHING_ASKED);
});

/** [what, the body]: read as one model here, and perhaps as another one elsewhere. */
const UNPLAIN: readonly (readonly [string, string | Uint8Array])[] = [
  ["a byte-order mark", '\ufeff{"model":"m"}'],
  ["UTF-16", Buffer.from('{"model":"m"}', "utf16le")],
  ["UTF-16 with its mark", Buffer.from('\ufeff{"model":"m"}', "utf16le")],
  ["UTF-32", Buffer.from(Array.from('{"model":"m"}').flatMap((one) => [one.charCodeAt(0), 0, 0, 0]))],
  ["gzip", Bun.gzipSync(Buffer.from('{"model":"m"}'))],
  ["NaN", '{"model":"m","x":NaN}'],
  ["a comment", '{"model":"m"/**/}'],
  ["two models", '{"model":"m","model":"m"}'],
  ["an escaped name", String.raw`{"\u006dodel":"m"}`],
  ["an escaped stream", String.raw`{"model":"m","\u0073tream":true}`],
  ["two streams", '{"model":"m","stream":false,"stream":true}'],
  ["70 streams", `{"model":"m"${',"stream":false'.repeat(70)}}`],
  ["no model", '{"messages":[]}'],
  ["an empty model", '{"model":""}'],
  ["a model that is a number", '{"model":7}'],
  ["a model that is no name", JSON.stringify({ model: "m".repeat(201) })],
  ["a batch", '{"requests":[{"custom_id":"a","params":{"model":"dear"}}]}'],
  ["a batch that names a model, too", '{"model":"m","requests":[]}'],
  ["an array", '[{"model":"m"}]'],
  ["two objects", '{"model":"m"}{"model":"n"}'],
  ["no JSON", "model=m"],
  ["a form", '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n--b--'],
  ["invalid UTF-8", Buffer.from('{"model":"m","x":"\xff"}', "latin1")],
];

test.each(UNPLAIN)("a body with %s is not plain", (_, body) => {
  expect(readAsked(Buffer.from(body)).isPlain).toBe(false);
});

test.each([
  '{"model":"m"}',
  ' \n{"stream":true,"x":{"model":"n","requests":[]},"model":"m"}\n',
  '{"model":"m\\u0041","messages":[]}',
])("a body that names its model once is plain: %s", (body) => {
  expect(readAsked(Buffer.from(body)).isPlain).toBe(true);
});

test.each([
  ['{"model":"m","MODEL":"n"}', "model"],
  ['{"model":"m","\u017ftream":true}', "stream"],
  [String.raw`{"\u004dodel":"n"}`, "model"],
])("a name that only looks different is refused on the relay as well: %s", async (body, param) => {
  const refusal = expect.objectContaining({ code: "invalid_request", param });
  expect(() => readAsked(Buffer.from(body))).toThrow(refusal);
  const scan = createAskedScan(createScanBudget().of("ada"));
  scan.push(Buffer.from(body));
  expect(await scan.finish().catch((failure: unknown) => failure)).toEqual(refusal);
});

test.each([
  [{}, true],
  [{ "content-type": "application/json" }, true],
  [{ "content-type": "application/json; charset=utf-8" }, true],
  [{ "content-type": 'Application/JSON;charset="UTF-8"' }, true],
  [{ "content-type": "application/vnd.api+json" }, true],
  [{ "content-type": "application/json; charset=utf-7" }, false],
  [{ "content-type": "application/json; charset=utf-8; charset=utf-7" }, false],
  [{ "content-type": "application/json; charset=utf-16" }, false],
  [{ "content-type": "application/x-www-form-urlencoded" }, false],
  [{ "content-type": "multipart/form-data; boundary=x" }, false],
  // As fetch of JavaScript calls a string.
  [{ "content-type": "text/plain;charset=UTF-8" }, true],
  [{ "content-type": "text/plain; charset=utf-7" }, false],
  [{ "content-type": "text/html" }, false],
  [{ "content-type": "application/jsonp" }, false],
  [{ "content-type": "application/json", "content-encoding": "gzip" }, false],
  [{ "content-encoding": "identity" }, false],
])("a head with %p says plain JSON: %p", (headers, isPlain) => {
  expect(isPlainJson(new Headers(headers))).toBe(isPlain);
});
