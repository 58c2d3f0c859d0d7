import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { ReportedUsage } from "#usage/event.ts";
import type { JsonObject } from "#kernel/json.ts";
import { UsageAccumulator } from "#usage/usage-accumulator.ts";

const FIELDS = [
  "prompt_tokens",
  "completion_tokens",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "prompt_cache_hit_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
] as const;
type Fields = { readonly [name in (typeof FIELDS)[number]]?: number };

const count = fc.oneof(fc.nat(1000), fc.constant(0.5));
const fields: fc.Arbitrary<Fields> = fc.record(
  {
    prompt_tokens: count,
    completion_tokens: count,
    input_tokens: count,
    output_tokens: count,
    cached_tokens: count,
    prompt_cache_hit_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
  },
  { requiredKeys: [] },
);

describe("the shape of a usage", () => {
  test("prompt or completion tokens make it inclusive, else input tokens with a cache count exclusive, else inclusive", () => {
    fc.assert(
      fc.property(fields, (usage) => {
        expect(readAll([usage])).toEqual(readApart(usage));
      }),
      { numRuns: 1000 },
    );
  });

  test("the messages dialect is exclusive, unless prompt or completion tokens say otherwise", () => {
    const shapeOf = (usage: Fields) => {
      const accumulator = new UsageAccumulator({ defaultsToExclusive: true });
      accumulator.add(usage);
      return accumulator.total()?.shape;
    };
    expect(shapeOf({ input_tokens: 10, output_tokens: 2 })).toBe("exclusive");
    expect(shapeOf({ prompt_tokens: 10, completion_tokens: 2, cached_tokens: 4 })).toBe("inclusive");
    expect(shapeOf({ input_tokens: 10, completion_tokens: 2, cache_read_input_tokens: 4 })).toBe("inclusive");
  });

  test("seconds of audio are read under either name, and alone they are usage", () => {
    const accumulator = new UsageAccumulator({ defaultsToExclusive: false });
    expect(accumulator.add({ prompt_audio_seconds: 12.5 })).toBe(true);
    expect(accumulator.total()).toEqual({
      shape: "inclusive",
      quantities: { audio_seconds: 12.5 },
    });
  });

  test("it does not depend on which fields come first, or in one object with which", () => {
    const order = fc.shuffledSubarray([...FIELDS], { minLength: FIELDS.length });
    fc.assert(
      fc.property(fields, order, fc.nat(FIELDS.length), (usage, names, cut) => {
        const pick = (some: readonly string[]) =>
          Object.fromEntries(Object.entries(usage).filter(([name]) => some.includes(name)));
        expect(readAll([pick(names.slice(0, cut)), pick(names.slice(cut))])).toEqual(readAll([usage]));
      }),
      { numRuns: 500 },
    );
  });

  test("a zero under one name of the cached part does not hide what another name reports", () => {
    const cachedOf = (usage: JsonObject) => {
      const accumulator = new UsageAccumulator({ defaultsToExclusive: false });
      accumulator.add(usage);
      return accumulator.total()?.quantities.cached_input_tokens;
    };
    const details = { cached_tokens: 0 };
    expect(
      cachedOf({ prompt_tokens: 100, prompt_tokens_details: details, prompt_cache_hit_tokens: 64 }),
    ).toBe(64);
    expect(
      cachedOf({ prompt_tokens: 100, prompt_tokens_details: details, cache_read_input_tokens: 64 }),
    ).toBe(64);
    expect(cachedOf({ input_tokens: 100, cache_read_input_tokens: 0, cached_tokens: 64 })).toBe(64);
    expect(cachedOf({ prompt_tokens: 100, cached_tokens: 8, prompt_cache_hit_tokens: 0 })).toBe(8);
    expect(cachedOf({ prompt_tokens: 100, prompt_tokens_details: details, cached_tokens: 0 })).toBe(0);
    expect(cachedOf({ prompt_tokens: 100 })).toBeUndefined();
  });

  test.each(["prompt_tokens", "input_tokens"] as const)(
    "cache writes in the details of %s are a part of it",
    (name) => {
      const usage = { [name]: 2600, [`${name}_details`]: { cached_tokens: 2000, cache_write_tokens: 400 } };
      const expected = {
        shape: "inclusive",
        quantities: { input_tokens: 2600, cached_input_tokens: 2000, cache_write_tokens: 400 },
      } as const;
      expect(readAll([usage])).toEqual(expected);
      // The responses API through the relay, whose dialect counts them beside the input.
      const relayed = new UsageAccumulator({ defaultsToExclusive: true });
      relayed.add(usage);
      expect(relayed.total()).toEqual(expected);
    },
  );

  test.each(["cache_creation_input_tokens", "cache_creation_tokens"])(
    "%s in the details of the prompt are cache writes, and no second ones",
    (name) => {
      const details = { cached_tokens: 0, [name]: 1494 };
      const written = { input_tokens: 1600, cached_input_tokens: 0, cache_write_tokens: 1494 };
      expect(readAll([{ prompt_tokens: 1600, prompt_tokens_details: details }])?.quantities).toEqual(written);
      const both = { prompt_tokens: 1600, prompt_tokens_details: { ...details, cache_write_tokens: 1494 } };
      expect(readAll([both])?.quantities).toEqual(written);
    },
  );

  test("cache writes in details without an input are no usage of their own", () => {
    const details = { prompt_tokens_details: { cache_write_tokens: 400 } };
    expect(readAll([details])).toBeNull();
    expect(readAll([{ completion_tokens: 1, ...details }])?.quantities).toEqual({ output_tokens: 1 });
  });

  test("cache writes that are told beside the input are kept in the exclusive shape only, and alone they are no usage", () => {
    expect(readAll([{ prompt_tokens: 3, cache_creation_input_tokens: 2 }])?.quantities).toEqual({
      input_tokens: 3,
    });
    expect(readAll([{ input_tokens: 3, cache_creation_input_tokens: 2 }])?.quantities).toEqual({
      input_tokens: 3,
      cache_write_tokens: 2,
    });
    expect(readAll([{ cache_creation_input_tokens: 2 }])).toBeNull();
  });

  test("one-hour cache writes are told apart, and the parts are never more than the total that was reported", () => {
    const writesOf = (usage: JsonObject) => {
      const quantities = readAll([{ input_tokens: 3, ...usage }])?.quantities;
      return [quantities?.cache_write_tokens, quantities?.cache_write_1h_tokens];
    };
    const parts = (fiveMinutes: number | undefined, oneHour: number | undefined) => ({
      cache_creation: { ephemeral_5m_input_tokens: fiveMinutes, ephemeral_1h_input_tokens: oneHour },
    });
    expect(writesOf({ cache_creation_input_tokens: 10, ...parts(7, 3) })).toEqual([7, 3]);
    expect(writesOf(parts(7, 3))).toEqual([7, 3]);
    expect(writesOf(parts(undefined, 3))).toEqual([0, 3]);
    expect(writesOf({ cache_creation_input_tokens: 10, ...parts(10, undefined) })).toEqual([10, undefined]);
    // What is not told apart is taken for five-minute writes, which cost less.
    expect(writesOf({ cache_creation_input_tokens: 10, ...parts(2, 3) })).toEqual([7, 3]);
    expect(writesOf({ cache_creation_input_tokens: 10, ...parts(8, 5) })).toEqual([8, 2]);
    expect(writesOf({ cache_creation_input_tokens: 10, ...parts(20, 5) })).toEqual([10, 0]);
    expect(writesOf({ cache_creation_input_tokens: 10, ...parts(undefined, 30) })).toEqual([0, 10]);
    expect(writesOf({ cache_creation_input_tokens: 10, ...parts(-1, 3) })).toEqual([7, 3]);
  });

  test("any total and any parts of the cache writes are billed as the total", () => {
    fc.assert(
      fc.property(fc.nat(1000), fc.nat(1000), fc.nat(1000), (total, fiveMinutes, oneHour) => {
        const quantities = readAll([
          {
            input_tokens: 1,
            cache_creation_input_tokens: total,
            cache_creation: { ephemeral_5m_input_tokens: fiveMinutes, ephemeral_1h_input_tokens: oneHour },
          },
        ])?.quantities;
        const { cache_write_tokens: untold = 0, cache_write_1h_tokens: longer = 0 } = quantities ?? {};
        expect(untold + longer).toBe(total);
        expect(longer).toBeLessThanOrEqual(oneHour);
        expect(Math.min(untold, longer)).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

function readAll(usages: readonly JsonObject[]): ReportedUsage | null {
  const accumulator = new UsageAccumulator({ defaultsToExclusive: false });
  for (const usage of usages) accumulator.add(usage);
  return accumulator.total();
}

/** The rules of the decisions, said apart. */
function readApart(usage: Fields): ReportedUsage | null {
  const isInclusive = usage.prompt_tokens !== undefined || usage.completion_tokens !== undefined;
  const hasCacheBeside =
    usage.cache_read_input_tokens !== undefined || usage.cache_creation_input_tokens !== undefined;
  const shape =
    !isInclusive && usage.input_tokens !== undefined && hasCacheBeside ? "exclusive" : "inclusive";
  const inside = [usage.prompt_cache_hit_tokens, usage.cached_tokens];
  const beside = [usage.cache_read_input_tokens];
  const cached = (shape === "exclusive" ? [...beside, ...inside] : [...inside, ...beside]).filter(
    (number) => number !== undefined,
  );
  const quantities = {
    input_tokens: usage.prompt_tokens ?? usage.input_tokens,
    output_tokens: usage.completion_tokens ?? usage.output_tokens,
    cached_input_tokens: cached.find((number) => number > 0) ?? cached[0],
    cache_write_tokens: shape === "exclusive" ? usage.cache_creation_input_tokens : undefined,
  };
  const reported = Object.values(quantities).some((quantity) => quantity !== undefined);
  return reported ? { shape, quantities: JSON.parse(JSON.stringify(quantities)) } : null;
}

describe("rare units", () => {
  const read = (
    usage: object,
    options: ConstructorParameters<typeof UsageAccumulator>[0] = { defaultsToExclusive: false },
  ) => {
    const accumulator = new UsageAccumulator(options);
    accumulator.add(usage);
    return accumulator.total();
  };

  test.each([
    [
      "chat: audio and images of the prompt, audio of the answer",
      {
        prompt_tokens: 100,
        completion_tokens: 20,
        prompt_tokens_details: { audio_tokens: 30, image_tokens: 40 },
        completion_tokens_details: { audio_tokens: 15 },
      },
      {
        input_tokens: 100,
        output_tokens: 20,
        input_audio_tokens: 30,
        input_image_tokens: 40,
        output_audio_tokens: 15,
      },
    ],
    [
      "images and responses",
      {
        input_tokens: 100,
        output_tokens: 20,
        input_tokens_details: { image_tokens: 90, text_tokens: 10 },
        output_tokens_details: { audio_tokens: 2 },
      },
      { input_tokens: 100, output_tokens: 20, input_image_tokens: 90, output_audio_tokens: 2 },
    ],
    [
      "transcription, whose details have a name of their own",
      {
        type: "tokens",
        input_tokens: 14,
        output_tokens: 45,
        input_token_details: { audio_tokens: 14, text_tokens: 0 },
      },
      { input_tokens: 14, output_tokens: 45, input_audio_tokens: 14 },
    ],
    [
      "zeroes, which most answers tell, are none",
      {
        prompt_tokens: 3,
        completion_tokens: 1,
        prompt_tokens_details: { audio_tokens: 0, image_tokens: 0 },
        completion_tokens_details: { audio_tokens: 0 },
      },
      { input_tokens: 3, output_tokens: 1 },
    ],
    [
      "a part of nothing is none",
      { completion_tokens: 1, prompt_tokens_details: { audio_tokens: 5 } },
      { output_tokens: 1 },
    ],
  ])("%s", (_, usage, quantities) => {
    expect(read(usage)).toEqual({ shape: "inclusive", quantities });
  });

  test("searches are counted of the messages dialect alone, the last number, and none where there were none", () => {
    const usage = {
      input_tokens: 5,
      output_tokens: 6,
      server_tool_use: { web_search_requests: 2, web_fetch_requests: 9 },
    };
    const messages = { defaultsToExclusive: true, countsWebSearches: true };
    expect(read(usage, messages)?.quantities).toEqual({ input_tokens: 5, output_tokens: 6, web_searches: 2 });
    expect(read(usage)?.quantities).toEqual({ input_tokens: 5, output_tokens: 6 });
    const none = { ...usage, server_tool_use: { web_search_requests: 0 } };
    expect(read(none, messages)?.quantities).toEqual({ input_tokens: 5, output_tokens: 6 });
  });

  test("a quantity that no usage object holds is told by its unit; what is no quantity is dropped", () => {
    const accumulator = new UsageAccumulator({ defaultsToExclusive: false });
    expect(accumulator.addQuantity("images", -1)).toBe(false);
    expect(accumulator.addQuantity("images", "2")).toBe(false);
    expect(accumulator.total()).toBeNull();
    expect(accumulator.addQuantity("images", 1)).toBe(true);
    expect(accumulator.addQuantity("images", 2)).toBe(true);
    expect(accumulator.total()).toEqual({ shape: "inclusive", quantities: { images: 2 } });
    accumulator.add({ input_tokens: 4 });
    expect(accumulator.total()?.quantities).toEqual({ input_tokens: 4, images: 2 });
  });
});
