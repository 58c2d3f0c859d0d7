import { describe, expect, test } from "bun:test";
import { JsonScan, scanJson, type ScannedText } from "#forward/json-scan.ts";
import { scanJsonInTurns } from "#forward/paced-scan.ts";
import { cutBody, parseLargeBody, parseRequestBody, toJsonText } from "#forward/request-body.ts";

const NAMES = ["model", "stream", "input", "stream_options"];
const TEXTS = [
  '{"model":"m","stream":true,"messages":[{"role":"user","content":"a\\"b"}]}',
  ' { "a" : [ [ ] , { } , [ 1 , -2.5e3 , null ] ] , "m\\u006fdel" : "x" , "input" : [ 1 , [2,3] , {"b":[]} ] } ',
  '{"stream_options":{"include_usage":false,"x":[[[[[]]]]]},"model":"a","model":"b"}',
  "[[[[[[[[]]]]]]]]",
  "{}",
  '"text"',
  "12",
  '{"a":1,}',
  '{"a":[1,2}',
  '{"a"',
  "[[[[",
  "[]]",
  "{} {}",
  "",
];

function outcomeOf(run: () => ScannedText): unknown {
  try {
    return run();
  } catch (failure) {
    return String(failure);
  }
}

/** In steps of so many bytes. */
function scanInSteps(text: Uint8Array, stepBytes: number): ScannedText {
  const scan = new JsonScan(text, NAMES);
  for (;;) {
    const scanned = scan.run(scan.at + stepBytes);
    if (scanned !== null) return scanned;
  }
}

describe("a body that is scanned in parts", () => {
  test.each(TEXTS)("tells and refuses what it does in one: %s", (text) => {
    const bytes = Buffer.from(text);
    const whole = outcomeOf(() => scanJson(bytes, NAMES));
    for (let stepBytes = 1; stepBytes <= bytes.length; stepBytes += 1)
      expect(outcomeOf(() => scanInSteps(bytes, stepBytes))).toEqual(whole);
  });

  test.each([
    ["escaped keys", `{${'"\\u0061":1,'.repeat(100_000)}"model":"m"}`],
    ["closing brackets", `{"a":${"[".repeat(400_000)}${"]".repeat(400_000)},"model":"m"}`],
  ])("lets others have their turn between them, also within %s", async (_, text) => {
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const scanned = await scanJsonInTurns(Buffer.from(text), NAMES, 0);
    isOver = true;
    expect(scanned.kind === "object" && scanned.members.map(({ name }) => name)).toEqual(["model"]);
    expect(turns).toBeGreaterThan(10);
  });

  test("goes upstream as it does in one, with large options as well", async () => {
    const options = `{${'"a":1,'.repeat(60_000)}"include_usage":false}`;
    const body = Buffer.from(`{"model":"m","stream":true,"stream_options":${options}}`);
    const name = toJsonText("upstream");
    const parsed = await parseLargeBody(body, "chat");
    expect(parsed).toEqual(parseRequestBody(body, "chat"));
    const cut = Buffer.concat(cutBody(parsed, name));
    expect(cut.equals(Buffer.concat(cutBody(parseRequestBody(body, "chat"), name)))).toBe(true);
    expect(cut.toString()).toEndWith('"include_usage":true}}');
  });
});
