import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { numberToPico } from "#kernel/units.ts";
import { DIALECTS } from "#usage/dialects.ts";
import { createMeter, type MeterReading } from "#usage/meter.ts";

type DialectName = "chat" | "responses" | "messages";

function readBody(dialect: keyof typeof DIALECTS, body: object): MeterReading {
  const meter = createMeter(DIALECTS[dialect], { streamed: false, statusCode: 200 });
  meter.push(Buffer.from(JSON.stringify(body)));
  return meter.finish();
}

/** One push for all events, so that the search for what tells goes through all of them. */
function readStream(dialect: DialectName, events: readonly object[]): MeterReading {
  const meter = createMeter(DIALECTS[dialect], { streamed: true, statusCode: 200 });
  meter.push(Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")));
  return meter.finish();
}

const TOKENS = { input_tokens: 3, output_tokens: 2 };
const TEXT = { choices: [{ delta: { content: "usage" } }] };
/** Events whose usage says this, in each dialect, with others between them that tell nothing. */
const STREAMS: { readonly [name in DialectName]: (usages: readonly object[]) => readonly object[] } = {
  chat: (usages) => usages.flatMap((usage) => [TEXT, { choices: [], usage: { ...TOKENS, ...usage } }, TEXT]),
  responses: (usages) =>
    usages.flatMap((usage) => [
      { type: "response.output_text.delta", delta: "usage" },
      { type: "response.completed", response: { usage: { ...TOKENS, ...usage } } },
    ]),
  messages: (usages) =>
    usages.flatMap((usage) => [
      { type: "message_delta", usage: { ...TOKENS, ...usage } },
      { type: "content_block_delta", delta: { text: "usage" } },
    ]),
};
const NAMES = ["chat", "responses", "messages"] as const;

describe("the region of inference", () => {
  test.each(NAMES)("is told by the usage of %s, whole or streamed", (name) => {
    for (const [told, geo] of [
      ["us", "us"],
      ["EU West", "eu_west"],
      ["x".repeat(99), "x".repeat(32)],
    ] as const) {
      expect(readBody(name, { usage: { ...TOKENS, inference_geo: told } }).geo).toBe(geo);
      expect(readStream(name, STREAMS[name]([{ inference_geo: told }])).geo).toBe(geo);
    }
    for (const told of ["global", "Not_Available", "", null, 7, undefined]) {
      expect(readBody(name, { usage: { ...TOKENS, inference_geo: told } }).geo).toBeUndefined();
      expect(readStream(name, STREAMS[name]([{ inference_geo: told }])).geo).toBeUndefined();
    }
  });

  test.each(NAMES)("is the last one that a stream of %s told, and null tells nothing", (name) => {
    const geoOf = (...told: readonly unknown[]) =>
      readStream(name, STREAMS[name](told.map((geo) => ({ inference_geo: geo })))).geo;
    expect(geoOf("us", "eu", null)).toBe("eu");
    expect(geoOf("us", undefined)).toBe("us");
    expect(geoOf("us", "global")).toBeUndefined();
  });

  test("stands in the usage alone", () => {
    expect(readBody("chat", { inference_geo: "us", usage: TOKENS }).geo).toBeUndefined();
  });
});

describe("the service tier", () => {
  test("is the last one that a stream told, in its events or their response, else in their usage", () => {
    const tierOf = (...events: readonly object[]) => readStream("responses", events).tier;
    const of = (tier: unknown) => ({ type: "response.in_progress", response: { service_tier: tier } });
    expect(tierOf(of("auto"), of("flex"), of("priority"))).toBe("priority");
    expect(tierOf(of("flex"), of(null), of(""))).toBe("flex");
    expect(tierOf(of("flex"), of("default"))).toBeUndefined();
    const usage = { type: "response.completed", response: { usage: { ...TOKENS, service_tier: "batch" } } };
    expect(tierOf(usage)).toBe("batch");
    expect(tierOf(of("flex"), usage)).toBe("flex");
    expect(tierOf(of("priority"), usage, of("flex"))).toBe("flex");
  });

  test("is told by each event of a stream, the same or another one", () => {
    const chunk = (tier: unknown) => ({ ...TEXT, service_tier: tier });
    expect(readStream("chat", [chunk("flex"), chunk("flex"), chunk("priority")]).tier).toBe("priority");
    expect(readStream("chat", [chunk("flex"), chunk("flexible"), chunk(null)]).tier).toBe("flexible");
    expect(readStream("chat", [chunk("priority"), { usage: { ...TOKENS, speed: "fast" } }]).tier).toBe(
      "priority+fast",
    );
  });
});

describe("the cost that a provider tells", () => {
  test.each(NAMES)("is a number of the usage of %s, or a total in it, and nothing else", (name) => {
    const costOf = (cost: unknown) => readBody(name, { usage: { ...TOKENS, cost } }).costReportedPico;
    expect(costOf(0.00014)).toBe(140_000_000n);
    expect(costOf(0)).toBe(0n);
    expect(costOf({ total_cost: 0.005, input_tokens_cost: 1 })).toBe(5_000_000_000n);
    for (const cost of [
      -1,
      null,
      "0.1",
      true,
      {},
      [1],
      { total_cost: "1" },
      { total_cost: { total_cost: 1 } },
    ])
      expect(costOf(cost)).toBeUndefined();
  });

  test.each([
    ["transcription", { type: "duration", seconds: 3 }],
    ["transcription", { seconds: 3 }],
    ["transcription", { type: "tokens", ...TOKENS }],
    ["images", TOKENS],
    ["rerank", { search_units: 1, total_tokens: 150 }],
    ["rerank", {}],
  ] as const)("stands beside what is told of %s in %j, whatever its unit", (name, usage) => {
    expect(readBody(name, { usage: { ...usage, cost: 0.001 } }).costReportedPico).toBe(1_000_000_000n);
    expect(readBody(name, { usage }).costReportedPico).toBeUndefined();
  });

  test.each([...NAMES, "images"] as const)("is told by %s in xAI's ticks too, behind a cost", (name) => {
    const costOf = (usage: object) => readBody(name, { usage: { ...TOKENS, ...usage } }).costReportedPico;
    expect(costOf({ cost_in_usd_ticks: 37_756_000 })).toBe(3_775_600_000n);
    expect(costOf({ cost_in_usd_ticks: 0 })).toBe(0n);
    expect(costOf({ cost: null, cost_in_usd_ticks: 1 })).toBe(100n);
    expect(costOf({ cost: 0.5, cost_in_usd_ticks: 1 })).toBe(500_000_000_000n);
    for (const ticks of [-1, "1", null, true, {}, { total_cost: 1 }, 1.1e19])
      expect(costOf({ cost_in_usd_ticks: ticks })).toBeUndefined();
  });

  test("is none of an answer that only counts", () => {
    expect(readBody("counting", { usage: { ...TOKENS, cost: 0.001 } }).costReportedPico).toBeUndefined();
  });

  test.each(NAMES)("is the last one that a stream of %s told", (name) => {
    const costOf = (...told: readonly unknown[]) =>
      readStream(name, STREAMS[name](told.map((cost) => ({ cost })))).costReportedPico;
    expect(costOf(0.1, 0.25, null)).toBe(250_000_000_000n);
    expect(costOf(undefined)).toBeUndefined();
  });

  test("is exact by its decimal text, rounded half up to whole pico", () => {
    const cases: readonly [number, bigint][] = [
      [0.1, 100_000_000_000n],
      [1e-12, 1n],
      [4.9e-13, 0n],
      [5e-13, 1n],
      [1.5e-12, 2n],
      [2.5e-12, 3n],
      [5e-324, 0n],
      [123_456.789_012, 123_456_789_012_000_000n],
      [1e9, 10n ** 21n],
    ];
    for (const [told, pico] of cases) expect([told, numberToPico(told)]).toEqual([told, pico]);
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 999_999_999_999_999n }), (pico) => {
        const text = pico.toString().padStart(13, "0");
        return numberToPico(Number(`${text.slice(0, -12)}.${text.slice(-12)}`)) === pico;
      }),
    );
  });

  test("is none where it could not be added up", () => {
    expect(readBody("chat", { usage: { ...TOKENS, cost: 1.1e9 } }).costReportedPico).toBeUndefined();
  });
});
